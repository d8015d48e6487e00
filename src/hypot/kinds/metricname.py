"""How a metric is named, in the spec of an autoscaler and in its status."""

from collections.abc import Mapping
from dataclasses import field as dataclass_field
from typing import Annotated, Any, ClassVar

from hypot.kinds.meta import SELECTOR
from hypot.kinds.node import STRING, Node, Wire, node


@node
class MetricName(Node):
    """Which series: a name and, where one name has many, a selector."""

    GO: ClassVar[str] = "MetricIdentifier"

    name: Annotated[str | None, Wire("name", STRING)] = None
    selector: Annotated[Mapping[str, Any] | None, Wire("selector", SELECTOR)] = dataclass_field(
        default=None, hash=False
    )
