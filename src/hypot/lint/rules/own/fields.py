"""Texts of the rules for the fields of each kind: what the API server or the CRD's schema rejects."""

from hypot.lint.rule import AUTOSCALER_ONLY, BOTH, HPA_ONLY, HVPA_ONLY, MEASURING, SIZING, WPA_ONLY, RuleFamily

FIELDS = RuleFamily(
    "Fields", "What the API server, or the schema of the custom resource, rejects in a spec.", kinds=MEASURING
)

FIELDS.known(
    "zero-needs-outside-metric",
    title="minReplicas 0 without an Object or External metric",
    why="Without pods there are no pod metrics, so nothing would ever scale the workload up again.",
    fix="add an Object or External metric, or write minReplicas: 1",
    example="Forbidden: must specify at least one Object or External metric to support scaling to zero replicas",
    kinds=HPA_ONLY,
)
FIELDS.known(
    "metric-type",
    title="A metric of an unknown type",
    why="The type selects the block that is read.",
    fix="write one of the types that the message lists",
    example='Unsupported value: "Cpu": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
    kinds=(*BOTH, *HVPA_ONLY),
)
FIELDS.known(
    "metric-source",
    title="A metric without the block of its type, or with another block",
    why="A metric has exactly the block that its type names.",
    fix="write that block and no other",
    example="Required value: must populate information for the given metric source",
    kinds=(*BOTH, *HVPA_ONLY),
)
FIELDS.known(
    "resource-name",
    title="A resource that containers do not have",
    why="Only names of container resources are accepted, and only cpu and memory are ever available as metrics.",
    fix="write cpu or memory",
    example='Invalid value: "storage": must be a standard resource for containers',
)
FIELDS.known(
    "container-name",
    title="A metric or a policy for one container without its name",
    why="A ContainerResource metric measures one container of the pod. A container policy applies to one container, or "
    "to all others if its name is *.",
    fix="write the name of a container of the pod template; * only in a policy",
    example="Required value: must specify a container",
    kinds=(*HPA_ONLY, *SIZING),
)
FIELDS.known(
    "metric-name",
    title="A metric without a valid name",
    why="The name selects the series and becomes part of a request path.",
    fix="write the name as the metrics API serves it, without / and %",
    example="Invalid value: \"a/b\": may not contain '/'",
    kinds=(*BOTH, *HVPA_ONLY, *AUTOSCALER_ONLY),
)
FIELDS.known(
    "metric-target",
    title="A target that this metric source does not support",
    why="Resource metrics take a utilisation or an averageValue, Pods an averageValue, Object and External a value "
    "or an averageValue.",
    fix="write exactly one of the fields that the source takes",
    example="Required value: must set either a target raw value or a target utilization",
)
FIELDS.known(
    "target-type",
    title="A target of an unknown type",
    why="Only Utilization, Value and AverageValue exist.",
    fix="write the type that belongs to the field",
    example='Invalid value: "Percent": must be either Utilization, Value, or AverageValue',
)
FIELDS.known(
    "target-value",
    title="A target that is not positive",
    why="Usage is divided by it.",
    fix="write an amount above 0",
    example='Invalid value: "0": must be positive',
)
FIELDS.known(
    "utilization",
    title="A utilisation below one percent",
    why="Usage is divided by it.",
    fix="write a whole percentage of 1 or more",
    example="Invalid value: 0: must be greater than 0",
)
FIELDS.known(
    "window",
    title="A stabilisation window out of range",
    why="0 to 3600 seconds are accepted.",
    fix="write at most 3600",
    example="Invalid value: 7200: must be less than or equal to 3600",
)
FIELDS.known(
    "select-policy",
    title="An unknown selectPolicy",
    why="Max uses the policy that allows the most change, Min the one that allows the least, Disabled stops scaling in "
    "this direction.",
    fix="write Max, Min or Disabled",
    example='Unsupported value: "Median": supported values: "Disabled", "Max", "Min"',
)
FIELDS.known(
    "policies",
    title="An empty list of policies",
    why="An absent list gets defaults; an empty list is rejected.",
    fix="leave policies out for the defaults, or write at least one",
    example="Required value: must specify at least one Policy",
)
FIELDS.known(
    "tolerance",
    title="A tolerance out of range",
    why="It is a fraction: not negative, and for a WatermarkPodAutoscaler at most 1.",
    fix="write 0.1 or 100m for ten percent",
    example='Invalid value: "-100m": must be greater than or equal to 0',
    kinds=(*BOTH, *HVPA_ONLY),
)
FIELDS.known(
    "policy-type",
    title="A policy of an unknown type",
    why="A policy allows a number of pods, or a percentage of them.",
    fix="write Pods or Percent",
    example='Unsupported value: "Pod": supported values: "Percent", "Pods"',
)
FIELDS.known(
    "policy-value",
    title="A policy that allows nothing",
    why="To stop scaling in a direction, use selectPolicy: Disabled.",
    fix="write 1 or more",
    example="Invalid value: 0: must be greater than zero",
)
FIELDS.known(
    "policy-period",
    title="A policy period out of range",
    why="1 to 1800 seconds are accepted.",
    fix="write at most 1800, and at least 15 for it to matter",
    example="Invalid value: 3600: must be less than or equal to 1800",
)
FIELDS.known(
    "limit-factor",
    title="A limit factor out of range",
    why="A percentage per move: 0 or more for scale-up, 0 to below 100 for scale-down; 0 switches the direction off.",
    fix="write a percentage in that range",
    example="Invalid value: 100: must be at least 0 and less than 100",
    kinds=WPA_ONLY,
)
FIELDS.known(
    "range",
    title="A number out of range",
    why="For a WatermarkPodAutoscaler, windows and the modulo are at least 1, delays at least 0, and the percentage is "
    "at most 100. For sizes, minReplicas, intervals, their number and factors are at least 1, and boost durations at "
    "least 0.",
    fix="write a number in that range",
    example="Invalid value: 120: must be less than or equal to 100",
    kinds=(*WPA_ONLY, *SIZING),
)
FIELDS.known(
    "algorithm",
    title="An unknown algorithm",
    why="The controller would treat any other word as absolute.",
    fix="write absolute or average",
    example='Unsupported value: "mean": supported values: "absolute", "average"',
    kinds=WPA_ONLY,
)
FIELDS.known(
    "converge",
    title="An unknown watermark to converge towards",
    why="The controller would treat any other word as off.",
    fix="write highwatermark or lowwatermark",
    example='Unsupported value: "middle": supported values: "highwatermark", "lowwatermark"',
    kinds=WPA_ONLY,
)
FIELDS.known(
    "metrics-or-recommender",
    title="Neither metrics nor a recommender, or both",
    why="With neither, the controller would scale the target down to the minimum, step by step.",
    fix="write one of them",
    example="Required value: needs metrics or a recommender",
    kinds=WPA_ONLY,
)
FIELDS.known(
    "metric-selector",
    title="A metric without a selector",
    why="The controller stops at a metric without a selector.",
    fix="write metricSelector; {} matches every series",
    example="Required value: must be set",
    kinds=WPA_ONLY,
)
FIELDS.known(
    "selector",
    title="An invalid selector",
    why="An expression has a key, an operator, and values for In and NotIn only. At most 100 labels and 100 "
    "expressions are allowed. The labels of an Hvpa's template must match the selector of its block.",
    fix="write key, operator and, for In and NotIn, values",
    example='Unsupported value: "Within": supported values: "DoesNotExist", "Exists", "In", "NotIn"',
    kinds=(*WPA_ONLY, *HVPA_ONLY, *AUTOSCALER_ONLY),
)
FIELDS.known(
    "metric-count",
    title="Too many metrics",
    why="The API server validates each metric when the object is written, and limits the cost of that.",
    fix="split the workload, or combine metrics at their source",
    example="Too many: 16: must have at most 15 items",
    kinds=(*WPA_ONLY, *HVPA_ONLY),
)
FIELDS.known(
    "watermark",
    title="Watermarks that do not form a band",
    why="The value is divided by them, and the low watermark must not be above the high one.",
    fix="write highWatermark above 0, and lowWatermark not above it",
    example='Invalid value: "30": must not be below the low watermark',
    kinds=WPA_ONLY,
)
FIELDS.known(
    "recommender-url",
    title="A recommender without a valid address",
    why="The controller queries it over HTTP.",
    fix="write an http or https address of at most 2048 characters",
    example='Invalid value: "ftp://recommender": must be an http or https address',
    kinds=WPA_ONLY,
)
FIELDS.known(
    "tls-version",
    title="An unknown TLS version",
    why="Only the listed versions are supported.",
    fix="write TLS12 or TLS13",
    example='Unsupported value: "SSL3": supported values: "TLS10", "TLS11", "TLS12", "TLS13"',
    kinds=WPA_ONLY,
)
