"""What all kinds share: metadata, target, reading, writing, validation."""

import json
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import field as dataclass_field
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Protocol, Self, cast

from hypot.core.dataclass import dataclass
from hypot.core.regex import regex
from hypot.core.similar import similar
from hypot.kinds.decode import decode_problems, python_path
from hypot.kinds.derived import derived
from hypot.kinds.floor import NO_FLOOR, Floor
from hypot.kinds.known_kinds import BY_WORD
from hypot.kinds.metadata import metadata_problems
from hypot.kinds.node import STRING, Node, Scalar, node, replaced, wire
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem, Where, shown
from hypot.kinds.text.write import to_yaml
from hypot.kinds.values.names import group_of, path_segment
from hypot.kinds.values.plain import copied, plain
from hypot.kinds.values.version import NEWEST, Version, as_version

DEFAULT_NAMESPACE = "default"

# What controllers accept as true and false in an annotation.
TRUE_WORDS = frozenset({"1", "t", "T", "TRUE", "true", "True"})
FALSE_WORDS = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class HasKindAndName(Protocol):
    """Anything that can be a target, for example a workload object of another library."""

    @property
    def kind(self) -> str | None: ...
    @property
    def name(self) -> str | None: ...


class HasMetadata(Protocol):
    """A workload object of a library whose objects have their name in their metadata."""

    @property
    def metadata(self) -> Any: ...


@node
class Ref(Node):
    """A reference to an object of the same namespace.

    >>> HPA(Ref("argoproj.io/v1alpha1", "Rollout", "web"), max_replicas=10).target.group
    'argoproj.io'
    """

    GO: ClassVar[str] = "v2.CrossVersionObjectReference"

    api_version: str | None = wire("apiVersion", STRING, "API group and version of the referent")
    kind: str | None = wire("kind", STRING, "Kind of the referent")
    name: str | None = wire("name", STRING, "Name of the referent")

    def __str__(self) -> str:
        return f"{self.kind or '?'}/{self.name or '?'}"

    @property
    def group(self) -> str:
        return group_of(self.api_version)


# A version, with its group if it has one, a kind and a name; and a type as kubectl names it.
_FULL = regex(r"((?:[^/]+/)?v[0-9][a-z0-9]*)/([^/]+)/([^/]+)")
_DOTTED = regex(r"([A-Za-z]+)\.(v[0-9][a-z0-9]*)\.([a-z0-9.-]+)")


def refer(target: "str | Ref | Mapping[str, Any] | HasKindAndName | HasMetadata") -> Ref:
    """A reference from `deployment/web`, a manifest, a `Ref`, or anything with a kind and a name.

    Kinds that not everybody has are `argoproj.io/v1alpha1/Rollout/web`, or `Rollout.v1alpha1.argoproj.io/web`.
    """
    if isinstance(target, Ref):
        return target
    if isinstance(target, str):
        return _from_text(plain(target))
    if isinstance(target, Mapping):
        metadata = target.get("metadata")
        name = metadata.get("name") if isinstance(metadata, Mapping) else target.get("name")
        return Ref(target.get("apiVersion"), target.get("kind"), name)
    version = getattr(target, "api_version", None) or getattr(target, "version", None)
    name = getattr(target, "name", None) or getattr(getattr(target, "metadata", None), "name", None)
    return Ref(version, getattr(target, "kind", None), name)


def _from_text(text: str) -> Ref:
    word, _, name = text.partition("/")
    known = BY_WORD.get(word.lower())
    if known is not None:
        return Ref(known.api_version, known.kind, name or None)
    if match := _DOTTED.fullmatch(word):
        near = BY_WORD.get(match[1].lower())
        return Ref(f"{match[3]}/{match[2]}", near.kind if near is not None else match[1], name or None)
    if match := _FULL.fullmatch(text):
        return Ref(match[1], match[2], match[3])
    return Ref(None, word, name or None)


def known_version(kind: Any) -> str | None:
    """The API version of a well-known kind; None for others."""
    known = BY_WORD.get(kind.lower()) if isinstance(kind, str) else None
    return known.api_version if known is not None else None


def meant_by(kind: Any) -> str:
    """A hint with the known kind that is written like this; empty if none is, or if it is one."""
    if not isinstance(kind, str) or kind.lower() in BY_WORD:
        return ""
    near = similar(kind.lower(), BY_WORD, 1, 0.7)
    return f"did you mean {BY_WORD[near[0]].kind} of {BY_WORD[near[0]].api_version}?" if near else ""


class InvalidAutoscaler(ValueError):  # noqa: N818  the name says what was written, not what went wrong
    """An authored object that the cluster would reject, with all its problems.

    >>> try:
    ...     HPA("deployment/web", max_replicas=0)
    ... except InvalidAutoscaler as error:
    ...     print(error.problems[0].path)
    max_replicas
    """

    def __init__(self, what: str, problems: Iterable[Problem]) -> None:
        self.what = what
        self.problems = tuple(problems)
        super().__init__("\n".join([f"{what}: {count_of(len(self.problems), 'problem')}", *self._lines()]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, also to another process, where a value that is no JSON is its text."""
        return type(self), (self.what, tuple([replace(p, value=_portable(p.value)) for p in self.problems]))

    def _lines(self) -> Iterator[str]:
        for i, problem in enumerate(self.problems, 1):
            value = "" if problem.value is None else f"{shown(problem.value)} "
            yield f"  {i}. {problem.path}: {value}{problem.message or 'is required'} [{problem.rule}]"
            if problem.hint:
                yield f"      try: {problem.hint}"


def _own(metadata: Any) -> Any:
    """A copy of what people write; managed fields are many, and nobody changes them."""
    if type(metadata) is not dict:
        return metadata
    return {key: value if key == "managedFields" else copied(value) for key, value in metadata.items()}


def _portable(value: Any) -> Any:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return shown(value)
    return value


def count_of(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


@derived
def _readable_part(whole: Node) -> Node | None:
    """None if everything is readable: an object that kept itself would be left to the garbage collector."""
    part = Node.readable(whole)
    return None if part is whole else part


@dataclass(frozen=True, slots=True, repr=False)
class Kind(Node):
    """A Kubernetes object. Its fields are those of `spec`; everything else is kept as it was read."""

    API_VERSION: ClassVar[str] = ""
    KIND: ClassVar[str] = ""
    FORMER_VERSIONS: ClassVar[tuple[str, ...]] = ()
    STATUS: ClassVar[type[Node] | None] = None

    metadata: Mapping[str, Any] = dataclass_field(default_factory=dict, kw_only=True, hash=False)
    status: Any = dataclass_field(default=None, kw_only=True, hash=False, repr=False)
    around: Mapping[str, Any] = dataclass_field(default_factory=dict, kw_only=True, hash=False, repr=False)
    # The apiVersion of the manifest if it is not the current one.
    read_from: str = dataclass_field(default="", kw_only=True, hash=False, compare=False, repr=False)
    # What the decoder of that version would have rejected.
    misread: tuple[Problem, ...] = dataclass_field(default=(), kw_only=True, hash=False, compare=False, repr=False)
    # The least that its plan asks for now; it is not part of the manifest.
    floor: Floor = dataclass_field(default=NO_FLOOR, kw_only=True, hash=False, compare=False, repr=False)

    def readable(self) -> Self:
        """The same object without what could not be decoded."""
        part = cast("Self | None", _readable_part(self))
        return self if part is None else part

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read any manifest, even an invalid one; `problems()` reports what is wrong."""
        version = data.get("apiVersion", cls.API_VERSION)
        misread = cls.misread_in(data) if version != cls.API_VERSION else ()
        data = cls.in_current_version(data)
        spec = data.get("spec")
        made = cls.read(spec if isinstance(spec, dict) else {})
        put = object.__setattr__
        metadata = data.get("metadata")
        put(made, "metadata", {} if metadata is None else _own(metadata))
        put(made, "status", data.get("status"))
        put(made, "read_from", "" if version == cls.API_VERSION else str(version))
        put(made, "misread", misread)
        put(made, "floor", NO_FLOOR)
        known = {"apiVersion", "kind", "metadata", "status"}
        if spec is None or isinstance(spec, dict):
            known.add("spec")
        put(made, "around", {} if data.keys() <= known else {k: copied(v) for k, v in data.items() if k not in known})
        return made

    @classmethod
    def in_current_version(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Convert a manifest of a former version. For kinds whose API had other versions before."""
        return data

    @classmethod
    def status_class(cls) -> type[Node] | None:
        """What its status must be readable as; None: anything."""
        return cls.STATUS

    @classmethod
    def misread_in(cls, data: Mapping[str, Any]) -> tuple[Problem, ...]:
        """What the decoder of a former version rejects, but reading it as the current version would hide."""
        del data
        return ()

    def to_dict(self) -> dict[str, Any]:
        """The manifest in the newest version of its API. It is a copy that the caller may change."""
        return deepcopy(self.manifest())

    def manifest(self) -> dict[str, Any]:
        """The same for those who only read it: its mappings are those of the object."""
        out: dict[str, Any] = {"apiVersion": self.API_VERSION, "kind": self.KIND, "metadata": self.metadata}
        out["spec"] = self.write()
        out.update(self.around)
        if self.status is not None:
            out["status"] = self.status
        return out

    def effective(self, kubernetes: str | Version = NEWEST) -> Self:
        """The object with the defaults of its API server or controller; the same object if its kind has none."""
        as_version(kubernetes)
        return self

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor that make this object, as far as it takes them."""
        raise NotImplementedError(f"{self.KIND} has no constructor for authors")

    def named(self) -> dict[str, Any]:
        """The keywords of every constructor."""
        metadata = self.metadata if isinstance(self.metadata, dict) else {}
        return {key: metadata.get(key) for key in ("name", "namespace", "labels", "annotations")}

    def replace(self, **changes: Any) -> Self:
        """The same object with other values, given and checked like those of the constructor: `replace(name="web")`.

        What the constructor does not take stays, except for the status, which is that of another object.
        """
        given = self.arguments()
        made, before = type(self)(**{**given, **changes}), self._again(given)
        kept = {name: getattr(self, name) for name, _ in self.TABLE if _equal_in(name, made, before)}
        own = self.metadata if isinstance(self.metadata, dict) else {}
        metadata = {**{key: value for key, value in own.items() if key not in self.named()}, **made.metadata}
        changed = replaced(made, **kept, metadata=metadata, around=self.around, extra=self.extra)
        changed.raise_if_refused()
        return changed

    def _again(self, given: Mapping[str, Any]) -> Self | None:
        """What the constructor makes of these keywords; None if it refuses them."""
        try:
            return type(self)(**given)
        except InvalidAutoscaler:
            return None

    def to_yaml(self) -> str:
        """The manifest as YAML, for `kubectl apply -f -`."""
        return to_yaml(self.manifest())

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """Read text with exactly one object, which is of this kind; `problems()` reports what is wrong in it."""
        from hypot.kinds.text.load import load_text  # noqa: PLC0415  what decides and imports this file reads no text

        found = list(load_text(text))
        if len(found) != 1 or found[0].data["kind"] != cls.KIND:
            there = ", ".join(f"{one.data['kind']} on line {one.source.line}" for one in found[:8]) or "nothing"
            raise ValueError(f"expected one {cls.KIND}, found {there}; hypot.from_yaml reads several objects")
        return cls.from_dict(found[0].data)

    def to_cdk8s(self, scope: Any, id: str) -> Any:  # noqa: A002  the name that constructs use
        """Add the object to a cdk8s chart, as a plain ApiObject. Needs the extra: pip install hypot[cdk8s]."""
        from hypot.kinds.cdk8s_object import api_object  # noqa: PLC0415  only for those who have cdk8s

        return api_object(self.to_dict(), scope, id)

    @property
    def name(self) -> str:
        metadata = self.metadata
        return str((metadata.get("name") if isinstance(metadata, dict) else None) or "")

    @property
    def namespace(self) -> str:
        metadata = self.metadata
        return str((metadata.get("namespace") if isinstance(metadata, dict) else None) or DEFAULT_NAMESPACE)

    @property
    def annotations(self) -> Mapping[str, str]:
        metadata = self.metadata
        found = metadata.get("annotations") if isinstance(metadata, dict) else None
        return found if isinstance(found, dict) else {}

    def floored(self, floor: Floor) -> Self:
        """The same object, as it should be decided while this floor holds. A maximum of the object still holds."""
        return replaced(self, floor=floor)

    def __str__(self) -> str:
        return f"{self.KIND} {self.namespace}/{self.name}"

    def problems(
        self, kubernetes: str | Version = NEWEST, gates: Mapping[str, bool] | None = None
    ) -> tuple[Problem, ...]:
        """All problems of this object on its own, for that Kubernetes version and these feature gates."""
        kubernetes = as_version(kubernetes)
        outer = self._outer_problems()
        if self.sound() and not self.misread and "spec" not in self.around:
            return tuple([self._placed(p) for p in (*outer, *self.rule_problems(kubernetes, gates))])
        decode = [*outer, *decode_problems(self, ("spec",))]
        unreadable = tuple(p.where for p in decode)
        rules = self.readable().rule_problems(kubernetes, gates)
        rules = (p for p in rules if not any(_follows_from(p, place) for place in unreadable))
        return tuple([self._placed(p) for p in (*decode, *rules)])

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems that the kind's own rules find; none by default. Every value has the right type here."""
        del kubernetes, gates
        return iter(())

    def _outer_problems(self) -> Iterator[Problem]:
        yield from self.version_problems()
        if isinstance(self.metadata, dict):
            yield from metadata_problems(self.metadata, built_in=self.BUILT_IN)
        else:
            yield Problem("type", "Decode", ("metadata",), "metadata is not a mapping", self.metadata)
        yield from self.misread
        yield from self.unreadable_status()
        for key, value in self.around.items():
            if key == "spec":
                yield Problem("type", "Decode", ("spec",), "spec is not a mapping", value)
            else:
                yield Problem("unknown-field", "Decode", (key,), f'strict decoding error: unknown field "{key}"', value)

    def unreadable_status(self) -> Iterator[Problem]:
        """The parts of the status that cannot be decoded. A status is optional."""
        of = None if self.status is None else self.status_class()
        if of is None:
            return
        if not isinstance(self.status, dict):
            yield Problem("type", "Decode", ("status",), "status is not a mapping", self.status)
            return
        status = of.read(self.status)
        if not status.sound():
            yield from decode_problems(status, ("status",))

    def version_problems(self) -> Iterator[Problem]:
        written, now = self.read_from, self.API_VERSION
        if written in self.FORMER_VERSIONS:
            message = f"{written} is an old version of this API; it is read and written as {now}"
            yield Problem("old-api-version", "Version", ("apiVersion",), message, written, f"write {now}", "warning")
        elif written:
            message = f"{written} is not a version of {self.KIND}; it is read as {now}"
            yield Problem("api-version-not-served", "Version", ("apiVersion",), message, written, f"write {now}")

    def _placed(self, problem: Problem) -> Problem:
        return replace(problem, path=self.author_path(problem.where[1:]) or str(problem.where[0]))

    def author_path(self, where: Where) -> str:
        """The Python path of a place below `spec` or `metadata`: the keyword of the constructor, and what is inside."""
        return python_path(self, where)

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """What never works with these pods; nothing by default."""
        del template
        return iter(())

    def author(
        self,
        metadata: Mapping[str, Any],
        template: Template | None = None,
        also: Iterable[Problem] = (),
        **fields: Any,
    ) -> None:
        """For constructors: set the fields, or raise one exception with all problems.

        These are what the cluster would reject, what never works with the pods, if they are known, and what the
        constructor itself found (`also`).
        """
        unwritten: dict[str, Any] = {"status": None, "around": {}, "read_from": "", "misread": (), "floor": NO_FLOOR}
        self.set_up(None, **unwritten, metadata=metadata, **fields)
        self.raise_if_refused(template, also)

    def raise_if_refused(self, template: Template | None = None, also: Iterable[Problem] = ()) -> None:
        """One exception with all errors, if there are any."""
        found = [*also, *[p for p in self.problems() if p.severity == "error"]]
        if template is not None:
            found += [self._placed(p) for p in self.readable().pod_problems(template)]
        if found:
            raise InvalidAutoscaler(str(self), found)


def _equal_in(name: str, a: Kind, b: Kind | None) -> bool:
    return b is not None and bool(getattr(a, name) == getattr(b, name))


def _follows_from(problem: Problem, unreadable: Where) -> bool:
    """Whether a rule fails only because a value at or next to its path could not be read."""
    if problem.where[: len(unreadable)] == unreadable:
        return True
    # Below the spec, one field can replace another, as with the targets of a metric.
    return problem.kind == "Required" and len(unreadable) > 2 and problem.where[:-1] == unreadable[:-1]


def metadata_of(
    name: str | None,
    namespace: str | None,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
) -> dict[str, Any]:
    """The metadata that the author gave, without empty values."""
    given = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return {key: plain(value) for key, value in given.items() if value is not None and value not in ("", {})}


# Seconds, text such as "1m30s", or a timedelta.
Duration = int | str | timedelta
# More digits are no duration, and Python reads them slowly.
_LONGEST_DURATION = 64


def seconds(duration: Any) -> Any:
    """Whole seconds from 90, "90s", "1m30s", "2h" or a timedelta. Other values stay as they are, for the rules."""
    if isinstance(duration, timedelta):
        amount = duration.total_seconds()
        return int(amount) if amount == int(amount) else amount
    if not isinstance(duration, str) or len(duration) > _LONGEST_DURATION:
        return duration
    units = {"h": 3600, "m": 60, "s": 1}
    result, digits = 0, ""
    for character in duration:
        if character in "0123456789":
            digits += character
        elif character in units and digits:
            result, digits = result + int(digits) * units[character], ""
        else:
            return duration
    return duration if digits or not duration else result


def reference_problems(ref: Ref, where: Where, *, any_version: bool, any_group: bool) -> Iterator[Problem]:
    """The API server's rules for a reference to another object."""
    for key, value in (("kind", ref.kind), ("name", ref.name)):
        if not value:
            yield Problem(f"reference-{key}", "Required", (*where, key), "", hint=_without_kind(ref))
        for message in path_segment(value or ""):
            yield Problem(f"reference-{key}", "Invalid", (*where, key), message, value)
    message = version_problem(ref, any_version=any_version, any_group=any_group)
    if message:
        hint = meant_by(ref.kind)
        yield Problem("reference-version", "Invalid", (*where, "apiVersion"), message, ref.api_version or "", hint)


def target_problems(ref: Ref, where: Where) -> Iterator[Problem]:
    """The rules for the target of a kind that is not built in: the target may be of any group."""
    for key, value in (("kind", ref.kind), ("name", ref.name)):
        if not value:
            message = f"the target's {key} must be set"
            yield Problem(f"reference-{key}", "Required", (*where, key), message, hint=_without_kind(ref))
    message = version_problem(ref, any_version=False, any_group=True)
    if message:
        yield Problem("reference-version", "Invalid", (*where, "apiVersion"), message, ref.api_version)


def _without_kind(ref: Ref) -> str:
    """A hint for a name alone, which was taken for the kind."""
    named = not ref.api_version and not ref.name and ref.kind
    return f'in Python, write "deployment/{ref.kind}"' if named else ""


def version_problem(ref: Ref, *, any_version: bool, any_group: bool) -> str:
    if any_version:
        return ""
    written = ref.api_version or ""
    if written.count("/") > 1:
        return f"unexpected GroupVersion string: {written}"
    return "" if any_group or ref.group else "apiVersion must specify API group"


def as_stored(value: Any) -> Any:
    """A node as the API server shows it: with quantities as it prints them, and without what it leaves out."""
    if not isinstance(value, Node):
        return tuple([as_stored(item) for item in value]) if isinstance(value, tuple) else value
    changes: dict[str, Any] = {}
    if isinstance(value, Ref) and not value.api_version:
        changes["api_version"] = None
    for name, w in value.TABLE:
        held = getattr(value, name)
        if held is None:
            continue
        if not isinstance(w.type, Scalar):
            changes[name] = as_stored(held)
        elif w.type.stored is not None:
            changes[name] = w.type.stored(held)
    return replaced(value, **changes) if changes else value
