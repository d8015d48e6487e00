"""Texts of the rules for Hvpas that the kind itself reports: intervals, overlap, windows and sources."""

from hypot.lint.rule import HVPA_ONLY, RuleFamily

HVPA_FIELDS = RuleFamily(
    "Fields of intervals",
    "What is rejected in an Hvpa outside its templates, and what is accepted there but means something unexpected.",
    kinds=HVPA_ONLY,
)

HVPA_FIELDS.known(
    "scaling-intervals",
    title="An Hvpa without scaling intervals, or with too many",
    why="Intervals map a total to a replica count; without intervals nothing can be decided. At most 50 are allowed.",
    fix="write at least one interval with maxReplicas and maxResources; one interval may span many counts",
    example="Required value: needs at least one interval",
)
HVPA_FIELDS.known(
    "interval-replicas",
    title="Interval counts that are missing, repeated or out of order",
    why="Every count belongs to exactly one interval: maxReplicas rises from interval to interval, starts at "
    "minReplicas or above and is at most 10000. Only the last interval may leave it out and use that of the hpa block.",
    fix="write a maxReplicas in each interval, each greater than the one before",
    example="Invalid value: 2: must be greater than 2, where the interval before it ends",
)
HVPA_FIELDS.known(
    "interval-size",
    title="An interval without a size",
    why="A total is a count times the size of a pod. Without a size in the interval or in maxAllowed, a total of that "
    "resource has no count. Only horizontalOnly keeps pods at their current size.",
    fix="write a size of this resource in every interval, or maxAllowed in the container policies; or, to leave the "
    "resource alone, controlledResources without it",
    example="Required value: must be set if maxAllowed does not set it",
)
HVPA_FIELDS.known(
    "interval-resource",
    title="A size for a resource that pods are not sized by",
    why="Only cpu and memory are recommended.",
    fix="keep cpu and memory",
    example='Unsupported value: "3Gi": is not a resource that pods are sized by',
)
HVPA_FIELDS.known(
    "interval-bounds",
    title="A size that no container may have",
    why="Below minAllowed the interval could never be used; above the maxAllowed of every container it would never be "
    "reached.",
    fix="choose a size between minAllowed and maxAllowed, or change those bounds",
    example='Invalid value: "500m": must not be below minAllowed, which is 1',
)
HVPA_FIELDS.known(
    "interval-total",
    title="An interval whose total is not above that of the interval before it",
    why="Totals must rise with the counts. Otherwise a total would map to two counts, or to none.",
    fix="raise maxReplicas or maxResources until their product is more than that of the interval before",
    example='Invalid value: "400m": in total 4 x 400m = 1600m of cpu, which must be more than the 2 of the interval '
    "before it",
)
HVPA_FIELDS.known(
    "extrapolation",
    title="An unknown effectiveIntervalExtrapolation",
    why="linear divides the totals evenly, linearPerPod the sizes, horizontalOnly keeps the size; others are not "
    "implemented.",
    fix="write linear, linearPerPod or horizontalOnly, or leave it out for linear",
    example='Unsupported value: "logarithmic": supported values: "horizontalOnly", "linear", "linearPerPod"',
)
HVPA_FIELDS.known(
    "overlap",
    title="An overlap as wide as an interval",
    why="The overlap keeps a count below its interval while scaling down. If it were wider than the interval below, it "
    "would skip a whole count. It is an amount for all pods together.",
    fix="write less than the narrowest interval spans, or a percentage",
    example='Invalid value: "500m": must be less than 500m, the width of the narrowest interval',
)
HVPA_FIELDS.known(
    "overlap-of-all",
    "warning",
    title="An overlap of 100 percent",
    why="The overlap lowers the total below which a replica is removed. With 100 percent that is 0, so replicas are "
    "only ever added, unless minAllowed keeps pods larger than their share of the total.",
    fix="write less than 100, or minAllowed in the container policies, below which replicas are removed",
    example="is 100, so no replica is ever removed: no total is below an interval that begins at 0",
)
HVPA_FIELDS.known(
    "base-load",
    "warning",
    title="A base load of a whole pod",
    why="baseResourcesPerReplica is what a replica uses without any load. If that is all that a pod requests, nothing "
    "is left to divide between replicas, and hypot ignores it.",
    fix="write what one replica uses without any load: less than maxResources of every interval",
    example="leaves nothing of the 1 that a pod may have at up to 2 replicas",
)
HVPA_FIELDS.known(
    "percentage",
    title="A percentage out of range",
    why="Percentages are not negative, and an overlap is at most 100 %.",
    fix="write 0 or more, and for an overlap at most 100",
    example="Invalid value: 101: must be less than or equal to 100",
)
HVPA_FIELDS.known(
    "stabilization",
    title="An invalid stabilizationDuration",
    why="It is a duration in Go syntax, and not negative.",
    fix="write 90s, 3m or 1h30m",
    example='Invalid value: "3 minutes": must be a duration that is not negative',
)
HVPA_FIELDS.known(
    "maintenance-window",
    title="A maintenance window that is missing or cannot be read",
    why="The mode MaintenanceWindow scales only within maintenanceTimeWindow; without one it would never scale.",
    fix="write begin and end as HHMMSS and a zone offset, such as 220000+0100",
    example="Required value: must be set: scaleUp has the mode MaintenanceWindow",
)
HVPA_FIELDS.known(
    "weight",
    title="An invalid weight-based interval",
    why="A weight is a percentage, and an interval ends at its first count or above; at most 50 are allowed.",
    fix="write vpaWeight from 0 to 100 and counts in order, or better scalingIntervals",
    example="Invalid value: 101: must be between 0 and 100",
)
HVPA_FIELDS.known(
    "weights-and-intervals",
    title="Weights and scaling intervals in one manifest",
    why="They are alternatives, and hypot decides by scalingIntervals only.",
    fix="remove weightBasedScalingIntervals",
    example="Forbidden: must not be used together with scalingIntervals, which replace it",
)
HVPA_FIELDS.known(
    "recommendations",
    title="An unknown source of recommendations",
    why="The annotation hypot.dev/recommendations selects the recommendations to use: hypot's own, or those in the "
    "status of HPA and VPA objects.",
    fix="write own or objects",
    example='Unsupported value: "theirs": supported values: "objects", "own"',
)
HVPA_FIELDS.known(
    "last-interval",
    "warning",
    title="The last interval and the hpa block end at different counts",
    why="maxReplicas of the hpa block bounds only the counts that metrics propose; the last interval bounds the Hvpa.",
    fix="write the same count in both",
    example="differs from maxReplicas of the hpa block, which is 10: it bounds the HPA's proposal only",
)
HVPA_FIELDS.known(
    "deploy-absent",
    "warning",
    title="An hpa or vpa block without deploy",
    why="An absent block means hypot's own recommender. A block without deploy means no recommender, as in the "
    "released API.",
    fix="write deploy: true or deploy: false",
    example="is absent, which means false: the block is present but not a source of recommendations",
)
HVPA_FIELDS.known(
    "no-source",
    "warning",
    title="An Hvpa without any source of recommendations",
    why="With deploy: false in both blocks nothing is recommended, so nothing is ever scaled.",
    fix="write deploy: true in one of them, or remove the block",
    example="neither the hpa nor the vpa block is deployed, so nothing is ever recommended",
)
HVPA_FIELDS.known(
    "min-change",
    "warning",
    title="A minimum change of 0",
    why="Usage is never exactly the same twice. Without a minimum change, pods are resized at every look and never "
    "rest. Of a value and a percentage the smaller applies.",
    fix="write a percentage of 5 or more, or leave it out: 200m and 200M are the default",
    example="is 0, so every little change of usage changes the size of pods",
)
HVPA_FIELDS.known(
    "unread-field",
    "warning",
    title="A field of the released controller together with scaling intervals",
    why="scaleUp, scaleDown and limitsRequestsGapScaleParams moved from the hpa and vpa blocks to the spec, where they "
    "apply to totals; in the blocks they are ignored.",
    fix="move them to the spec; amounts there are for all pods together",
    example="is ignored when scalingIntervals are set: spec.scaleUp is used",
)
