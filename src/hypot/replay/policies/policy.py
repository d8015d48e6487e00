"""What is replayed: a policy and the workload it starts from; and the error for manifests that cannot be replayed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hypot.kinds.catalogue import Autoscaler, autoscalers, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.problem import Where
from hypot.kinds.text.load import Source

LONGEST_NAME = 63
# The reference that policies are compared with.
STATIC_PEAK = "static peak"


def short_name(autoscaler: Autoscaler) -> str:
    """The short name of its kind, in policy names and in grids."""
    return info_of(autoscaler).abbreviation.lower()


def short_names() -> list[str]:
    return [info.abbreviation.lower() for info in autoscalers()]


@dataclass(frozen=True, slots=True)
class Start:
    """The workload at the start of a replay: the number of pods, and the one container that is replayed."""

    name: str
    replicas: int
    container: str
    # Millicores and bytes; None: no limit.
    cpu: int
    memory: int
    cpu_limit: int | None
    memory_limit: int | None
    kind: str = "Deployment"
    # None if the manifest does not say.
    namespace: str | None = None
    selector: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    # Resources whose change in place restarts the container.
    restarts_on_resize: frozenset[str] = frozenset()
    # The file and line of its manifest, and which parameters of the section `workload` of the world are used instead.
    source: str = field(default="", compare=False)
    of_world: frozenset[str] = field(default=frozenset(), compare=False)

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Policy:
    """A set of manifests that are replayed together; without an autoscaler it is static."""

    name: str
    autoscalers: tuple[Autoscaler, ...]
    workload: Start
    # Replica bounds of a VPA that takes a horizontal step when its recommendation leaves the allowed range.
    step: tuple[int, int] | None = None
    # Whether the Hvpa has the released form, which `policies.weights` replays.
    weights: bool = False
    notes: tuple[str, ...] = ()
    # The HPA that a Tortoise names, as it is at the start.
    named_hpa: HPA | None = None
    # The policy from which a grid made this variant; empty if none did.
    family: str = ""
    # The source of each autoscaler; None if it did not come from a file.
    sources: tuple[Source | None, ...] = field(default=(), repr=False, compare=False)


class Mishap(NamedTuple):
    """Why a manifest cannot be replayed; the source is None if no manifest is at fault."""

    source: Source | None
    where: Where
    message: str

    def __str__(self) -> str:
        if self.source is None:
            return self.message
        return f"{self.source.file}:{self.source.line_of(self.where)}: {self.message}"


class PolicyError(ValueError):
    """Manifests that cannot be replayed, with all their problems."""

    def __init__(self, mishaps: Iterable[Mishap]) -> None:
        self.problems = tuple(dict.fromkeys(str(one) for one in mishaps))
        super().__init__("\n".join(self.problems))
