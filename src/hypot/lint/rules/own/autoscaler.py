"""Texts of the rules for Autoscalers that the kind itself reports: axes, late requests and metrics."""

from hypot.lint.rule import AUTOSCALER_ONLY, RuleFamily

AUTOSCALER_FIELDS = RuleFamily(
    "Fields of Autoscalers",
    "What is rejected in an Autoscaler, and what is accepted there but has no effect.",
    kinds=AUTOSCALER_ONLY,
)

AUTOSCALER_FIELDS.known(
    "axes",
    title="Unknown axes",
    why="An Autoscaler sets the number of replicas (Replicas), the size of pods (Size), or both.",
    fix="write Both, Replicas or Size, or leave it out for both",
    example='Unsupported value: "Pods": supported values: "Both", "Replicas", "Size"',
)
AUTOSCALER_FIELDS.known(
    "other-axis",
    severity="warning",
    title="Bounds of an axis that is not set",
    why="With the axes Size the number of replicas stays as it is, and with Replicas the size of pods does.",
    fix="leave the bounds out, or write axes: Both",
    example="is ignored: axes is Size, so the number of replicas stays",
)
AUTOSCALER_FIELDS.known(
    "late-after",
    title="A time after which requests are late that is out of range",
    why="It is a duration of 1 millisecond to 1 hour; without it, requests are late after 250ms.",
    fix="write a duration such as 250ms, 1s or 1m30s",
    example='Invalid value: "soon": must be a duration of at least 1ms and at most 1h',
)
AUTOSCALER_FIELDS.known(
    "late-price",
    title="A price of late requests that is out of range",
    why="A late request costs this many times the core-time that a request takes; without it, ten times. With a price "
    "near 0 nearly every request may be late.",
    fix="write a number from 0.1 to 1000; a higher price makes fewer requests late and the workload more expensive",
    example="Invalid value: 0: must be between 0.1 and 1000",
)
AUTOSCALER_FIELDS.known(
    "late-metric",
    title="A metric of late requests that says no share",
    why="The share of late requests is what counts, so the metric of all requests is needed too. It is a warning if "
    "both name the same series: then every request is late.",
    fix="name the metric of all requests in metrics.requests, and that of late ones in metrics.late",
    example="Required value: must be set if late is: the share of late requests is needed",
)
