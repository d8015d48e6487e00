"""The single table of what `/metrics` exposes: name, type, help and labels. Docs and alerts are made from it."""

from hypot.serving.text_format import MetricFamily, family_table

# Not plain `namespace` and `name`: a scraper sets these labels to those of the hypot pod.
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
STATE_USED = "hypot_state_used_ratio"
CERTIFICATE = "hypot_certificate_expiry_seconds"
INTERNAL_ERRORS = "hypot_internal_errors_total"
PLANS = "hypot_plans"
WEBHOOK_SECONDS = "hypot_webhook_duration_seconds"

CURRENT_REPLICAS = "hypot_current_replicas"
DESIRED_REPLICAS = "hypot_desired_replicas"
CONTAINER_CPU = "hypot_container_cpu_request_cores"
CONTAINER_MEMORY = "hypot_container_memory_request_bytes"
LIMITED = "hypot_limited"
BLOCKED = "hypot_blocked"
HELD = "hypot_held"

PHASE = "hypot_phase"
LEARNED_LOW = "hypot_learned_min_replicas"
LEARNED_HIGH = "hypot_learned_max_replicas"
LEARNED_SLOTS = "hypot_learned_slots"
LEFT_OUT_SLOTS = "hypot_left_out_slots"
TARGET_UTILIZATION = "hypot_target_utilization_ratio"

DEMAND = "hypot_demand_cores"
PLANNED_DEMAND = "hypot_planned_demand_cores"
RULE_PRICE = "hypot_rule_price_ratio"
KAPPA = "hypot_late_kappa"

VALUE = "wpa_controller_value"
HIGH = "wpa_controller_high_watermark"
LOW = "wpa_controller_low_watermark"
PROPOSAL = "wpa_controller_replicas_scaling_proposal"
EFFECTIVE = "wpa_controller_replicas_scaling_effective"
RESTRICTED = "wpa_controller_restricted_scaling"
COUNTDOWN = "wpa_controller_transition_countdown"

CONTROLLER_FAMILIES = (
    MetricFamily(LEADER, "gauge", "1 in the replica that leads and writes, 0 in the others."),
    MetricFamily(RECONCILES, "counter", "Completed reconciles."),
    MetricFamily(RECONCILE_SECONDS, "gauge", "How long the last reconcile took, from observing to reporting."),
    MetricFamily(DECISION_SECONDS, "gauge", "How long the last reconcile took to decide for all objects."),
    MetricFamily(
        RECONCILE_AGE, "gauge", "Seconds since the last completed reconcile began; absent before the first one."
    ),
    MetricFamily(
        API_CALLS,
        "counter",
        "Calls to the API server; the code is 2xx to 5xx, or none without an answer.",
        ("verb", "kind", "code"),
    ),
    MetricFamily(OBJECTS, "gauge", "Autoscalers in the last reconcile.", ("kind",)),
    MetricFamily(
        STALE_SHARE,
        "gauge",
        "Share of the running pods whose usage is needed that have no fresh usage sample, 0 to 1.",
    ),
    MetricFamily(GOVERNOR_HOLDING, "gauge", "Scale-downs that wait because many others took place shortly before."),
    MetricFamily(STATE_UNWRITTEN, "gauge", "Parts of the state that the last reconcile could not write."),
    MetricFamily(STATE_USED, "gauge", "The share of the possible state that is used; nothing more fits at 1."),
    MetricFamily(
        CERTIFICATE,
        "gauge",
        "Seconds until the webhook's certificate expires, 0 without one; absent without a webhook.",
    ),
    MetricFamily(
        INTERNAL_ERRORS,
        "counter",
        "Errors of hypot's own code for single objects, by stage: observe, decide, act, report, save.",
        ("stage",),
    ),
    MetricFamily(PLANS, "gauge", "Plans (moves on both axes) that are under way or ended, by state.", ("state",)),
    MetricFamily(
        WEBHOOK_SECONDS, "histogram", "How long this replica's webhook took to answer; absent without a webhook."
    ),
)
OBJECT_FAMILIES = (
    MetricFamily(CURRENT_REPLICAS, "gauge", "Current replicas of the target.", OBJECT),
    MetricFamily(DESIRED_REPLICAS, "gauge", "Decided replicas, after all limits and holds.", OBJECT),
    MetricFamily(CONTAINER_CPU, "gauge", "Requested cpu, current and decided.", (*OBJECT, "container", "at")),
    MetricFamily(
        CONTAINER_MEMORY,
        "gauge",
        "Requested memory, current and decided.",
        (*OBJECT, "container", "at"),
    ),
    MetricFamily(LIMITED, "gauge", "1 while a bound or a rate limit cuts the proposal.", (*OBJECT, "reason")),
    MetricFamily(BLOCKED, "gauge", "1 while a window, a gate or a budget holds back a move.", (*OBJECT, "reason")),
    MetricFamily(HELD, "gauge", "1 while the object is held: paused, a conflict, stale metrics.", (*OBJECT, "reason")),
)
TORTOISE_FAMILIES = (
    MetricFamily(PHASE, "gauge", "1 for the phase that it is in.", (*OBJECT, "phase")),
    MetricFamily(
        LEARNED_LOW,
        "gauge",
        "The learned minimum of replicas in the slot of now; absent while it gathers data.",
        OBJECT,
    ),
    MetricFamily(
        LEARNED_HIGH,
        "gauge",
        "The learned maximum of replicas in the slot of now; absent while it gathers data.",
        OBJECT,
    ),
    MetricFamily(LEARNED_SLOTS, "gauge", "Slots with data, of the 168 hours of a week by default.", OBJECT),
    MetricFamily(
        LEFT_OUT_SLOTS, "gauge", "How many of the last slots were left out, because they say nothing.", OBJECT
    ),
    MetricFamily(
        TARGET_UTILIZATION,
        "gauge",
        "The target utilization of a container that replicas follow, as a share of its request.",
        (*OBJECT, "container", "resource"),
    ),
)
AUTOSCALER_FAMILIES = (
    MetricFamily(DEMAND, "gauge", "What all pods together need now, in cores; absent before it was observed.", OBJECT),
    MetricFamily(
        PLANNED_DEMAND,
        "gauge",
        "What the deciding rule of an axis (replicas or size) plans for, in cores.",
        (*OBJECT, "axis"),
    ),
    MetricFamily(
        RULE_PRICE,
        "gauge",
        "What the deciding rule of an axis has cost, as a share of what an HPA at 70 % would have cost; absent until "
        "both are priced.",
        (*OBJECT, "axis"),
    ),
    MetricFamily(
        KAPPA,
        "gauge",
        "How steeply the share of late requests falls: by exp(-kappa) per idle core of a pod.",
        OBJECT,
    ),
)
WPA_FAMILIES = (
    MetricFamily(
        VALUE, "gauge", "The value that is compared with the watermarks, in milli-units.", (*WPA, "metric_name")
    ),
    MetricFamily(HIGH, "gauge", "The high watermark, in milli-units.", (*WPA, "metric_name")),
    MetricFamily(LOW, "gauge", "The low watermark, in milli-units.", (*WPA, "metric_name")),
    MetricFamily(PROPOSAL, "gauge", "Replicas that this metric proposes, before any limit.", (*WPA, "metric_name")),
    MetricFamily(
        EFFECTIVE, "gauge", "Replicas after limits and windows; in a dry run, the replicas it would set.", WPA
    ),
    MetricFamily(
        RESTRICTED,
        "gauge",
        "1 while this reason restricts scaling, else 0: within_bounds, upscale_capping, downscale_capping.",
        (*WPA, "reason"),
    ),
    MetricFamily(
        COUNTDOWN,
        "gauge",
        "Seconds until an upscale or a downscale is allowed again after the last move, else 0.",
        (*WPA, "transition"),
    ),
)
FAMILIES = (*CONTROLLER_FAMILIES, *OBJECT_FAMILIES, *TORTOISE_FAMILIES, *AUTOSCALER_FAMILIES, *WPA_FAMILIES)


def table() -> str:
    """All families as a table for the documentation."""
    return family_table(
        {
            "The controller": CONTROLLER_FAMILIES,
            "Every object": OBJECT_FAMILIES,
            "Tortoises": TORTOISE_FAMILIES,
            "Autoscalers": AUTOSCALER_FAMILIES,
            "WatermarkPodAutoscalers": WPA_FAMILIES,
        }
    )
