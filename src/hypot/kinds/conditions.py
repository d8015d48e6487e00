"""The conditions of a status by type."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

from hypot.kinds.meta import StatusCondition

C = TypeVar("C", bound=StatusCondition)


class ConditionsByType(Mapping[str, C], Generic[C]):
    """`conditions["ScalingActive"].reason`, or `conditions.ScalingActive.reason`."""

    __slots__ = ("_by_type",)

    def __init__(self, written: Iterable[C] | None) -> None:
        self._by_type = {one.type: one for one in written or () if one.type is not None}

    def __getitem__(self, type_: str) -> C:
        found = self._by_type.get(type_)
        if found is None:
            raise KeyError(f"no condition {type_}; the conditions are {', '.join(self) or 'not reported yet'}")
        return found

    def __getattr__(self, type_: str) -> C:
        if type_.startswith("_"):  # what Python itself asks for, also before there are conditions
            raise AttributeError(type_)
        try:
            return self[type_]
        except KeyError as error:
            raise AttributeError(str(error.args[0])) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_type)

    def __len__(self) -> int:
        return len(self._by_type)

    def __repr__(self) -> str:
        return f"Conditions({', '.join(f'{one.type}={one.status}' for one in self._by_type.values())})"
