"""`dataclass` as in the standard library, with methods that are made when they are first used.

A short command imports some 170 classes and uses few of them. To make the methods of one takes half a millisecond.
"""

import dataclasses
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, slots: bool, frozen: bool = False, eq: bool = True, repr: bool = True) -> Any:  # noqa: A002
        """The same options with the same meaning; there are always slots, and every field is a parameter."""
        assert slots  # noqa: S101
        return lambda cls: _made(cls, frozen=frozen, eq=eq, shown=repr)


def _made(cls: type, *, frozen: bool, eq: bool, shown: bool) -> Any:
    own = cls.__dict__
    hashed_by_hand = own.get("__hash__") is not None
    # Without a docstring, the standard library would make one from the signature.
    cls.__doc__ = cls.__doc__ or cls.__name__
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    assert all(field.init for field in dataclasses.fields(made))  # noqa: S101
    if frozen:
        made.__setattr__, made.__delattr__ = _refuse_assignment, _refuse_deletion
        made.__getstate__, made.__setstate__ = _state, _set_state
    late = ["__init__", *(("__eq__",) if eq else ()), *(("__repr__",) if shown else ())]
    for name in late:
        if name not in own:
            setattr(made, name, _Late(made, name, frozen=frozen))
    if eq and not hashed_by_hand:
        made.__hash__ = _Late(made, "__hash__", frozen=True) if frozen else None
    return made


class _New:
    """Stands for a default that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_NEW = _New()


class _Late:
    """In place of a method, until it is used."""

    __slots__ = ("_frozen", "_name", "_of")

    def __init__(self, of: type, name: str, *, frozen: bool) -> None:
        self._of, self._name, self._frozen = of, name, frozen

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        of, name = self._of, self._name
        if of.__dict__[name] is self:
            if instance is None and name == "__hash__":
                # For those who only look whether there is one.
                return self
            setattr(of, name, _method(of, name, frozen=self._frozen))
        return of.__dict__[name].__get__(instance, owner)

    def __call__(self, instance: object) -> Any:
        return self.__get__(instance)()


def _method(of: Any, name: str, *, frozen: bool) -> Any:
    method = _init(of, frozen=frozen) if name == "__init__" else _from_library(of, name, frozen=frozen)
    method.__qualname__ = f"{of.__qualname__}.{name}"
    method.__module__ = of.__module__
    return method


def _init(of: Any, *, frozen: bool) -> Any:
    """The library's own would take four times as long to make: it makes methods that nobody needs with it."""
    known: dict[str, Any] = {"put": object.__setattr__, "NEW": _NEW}
    positional, keywords, lines = ["self"], list[str](), list[str]()
    for field in dataclasses.fields(of):
        name = value = field.name
        default = ""
        if field.default is not dataclasses.MISSING:
            known[f"default_{name}"], default = field.default, f"=default_{name}"
        elif field.default_factory is not dataclasses.MISSING:
            known[f"make_{name}"], default = field.default_factory, "=NEW"
            value = f"make_{name}() if {name} is NEW else {name}"
        (keywords if field.kw_only else positional).append(f"{name}{default}")
        lines.append(f"put(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(of, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = [*positional, *(["*", *keywords] if keywords else ())]
    exec("\n    ".join([f"def __init__({', '.join(arguments)}):", *(lines or ["pass"])]), known)  # noqa: S102
    made = known["__init__"]
    made.__annotations__ = {**{field.name: field.type for field in dataclasses.fields(of)}, "return": None}
    return made


def _from_library(of: Any, name: str, *, frozen: bool) -> Any:
    fields = [(field.name, field.type, field) for field in dataclasses.fields(of)]
    whole = dataclasses.make_dataclass(
        of.__name__, fields, namespace={"__doc__": of.__doc__}, init=False, repr=name == "__repr__", frozen=frozen
    )
    return whole.__dict__[name]


def _refuse_assignment(_: object, name: str, __: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_deletion(_: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
