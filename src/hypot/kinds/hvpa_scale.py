"""What holds an Hvpa back: changes as an amount and a percentage, modes, durations and windows."""

from typing import Annotated, ClassVar

from hypot.core import timeofday
from hypot.kinds.base import seconds
from hypot.kinds.node import INT32, STRING, Node, Wire, node
from hypot.kinds.vpa_parts import AMOUNT, Amount

AUTO, OFF, MAINTENANCE_WINDOW = "Auto", "Off", "MaintenanceWindow"
MODES = (AUTO, OFF, MAINTENANCE_WINDOW)


@node
class Change(Node):
    """An amount and a percentage: for `minChange` the smaller of the two counts, everywhere else the larger."""

    GO: ClassVar[str] = "ChangeParams"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    value: Annotated[Amount | None, Wire("value", AMOUNT, doc="an amount such as 200m or 200M")] = None
    percentage: Annotated[int | None, Wire("percentage", INT32, schema={"minimum": 0}, doc="so many percent")] = None


@node
class ResourceChanges(Node):
    """A change for each resource."""

    GO: ClassVar[str] = "ResourceChangeParams"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    cpu: Annotated[Change | None, Wire("cpu", Change, doc="of cpu")] = None
    memory: Annotated[Change | None, Wire("memory", Change, doc="of memory")] = None


@node
class MinChange(ResourceChanges):
    """What the released API has in the place of a map: a third entry, which nobody reads."""

    GO: ClassVar[str] = "ScaleParams"

    replicas: Annotated[Change | None, Wire("replicas", Change, doc="accepted, and never read")] = None


@node
class ScalePolicy(Node):
    GO: ClassVar[str] = "UpdatePolicy"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    mode: Annotated[
        str | None,
        Wire("updateMode", STRING, schema={"enum": list(MODES)}, path="", doc="when to act; Auto if absent"),
    ] = None


@node
class ScaleType(Node):
    """What holds one direction back. In Python the mode may be given as its word, and the duration in seconds."""

    GO: ClassVar[str] = "ScaleType"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    update_policy: Annotated[
        ScalePolicy | None, Wire("updatePolicy", ScalePolicy, doc="whether and when to act in this direction")
    ] = None
    min_change: Annotated[
        MinChange | None, Wire("minChange", MinChange, doc="totals must move this far; 200m and 200M if absent")
    ] = None
    stabilization: Annotated[
        str | None,
        Wire("stabilizationDuration", STRING, doc="no change so long after the last one, such as 3m; 0 if absent"),
    ] = None

    def __post_init__(self) -> None:
        """Take modes and durations as people write them."""
        if isinstance(self.update_policy, str):
            object.__setattr__(self, "update_policy", ScalePolicy(self.update_policy))
        waits = self.stabilization if isinstance(self.stabilization, str) else seconds(self.stabilization)
        if type(waits) in {int, float}:
            object.__setattr__(self, "stabilization", f"{waits}s")

    @property
    def mode(self) -> str:
        """The update mode that holds."""
        written = self.update_policy.mode if isinstance(self.update_policy, ScalePolicy) else None
        return written if isinstance(written, str) else AUTO

    @property
    def stabilization_seconds(self) -> float | None:
        """None where there is none, or none that can be read."""
        try:
            return timeofday.span(self.stabilization) if isinstance(self.stabilization, str) else None
        except ValueError:
            return None


@node
class Window(Node):
    """When modes of MaintenanceWindow may act: every day from the one time to the other."""

    GO: ClassVar[str] = "MaintenanceTimeWindow"
    GO_PACKAGE: ClassVar[str] = "v1alpha1"

    begin: Annotated[str | None, Wire("begin", STRING, doc="HHMMSS and a zone, such as 220000+0100")] = None
    end: Annotated[str | None, Wire("end", STRING, doc="as begin; before it means the next day")] = None

    @property
    def bounds(self) -> tuple[int, int] | None:
        """Both ends as seconds of the day in UTC; None where one cannot be read."""
        if not isinstance(self.begin, str) or not isinstance(self.end, str):
            return None
        try:
            return timeofday.parse(self.begin), timeofday.parse(self.end)
        except ValueError:
            return None
