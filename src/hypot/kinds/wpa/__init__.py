"""WatermarkPodAutoscaler, datadoghq.com/v1alpha1: two watermarks and the band between them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Self, TypeVar

from hypot.core.quantity import Quantity, is_quantity
from hypot.kinds.authored.given_target import TargetLike, given_target
from hypot.kinds.authored.keywords import OF_STATUS, authored
from hypot.kinds.base import Duration, seconds
from hypot.kinds.hpa.fields import FROZEN
from hypot.kinds.node import node, replaced
from hypot.kinds.pod_template import Template
from hypot.kinds.problem import Problem
from hypot.kinds.values.plain import GivenAmount, plain
from hypot.kinds.values.version import NEWEST, Version, as_version
from hypot.kinds.wpa.fields import Algorithm, BandMetric, Recommender, WatermarkRules, WPASpec
from hypot.kinds.wpa.pods import metric_problems
from hypot.kinds.wpa.rules import spec_problems


@node
class WPA(WPASpec):
    """A WatermarkPodAutoscaler.

    >>> jobs = band("jobs", low=40, high=50)
    >>> WPA("deployment/web", max_replicas=10, algorithm="average", metrics=jobs).metrics[0].external.high
    50
    """

    @authored("WPA()", OF_STATUS, "kind")
    def __init__(
        self,
        target: TargetLike,
        *,
        max_replicas: int,
        min_replicas: int | None = None,
        metrics: Iterable[BandMetric] | BandMetric | None = None,
        recommender: Recommender | None = None,
        algorithm: Algorithm | None = None,
        tolerance: GivenAmount | None = None,
        scale_up: WatermarkRules | None = None,
        scale_down: WatermarkRules | None = None,
        modulo: int | None = None,
        converge: Literal["highwatermark", "lowwatermark"] | None = None,
        dry_run: bool | None = None,
        tolerate_zero: bool | None = None,
        min_available: int | None = None,
        readiness_delay: Duration | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Create an autoscaler, named like its target by default. Raises one exception with all problems."""
        given = given_target(target)
        (up, down), misplaced = _directions(scale_up=scale_up, scale_down=scale_down)
        self.author(
            given.metadata(name, namespace, labels, annotations),
            given.template,
            (*given.problems(namespace, counts=True), *misplaced),
            target=given.ref,
            min_replicas=min_replicas,
            max_replicas=max_replicas,
            metrics=metrics,
            recommender=recommender,
            algorithm=algorithm,
            tolerance=tolerance,
            up_factor=up.percent,
            down_factor=down.percent,
            up_forbidden_window=seconds(up.forbidden_window),
            down_forbidden_window=seconds(down.forbidden_window),
            up_delay=seconds(up.delay),
            down_delay=seconds(down.delay),
            modulo=modulo,
            converge=converge,
            dry_run=dry_run,
            tolerate_zero=tolerate_zero,
            min_available=min_available,
            readiness_delay=seconds(readiness_delay),
        )

    @property
    def scale_up(self) -> WatermarkRules:
        """As in the constructor."""
        return WatermarkRules(self.up_factor, self.up_forbidden_window, self.up_delay)

    @property
    def scale_down(self) -> WatermarkRules:
        """As in the constructor."""
        return WatermarkRules(self.down_factor, self.down_forbidden_window, self.down_delay)

    def arguments(self) -> dict[str, Any]:
        """The keywords of the constructor."""
        words = (
            *("target", "min_replicas", "max_replicas", "metrics", "recommender", "algorithm", "tolerance", "scale_up"),
            *("scale_down", "modulo", "converge", "dry_run", "tolerate_zero", "min_available", "readiness_delay"),
        )
        return {**{word: getattr(self, word) for word in words}, **self.named()}

    def rule_problems(self, kubernetes: Version, gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        """The problems of this object, after applying the controller's defaults, as the controller does."""
        del kubernetes, gates
        missing = {name: value for name, value in DEFAULTS.items() if getattr(self, name) is None}
        return spec_problems(replaced(self, **missing))

    def pod_problems(self, template: Template) -> Iterator[Problem]:
        """Metrics that do not measure these pods."""
        return metric_problems(self, template)

    def effective(self, kubernetes: str | Version = NEWEST) -> Self:
        """The object with its controller's defaults; they are the same in every Kubernetes version."""
        as_version(kubernetes)
        return with_defaults(self)


def _directions(**given: Any) -> tuple[list[WatermarkRules], list[Problem]]:
    """The rules of each direction; other values are problems."""
    problems = [
        Problem("type", "Decode", (name,), "must be WatermarkRules", plain(value), _instead_of(value), path=name)
        for name, value in given.items()
        if value is not None and not isinstance(value, WatermarkRules)
    ]
    return [one if isinstance(one, WatermarkRules) else WatermarkRules() for one in given.values()], problems


def _instead_of(value: Any) -> str:
    if value == FROZEN:
        return "FROZEN is for an HPA; a WatermarkPodAutoscaler stops a direction with WatermarkRules(percent=0)"
    return 'write WatermarkRules(percent=50, forbidden_window="1m", delay="30s")'


# The defaults that the controller writes into a spec.
DEFAULTS: dict[str, Any] = {
    "min_replicas": 1,
    "algorithm": "absolute",
    "tolerance": "100m",
    "up_factor": 50,
    "down_factor": 20,
    "up_forbidden_window": 60,
    "down_forbidden_window": 300,
    "modulo": 1,
}
W = TypeVar("W", bound=WPASpec)
_ZERO_IS_UNSET = ("tolerance", "up_forbidden_window", "down_forbidden_window")


def with_defaults(wpa: W) -> W:
    """The object with the controller's defaults; the same object if nothing is missing."""
    changes = {name: value for name, value in DEFAULTS.items() if _is_unset(name, getattr(wpa, name))}
    return replaced(wpa, **changes) if changes else wpa


def _is_unset(name: str, value: Any) -> bool:
    if value is None or value == "":
        return True
    return name in _ZERO_IS_UNSET and is_quantity(value) and Quantity.parse(value).sign == 0
