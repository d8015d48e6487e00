"""Kubernetes versions and the feature gates that each version opens."""

import re
from collections.abc import Mapping

Version = tuple[int, int]

NEWEST: Version = (1, 37)
OLDEST: Version = (1, 23)

# Gate -> the first minor version that enables it by default.
_ON_SINCE: dict[str, Version] = {
    "HPAConfigurableTolerance": (1, 35),
    "HPAScaleToZero": (1, 37),
    "HPAGeneration": (1, 37),
    "PodLevelResources": (1, 34),
    "HPAContainerMetrics": (1, 27),
}
# Gate -> the first minor version in which an administrator can enable it at all.
_THERE_SINCE: dict[str, Version] = {"HPAConfigurableTolerance": (1, 33), "HPAScaleToZero": (1, 16)}
# Gate -> the first minor version in which it has graduated and cannot be closed.
_LOCKED_SINCE: dict[str, Version] = {"HPAConfigurableTolerance": (1, 37), "HPAContainerMetrics": (1, 30)}

# The API server requires a group in scaleTargetRef.
SCALE_TARGET_NEEDS_GROUP: Version = (1, 34)
# A ContainerResource metric for a container that a pod does not have is an error, no longer a request of 0.
KNOWS_CONTAINERS: Version = (1, 35)
# A condition reports whether the autoscaler itself scaled to zero.
REMEMBERS_SCALED_TO_ZERO: Version = (1, 36)

GATES = frozenset(_ON_SINCE)


def parse_version(text: str) -> Version:
    """Read `1.36`, `v1.36.4` or `1.36+`. Raises if it is not a Kubernetes version that hypot supports."""
    match = re.fullmatch(r"v?1\.(\d{1,3})(?:[.+-].*)?", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a Kubernetes version; write it as 1.36")
    version = (1, int(match[1]))
    if version < OLDEST:
        raise ValueError(
            f"Kubernetes {text} has no autoscaling/v2; the oldest version that hypot supports is 1.{OLDEST[1]}"
        )
    return version


def as_version(given: str | Version) -> Version:
    """The version as a pair, also from text."""
    return parse_version(given) if isinstance(given, str) else given


def show_version(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def gate_open(gate: str, version: Version, overrides: Mapping[str, bool] | None = None) -> bool:
    """Whether a feature gate is open: as an administrator set it if that is possible, else the version's default."""
    if not overrides or gate not in overrides or version >= _LOCKED_SINCE.get(gate, (99, 0)):
        return version >= _ON_SINCE[gate]
    return overrides[gate] and version >= _THERE_SINCE.get(gate, OLDEST)


def opened_in(gate: str) -> str:
    return show_version(_ON_SINCE[gate])
