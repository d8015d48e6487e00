"""The base of all kinds: frozen values that know their wire form and can hold any manifest.

A `Node` is a frozen dataclass. Each of its fields is a `wire`: the key in the manifest and the expected type. Reading
never fails. A value of the wrong type is kept as it is, and `misfits` finds it; keys that no field
claims are kept in `extra`, so that writing gives back what was read.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field as dataclass_field
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from hypot.core.dataclass import dataclass
from hypot.core.quantity import is_quantity, stored_text
from hypot.kinds.derived import Deriving
from hypot.kinds.problem import Where
from hypot.kinds.values.plain import copied, listed, plain

T = TypeVar("T")
N = TypeVar("N", bound="Node")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A leaf type: its name in Go's decoder, its OpenAPI schema, and whether a value is one.

    A type with parts says how they are checked: as a node (`shape`), or item by item (`each`). `stored` gives the value
    that an API server shows, if that can differ.
    """

    go: str
    schema: Mapping[str, Any]
    fits: Callable[[Any], bool]
    want: str
    shape: "type[Node] | None" = None
    each: "Scalar | None" = None
    stored: Callable[[Any], Any] | None = None


def _is_int32(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_string_map(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(k, str) and isinstance(v, str) for k, v in value.items())


QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

INT32 = Scalar("int32", {"type": "integer", "format": "int32"}, _is_int32, "a whole number")
STRING = Scalar("string", {"type": "string"}, _is_text, "text")
BOOL = Scalar("bool", {"type": "boolean"}, lambda v: isinstance(v, bool), "true or false")
STRINGS = Scalar(
    "map[string]string",
    {"type": "object", "additionalProperties": {"type": "string"}},
    _is_string_map,
    "a mapping of text to text",
)
MAPPING = Scalar(
    "object",
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    lambda v: isinstance(v, dict),
    "a mapping",
)
QUANTITY = Scalar(
    "resource.Quantity",
    {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY_PATTERN,
        "x-kubernetes-int-or-string": True,
    },
    is_quantity,
    "a quantity such as 500m, 2 or 512Mi",
    stored=stored_text,
)

# The schema of a custom resource accepts a whole number or text as a quantity, but not a fractional number.
WHOLE_OR_QUANTITY = Scalar(
    QUANTITY.go, QUANTITY.schema, lambda v: not isinstance(v, float) and is_quantity(v), QUANTITY.want
)
# Text for a fraction between 0 and 1 that a schema can check: a decimal fraction, or milli, micro or nano.
FRACTION_PATTERN = (
    r"^\+?(0+(\.[0-9]*)?|\.[0-9]+|0*1(\.0*)?|0*(1000(\.0*)?|[0-9]{1,3}(\.[0-9]*)?)m"
    r"|0*(1000000(\.0*)?|[0-9]{1,6}(\.[0-9]*)?)u|0*(1000000000(\.0*)?|[0-9]{1,9}(\.[0-9]*)?)n)$"
)
FRACTION = Scalar(
    QUANTITY.go,
    {"x-kubernetes-preserve-unknown-fields": True, "pattern": FRACTION_PATTERN, "minimum": 0, "maximum": 1},
    is_quantity,
    "a fraction between 0 and 1 such as 0.01 or 10m",
)


@dataclass(frozen=True, slots=True)
class Wire:
    """How one field appears in a manifest. `path` is its Python path if that is not the name of the attribute."""

    key: str
    type: "Scalar | type[Node]"
    doc: str = ""
    many: bool = False
    path: str | None = None
    schema: Mapping[str, Any] | None = None


def wire(
    key: str,
    kind: "Scalar | type[Node]",
    doc: str = "",
    *,
    many: bool = False,
    path: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Any:
    """A field of a manifest; None if absent. Hashes of nodes leave out mappings and lists of scalars."""
    plain = not isinstance(kind, Scalar) or kind.schema.get("type") not in {"object", "array"}
    as_wire = Wire(key, kind, doc, many, path, schema)
    return dataclass_field(default=None, hash=None if plain else False, metadata={"wire": as_wire})


@dataclass_transform(frozen_default=True)
def node(cls: type[T]) -> type[T]:
    """Make a class a frozen value and compile its wire table.

    There are many nodes: `Node` has the `__repr__` of all.
    """
    made = dataclass(frozen=True, slots=True, repr=False)(cls)
    made.compile_table()  # type: ignore[attr-defined]
    return made


# Values that nobody can change.
_OWN_ALREADY = frozenset({str, int, float, bool})
_CHANGEABLE = frozenset({dict, list})


@dataclass(frozen=True, slots=True, repr=False)
class Node(Deriving):
    """A part of a manifest."""

    # Package and name of its Go type, which appear in messages of the API server.
    GO: ClassVar[str] = ""
    # Decoded by a Go type of the API server, not by a schema. There null in a list is an empty block.
    BUILT_IN: ClassVar[bool] = False
    # Fields that other versions of the API have here, which people write by mistake: the field that has their place
    # now, and what to write.
    MOVED: ClassVar[Mapping[str, tuple[str, str]]] = {}
    TABLE: ClassVar[tuple[tuple[str, Wire], ...]] = ()
    BY_KEY: ClassVar[Mapping[str, tuple[str, Wire]]] = {}
    NAMES: ClassVar[tuple[str, ...]] = ()
    SHOWN: ClassVar[tuple[str, ...]] = ()
    READERS: ClassVar[tuple[tuple[str, str, "Callable[[Any], bool] | None", "type[Node] | None", bool], ...]] = ()
    # Slots are set through their descriptors for speed: reading a manifest sets hundreds.
    SETTERS: ClassVar[tuple[tuple[Callable[[Any, Any], None], str, "type[Node] | None", bool], ...]] = ()

    extra: Mapping[str, Any] = dataclass_field(default_factory=dict, kw_only=True, hash=False, repr=False)

    @classmethod
    def compile_table(cls) -> None:
        cls.TABLE = tuple((f.name, f.metadata["wire"]) for f in fields(cls) if "wire" in f.metadata)
        cls.BY_KEY = {w.key: (name, w) for name, w in cls.TABLE}
        cls.NAMES = tuple(f.name for f in fields(cls))
        cls.SHOWN = tuple(f.name for f in fields(cls) if f.repr)
        cls.READERS = tuple(
            (name, w.key, w.type.fits, None, False)
            if isinstance(w.type, Scalar)
            else (name, w.key, None, w.type, w.many)
            for name, w in cls.TABLE
        )
        cls.SETTERS = tuple((getattr(cls, name).__set__, key, kind, many) for name, key, _, kind, many in cls.READERS)

    def __post_init__(self) -> None:
        """For constructors: what the author gave in the types of a manifest, and as a copy of its own."""
        for name, _, _, kind, many in self.READERS:
            value = getattr(self, name)
            if value is None or type(value) in _OWN_ALREADY or (isinstance(value, Node) and not many):
                continue
            object.__setattr__(self, name, listed(value, kind) if many and kind is not None else plain(value))

    def written_as(self, name: str, w: Wire) -> str:
        """The Python path of a field: the keyword that an author writes."""
        return name if w.path is None else w.path

    def set_up(self, extra: Mapping[str, Any] | None = None, **given: Any) -> None:
        """For constructors that are written by hand: what the author gave."""
        object.__setattr__(self, "extra", {} if extra is None else extra)
        for name, value in given.items():
            object.__setattr__(self, name, value)
        Node.__post_init__(self)

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.SHOWN)})"

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Read a mapping as it is, and share nothing with it; null is the same as absent."""
        made = object.__new__(cls)
        get, claimed = data.get, 0
        for put, key, kind, many in cls.SETTERS:
            value = get(key)
            if value is not None:
                claimed += 1
                if kind is not None:
                    value = _read_many(kind, value) if many else _read_one(kind, value)
                elif type(value) in _CHANGEABLE:
                    value = copied(value)
            put(made, value)
        known = cls.BY_KEY
        extra = {} if claimed == len(data) else {k: copied(v) for k, v in data.items() if k not in known}
        object.__setattr__(made, "extra", extra)
        return made

    def write(self) -> dict[str, Any]:
        """The wire form: what was set, then what was not understood."""
        out = {w.key: _written(value) for name, w in self.TABLE if (value := getattr(self, name)) is not None}
        out.update(self.extra)
        return out

    def sound(self) -> bool:
        """A quick check whether every value has the right type and every key is a known field."""
        if self.extra:
            return False
        for name, _, fits, kind, many in self.READERS:
            value = getattr(self, name)
            if value is None:
                continue
            if not (_sound(kind, value, many) if kind is not None else fits is None or fits(value)):
                return False
        return True

    def misfits(self, where: Where = ()) -> "Iterator[tuple[Where, type[Node], Wire, Any]]":
        """Every value whose type the API server could not decode."""
        for name, w in self.TABLE:
            value = getattr(self, name)
            if value is None:
                continue
            kind = w.type
            if isinstance(kind, Scalar):
                if not kind.fits(value):
                    yield (*where, w.key), type(self), w, value
            elif isinstance(value, kind) and not w.many:
                yield from value.misfits((*where, w.key))
            elif isinstance(value, tuple) and w.many:
                for i, item in enumerate(value):
                    if isinstance(item, kind):
                        yield from item.misfits((*where, w.key, i))
                    elif item is not None or not kind.BUILT_IN:
                        yield (*where, w.key, i), type(self), w, item
            else:
                yield (*where, w.key), type(self), w, value

    def strangers(self, where: Where = ()) -> "Iterator[tuple[Where, type[Node]]]":
        """Every unknown key, with the class that contains it."""
        for key in self.extra:
            yield (*where, key), type(self)
        for name, key, _, kind, _ in self.READERS:
            value = getattr(self, name) if kind is not None else None
            if isinstance(value, Node):
                yield from value.strangers((*where, key))
            elif isinstance(value, tuple):
                for i, item in enumerate(value):
                    if isinstance(item, Node):
                        yield from item.strangers((*where, key, i))

    def readable(self) -> Self:
        """The same value without what could not be decoded, so that rules see only the types they expect."""
        if self.sound():
            return self
        changes: dict[str, Any] = {}
        for name, w in self.TABLE:
            value = getattr(self, name)
            kept = None if value is None else _readable(w, value)
            if kept is not value:
                changes[name] = kept
        return replaced(self, **changes) if changes else self


def replaced(value: N, /, **changes: Any) -> N:
    """A copy with other values, without calling a constructor that validates."""
    made = object.__new__(type(value))
    for name in value.NAMES:
        object.__setattr__(made, name, changes[name] if name in changes else getattr(value, name))
    return made


def _read_one(kind: type[Node], value: Any) -> Any:
    return kind.read(value) if isinstance(value, dict) else value


def _read_many(kind: type[Node], value: Any) -> Any:
    return tuple([_read_one(kind, item) for item in value]) if isinstance(value, list) else value


def _sound(kind: type[Node], value: Any, many: bool) -> bool:
    if not many:
        return isinstance(value, kind) and value.sound()
    return isinstance(value, tuple) and all(isinstance(item, kind) and item.sound() for item in value)


def _written(value: Any) -> Any:
    if isinstance(value, Node):
        return value.write()
    if isinstance(value, tuple):
        return [_written(item) for item in value]
    return value


def _readable(w: Wire, value: Any) -> Any:
    kind = w.type
    if isinstance(kind, Scalar):
        # A selector is kept if it is a mapping: without it everything would be selected.
        kept_as_it_is = kind.fits(value) or (kind.shape is not None and isinstance(value, dict))
        return value if kept_as_it_is else None
    if not w.many:
        return value.readable() if isinstance(value, kind) else None
    if not isinstance(value, tuple):
        return None
    kept = tuple([item.readable() if isinstance(item, kind) else kind() for item in value])
    return value if all(a is b for a, b in zip(kept, value, strict=True)) else kept
