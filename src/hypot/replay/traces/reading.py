"""What a user says about traces, and what was assumed because nobody said it. Both have the same keys."""

from typing import Final, Literal, NamedTuple

from hypot.core.dataclass import dataclass

# What a value in a file can be; `requests` are counted since the row before.
TraceUnit = Literal["rps", "requests", "cores"]
# Times before this count from another beginning than 1970.
FIRST_DATE: Final = 1e8
# How a command takes one of the keys.
OPTION: Final = "--trace"


@dataclass(frozen=True, slots=True)
class TraceReading:
    """How to read traces. What is empty is found out, or assumed."""

    # Columns of a table, by name or by number; of Prometheus, the names of series.
    time: str = ""
    value: tuple[str, ...] = ()
    # The column with the name of the workload; of Prometheus, the label.
    name: str = ""
    # The only workloads that are used.
    workload: tuple[str, ...] = ()
    unit: TraceUnit | None = None
    # The time zone of times that have none.
    zone: str = ""
    # The mark before decimals: a point or a comma.
    decimal: str = ""
    # Whether values of one workload at the same time are added up.
    sum: bool = False


NOTHING_SAID: Final = TraceReading()


class Assumed(NamedTuple):
    """A key, the value that was taken as text or as a JSON list, and why another one is possible."""

    key: str
    value: str
    why: str

    def __str__(self) -> str:
        return f"{self.key} {self.value}: {self.why}"
