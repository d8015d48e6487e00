"""The words for the rules over Hvpas that the kind itself reports: intervals, overlap, windows and sources."""

from hypot.lint.rule import HVPA_ONLY, RuleFamily

HVPA_FIELDS = RuleFamily(
    "Fields of intervals",
    "What is refused in an Hvpa beside its templates, and what is accepted there and reads otherwise.",
    kinds=HVPA_ONLY,
)

HVPA_FIELDS.known(
    "scaling-intervals",
    title="An Hvpa without scaling intervals, or with too many",
    why="Intervals say how many replicas a total is for; without any, nothing can be decided. At most 50 are read.",
    fix="write at least one interval with maxReplicas and maxResources; one interval may span many counts",
    example="Required value: needs at least one interval",
)
HVPA_FIELDS.known(
    "interval-replicas",
    title="Counts of intervals that are missing, repeated or out of order",
    why="Every count belongs to exactly one interval: maxReplicas rises from each to the next, begins at minReplicas "
    "or above and ends at 10000. Only the last interval may leave it to the hpa block.",
    fix="write a maxReplicas in each interval, each greater than the one before",
    example="Invalid value: 2: must be greater than 2, where the interval before it ends",
)
HVPA_FIELDS.known(
    "interval-size",
    title="An interval without a size",
    why="A total is a count times the size of a pod. A resource that neither the interval nor maxAllowed has a size "
    "for would have no count; only horizontalOnly keeps pods at the size they have.",
    fix="write cpu and memory in maxResources, or maxAllowed in the container policies",
    example="Required value: must be set where maxAllowed says nothing of it",
)
HVPA_FIELDS.known(
    "interval-resource",
    title="A size of something that pods are not sized by",
    why="Only cpu and memory are ever recommended.",
    fix="keep cpu and memory",
    example='Unsupported value: "3Gi": is no resource that pods are sized by',
)
HVPA_FIELDS.known(
    "interval-bounds",
    title="A size that no container may have",
    why="Below minAllowed the interval could never be used; above the maxAllowed of every container it would never be "
    "reached.",
    fix="move the size between minAllowed and maxAllowed, or move those",
    example='Invalid value: "500m": must not be below minAllowed, which is 1',
)
HVPA_FIELDS.known(
    "interval-total",
    title="An interval that is less in total than the one before it",
    why="Totals must rise with the counts. Otherwise a total would be for two counts, or for none.",
    fix="raise maxReplicas or maxResources until their product is more than that of the interval before",
    example='Invalid value: "400m": in total 4 x 400m = 1600m of cpu, which must be more than the 2 of the interval '
    "before it",
)
HVPA_FIELDS.known(
    "extrapolation",
    title="An unknown effectiveIntervalExtrapolation",
    why="linear divides the totals evenly, linearPerPod the sizes, horizontalOnly keeps the size; others are not "
    "built.",
    fix="write linear, linearPerPod or horizontalOnly, or leave it out for linear",
    example='Unsupported value: "logarithmic": supported values: "horizontalOnly", "linear", "linearPerPod"',
)
HVPA_FIELDS.known(
    "overlap",
    title="An overlap as wide as an interval",
    why="The overlap keeps a count below its interval while scaling down. Wider than the interval below, it would pass "
    "over a whole count. It is meant of all pods together.",
    fix="write less than the narrowest interval spans, or a percentage",
    example='Invalid value: "500m": must be less than 500m, which is all that the narrowest interval spans',
)
HVPA_FIELDS.known(
    "percentage",
    title="A percentage out of range",
    why="No share is negative, and an overlap is at most the whole.",
    fix="write 0 or more, and for an overlap at most 100",
    example="Invalid value: 101: must be less than or equal to 100",
)
HVPA_FIELDS.known(
    "stabilization",
    title="A stabilizationDuration that is none",
    why="It is a duration as Go writes it, and not negative.",
    fix="write 90s, 3m or 1h30m",
    example='Invalid value: "3 minutes": must be a duration that is not negative',
)
HVPA_FIELDS.known(
    "maintenance-window",
    title="A maintenance window that is missing or cannot be read",
    why="The mode MaintenanceWindow scales only within maintenanceTimeWindow; without one it would never scale.",
    fix="write begin and end as HHMMSS and a zone, such as 220000+0100",
    example="Required value: must be set: scaleUp has the mode MaintenanceWindow",
)
HVPA_FIELDS.known(
    "weight",
    title="A weight-based interval that is none",
    why="A weight is a percentage, and an interval ends at its first count or above; at most 50 are read.",
    fix="write vpaWeight from 0 to 100 and counts in order, or better scalingIntervals",
    example="Invalid value: 101: must be between 0 and 100",
)
HVPA_FIELDS.known(
    "weights-and-intervals",
    title="Weights and scaling intervals in one manifest",
    why="They are two answers to one question, and only scalingIntervals are decided by.",
    fix="remove weightBasedScalingIntervals",
    example="Forbidden: must not stand beside scalingIntervals, which take its place",
)
HVPA_FIELDS.known(
    "recommendations",
    title="An unknown source of recommendations",
    why="The annotation hypot.dev/recommendations says whose recommendations count: hypot's own, or those in the "
    "status of HPA and VPA objects.",
    fix="write own or objects",
    example='Unsupported value: "theirs": supported values: "objects", "own"',
)
HVPA_FIELDS.known(
    "last-interval",
    "warning",
    title="The last interval and the hpa block end at different counts",
    why="maxReplicas of the hpa block bounds what the HPA may ask for; the last interval bounds the Hvpa.",
    fix="write the same count in both",
    example="differs from maxReplicas of the hpa block, which is 10: it bounds the HPA's wish only",
)
HVPA_FIELDS.known(
    "deploy-absent",
    "warning",
    title="An hpa or vpa block without deploy",
    why="A block that is absent means hypot's own recommender; one without deploy means none, as in the released API.",
    fix="write deploy: true or deploy: false",
    example="is absent, which means false: the block is there, and still no source of recommendations",
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
    "unread-field",
    "warning",
    title="A field of the released controller beside scaling intervals",
    why="scaleUp, scaleDown and limitsRequestsGapScaleParams moved from the hpa and vpa blocks to the spec, where they "
    "are meant of totals; in the blocks they are not read.",
    fix="move them to the spec; amounts are of all pods together there",
    example="is not read beside scalingIntervals: what counts is spec.scaleUp",
)
