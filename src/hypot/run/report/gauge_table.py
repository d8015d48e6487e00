"""The one table of what `/metrics` tells: name, type, words and labels. Pages and alerts are made from it."""

from typing import Literal, NamedTuple

Type = Literal["gauge", "counter", "histogram"]


class MetricFamily(NamedTuple):
    """One name, and all series that have it."""

    name: str
    type: Type
    help: str
    labels: tuple[str, ...] = ()


# Not `namespace` and `name` alone: who scrapes a pod puts the pod's own under these.
OBJECT = ("kind", "object_namespace", "object_name")
WPA = ("wpa_name", "wpa_namespace", "resource_namespace", "resource_name", "resource_kind")

LEADER = "hypot_leader"
RECONCILES = "hypot_reconciles_total"
RECONCILE_SECONDS = "hypot_reconcile_duration_seconds"
DECISION_SECONDS = "hypot_decision_duration_seconds"
RECONCILE_AGE = "hypot_reconcile_age_seconds"
API_CALLS = "hypot_api_calls_total"
OBJECTS = "hypot_objects"
STALE_SHARE = "hypot_stale_share"
GOVERNOR_HOLDING = "hypot_governor_holding"
STATE_UNWRITTEN = "hypot_state_unwritten"
CERTIFICATE = "hypot_certificate_expiry_seconds"
PLANS = "hypot_plans"
WEBHOOK_SECONDS = "hypot_webhook_duration_seconds"

CURRENT_REPLICAS = "hypot_current_replicas"
DESIRED_REPLICAS = "hypot_desired_replicas"
CONTAINER_CPU = "hypot_container_cpu_request_cores"
CONTAINER_MEMORY = "hypot_container_memory_request_bytes"
LIMITED = "hypot_limited"
BLOCKED = "hypot_blocked"
HELD = "hypot_held"

VALUE = "wpa_controller_value"
HIGH = "wpa_controller_high_watermark"
LOW = "wpa_controller_low_watermark"
PROPOSAL = "wpa_controller_replicas_scaling_proposal"
EFFECTIVE = "wpa_controller_replicas_scaling_effective"
RESTRICTED = "wpa_controller_restricted_scaling"
COUNTDOWN = "wpa_controller_transition_countdown"

CONTROLLER_FAMILIES = (
    MetricFamily(LEADER, "gauge", "1 in the replica that leads and writes, 0 in the others."),
    MetricFamily(RECONCILES, "counter", "Reconciles that ran to their end."),
    MetricFamily(RECONCILE_SECONDS, "gauge", "How long the last reconcile took, from looking to telling."),
    MetricFamily(DECISION_SECONDS, "gauge", "How long the last reconcile took to decide for all objects."),
    MetricFamily(
        RECONCILE_AGE, "gauge", "Seconds since the last reconcile that was finished began; absent before the first one."
    ),
    MetricFamily(
        API_CALLS, "counter", "Calls to the API server; the code is 2xx to 5xx, or none.", ("verb", "kind", "code")
    ),
    MetricFamily(OBJECTS, "gauge", "Autoscalers that were decided for in the last reconcile.", ("kind",)),
    MetricFamily(
        STALE_SHARE,
        "gauge",
        "Of the running pods of targets whose usage is asked for, the share without a fresh sample of it, 0 to 1.",
    ),
    MetricFamily(GOVERNOR_HOLDING, "gauge", "Shrinks that wait because many others shrank shortly before."),
    MetricFamily(STATE_UNWRITTEN, "gauge", "parts of the state that the last reconcile could not write."),
    MetricFamily(
        CERTIFICATE, "gauge", "Seconds until the webhook's certificate ends, 0 without one; absent without a webhook."
    ),
    MetricFamily(PLANS, "gauge", "Moves on both axes that are under way or ended, by their state.", ("state",)),
    MetricFamily(
        WEBHOOK_SECONDS, "histogram", "How long this replica's webhook took to answer; absent without a webhook."
    ),
)
OBJECT_FAMILIES = (
    MetricFamily(CURRENT_REPLICAS, "gauge", "Replicas that the target has.", OBJECT),
    MetricFamily(DESIRED_REPLICAS, "gauge", "Replicas that were decided on, after all limits and holds.", OBJECT),
    MetricFamily(CONTAINER_CPU, "gauge", "Requested cpu, as it is and as decided.", (*OBJECT, "container", "at")),
    MetricFamily(
        CONTAINER_MEMORY,
        "gauge",
        "Requested memory, as it is and as decided.",
        (*OBJECT, "container", "at"),
    ),
    MetricFamily(LIMITED, "gauge", "1 while a bound or a speed limit cuts what is asked for.", (*OBJECT, "reason")),
    MetricFamily(BLOCKED, "gauge", "1 while a window, a gate or a budget keeps a move back.", (*OBJECT, "reason")),
    MetricFamily(HELD, "gauge", "1 while the object is held: paused, a conflict, stale metrics.", (*OBJECT, "reason")),
)
WPA_FAMILIES = (
    MetricFamily(VALUE, "gauge", "What is compared with the watermarks, in milli-units.", (*WPA, "metric_name")),
    MetricFamily(HIGH, "gauge", "The high watermark, in milli-units.", (*WPA, "metric_name")),
    MetricFamily(LOW, "gauge", "The low watermark, in milli-units.", (*WPA, "metric_name")),
    MetricFamily(PROPOSAL, "gauge", "Replicas that this metric asks for, before any limit.", (*WPA, "metric_name")),
    MetricFamily(EFFECTIVE, "gauge", "Replicas after limits and windows; in a dry run those that would be.", WPA),
    MetricFamily(
        RESTRICTED,
        "gauge",
        "1 while this restricts scaling, else 0: within_bounds, upscale_capping, downscale_capping.",
        (*WPA, "reason"),
    ),
    MetricFamily(
        COUNTDOWN,
        "gauge",
        "Seconds until an upscale or a downscale is allowed again after the last move, else 0.",
        (*WPA, "transition"),
    ),
)
FAMILIES = (*CONTROLLER_FAMILIES, *OBJECT_FAMILIES, *WPA_FAMILIES)


def table() -> str:
    """All families as a table for the documentation."""
    lines = ["| name | type | labels | what it says |", "| --- | --- | --- | --- |"]
    parts = {
        "The controller": CONTROLLER_FAMILIES,
        "Every object": OBJECT_FAMILIES,
        "WatermarkPodAutoscalers": WPA_FAMILIES,
    }
    for title, families in parts.items():
        lines.append(f"| **{title}** | | | |")
        for family in families:
            labels = ", ".join(f"`{label}`" for label in family.labels)
            lines.append(f"| `{family.name}` | {family.type} | {labels} | {family.help} |")
    return "\n".join(lines)
