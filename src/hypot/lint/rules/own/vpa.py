"""Texts of the rules for sizes that the kinds report: what schema and webhook of a VPA reject, and more."""

from hypot.kinds.vpa.rules import INSTEAD_OF_AUTO
from hypot.lint.rule import CHECKPOINT_ONLY, SIZING, VPA_ONLY, RuleFamily

VPA_FIELDS = RuleFamily(
    "Fields of sizes",
    "What is rejected in a VerticalPodAutoscaler, a checkpoint, an Hvpa's VPA template or the resource policy of an "
    "Autoscaler, and what is accepted there but has no effect.",
    kinds=SIZING,
)

VPA_FIELDS.known(
    "target-ref",
    title="A VerticalPodAutoscaler without a target",
    why="It sizes the pods of one workload, and only targetRef identifies it.",
    fix="write targetRef with apiVersion, kind and name of the topmost controller",
    example="Required value: must name the workload whose pods are sized",
    kinds=VPA_ONLY,
)
VPA_FIELDS.known(
    "update-mode",
    title="An update mode that is missing or unknown",
    why="An updatePolicy of a VerticalPodAutoscaler must set the mode; without the block the mode is Recreate. "
    "The directions of an Hvpa have the modes Auto, Off and MaintenanceWindow; the default is Auto. A Tortoise and an "
    "Autoscaler are Off by default.",
    fix="write Off, Initial, Recreate, InPlaceOrRecreate or InPlace; for a direction of an Hvpa Auto, Off or "
    "MaintenanceWindow; for a Tortoise Off, Auto or Emergency, and for an Autoscaler Off or Auto",
    example='Unsupported value: "Always": supported values: "InPlace", "InPlaceOrRecreate", "Initial", "Off", '
    '"Recreate"',
)
VPA_FIELDS.known(
    "auto-mode",
    "warning",
    title="The update mode Auto",
    why="It is deprecated, means Recreate today, and its meaning may change.",
    fix=INSTEAD_OF_AUTO,
    example="Auto is deprecated; today it means Recreate",
    kinds=VPA_ONLY,
)
VPA_FIELDS.known(
    "in-place-version",
    "warning",
    title="In-place resizing on a cluster that does not support it",
    why="Before Kubernetes 1.33 pods cannot be resized: InPlaceOrRecreate evicts, and InPlace never acts.",
    fix="upgrade, or write Recreate",
    example='Invalid value: "InPlace": pods can be resized in place from Kubernetes 1.33 on',
    kinds=VPA_ONLY,
)
VPA_FIELDS.known(
    "eviction-requirement",
    title="An incomplete or invalid eviction requirement",
    why="It names resources and how their target must differ from the request; at most 20 are allowed.",
    fix="write resources and changeRequirement",
    example='Unsupported value: "Higher": supported values: "TargetHigherThanRequests", "TargetLowerThanRequests"',
)
VPA_FIELDS.known(
    "eviction-never",
    "warning",
    title="An eviction requirement that never holds",
    why="Only cpu and memory are compared, so no pod is ever disrupted.",
    fix="write cpu, memory or both, or mode Off if that is intended",
    example="Invalid value: []: names neither cpu nor memory, so it never holds and no pod is ever disrupted",
    kinds=VPA_ONLY,
)
VPA_FIELDS.known(
    "recommender",
    title="More than one recommender, or one without a name",
    why="One recommender writes the status; if none is named, it is the recommender called default.",
    fix="name one, or leave recommenders out",
    example="Too many: 2: must have at most 1 item",
    kinds=VPA_ONLY,
)
VPA_FIELDS.known(
    "startup-boost",
    title="A startup boost without an amount",
    why="Its type says which amount is used: a factor, or a quantity of cpu that is added.",
    fix="write type Factor with factor, or type Quantity with quantity",
    example="Required value: must be set for type Factor",
)
VPA_FIELDS.known(
    "policy-count",
    title="Too many container policies",
    why="The API server compares the bounds of each policy when the object is written, and limits the cost of that.",
    fix="use one policy with the name * for containers with the same settings",
    example="Too many: 16: must have at most 15 items",
)
VPA_FIELDS.known(
    "duplicate-policy",
    "warning",
    title="Two policies for one container",
    why="Of several policies with the same name the first is used, of several for * the last; the others are ignored.",
    fix="merge them",
    example='Duplicate value: "app": has a policy already; only one of them is ever used',
)
VPA_FIELDS.known(
    "container-mode",
    title="An unknown container mode",
    why="Auto sizes the container, Off leaves it alone.",
    fix="write Auto or Off",
    example='Unsupported value: "auto": supported values: "Auto", "Off"',
)
VPA_FIELDS.known(
    "controlled-values",
    title="Controlled values that are unknown, or set for a container that is off",
    why="Either requests and limits are sized, or requests only; with mode Off nothing is sized.",
    fix="write RequestsAndLimits or RequestsOnly, and neither with mode Off",
    example="Forbidden: must not be RequestsAndLimits if the mode is Off",
)
VPA_FIELDS.known(
    "controlled-resources",
    title="A controlled resource that cannot be sized",
    why="Only cpu and memory are recommended.",
    fix="write cpu, memory or both",
    example='Unsupported value: "disk": supported values: "cpu", "memory"',
)
VPA_FIELDS.known(
    "allowed-range",
    title="maxAllowed below minAllowed",
    why="No size satisfies both.",
    fix="swap them, or raise maxAllowed",
    example='Invalid value: "1": must not be below minAllowed, which is 2',
)
VPA_FIELDS.known(
    "resource-count",
    title="Too many resources in one list",
    why="The API server validates each resource when the object is written; only cpu and memory are ever sized.",
    fix="keep cpu and memory",
    example="Too many: 21: must have at most 20 items",
)
VPA_FIELDS.known(
    "ignored-resource",
    "warning",
    title="A bound for a resource that is not sized",
    why="Only cpu and memory are recommended; usually this is a misspelling of one of them.",
    fix="write cpu or memory",
    example='Unsupported value: "1Gi": is ignored: only cpu and memory are sized',
)
VPA_FIELDS.known(
    "whole-amount",
    title="A fraction of a millicore or of a byte",
    why="Sizes are counted in whole millicores and bytes, so the rest would be lost.",
    fix="write cpu with at most three decimals, and memory in Mi or Gi that give whole bytes",
    example='Invalid value: "1500u": must be a whole number of milli CPUs',
)
VPA_FIELDS.known(
    "oom-bump-up",
    title="A bump-up ratio that lowers memory",
    why="After an OOM kill memory is multiplied by this ratio.",
    fix="write 1 or more; 1.2 is what upstream uses",
    example='Invalid value: "0.5": must be greater than or equal to 1',
)
VPA_FIELDS.known(
    "knob",
    title="An unknown knob annotation, or an invalid value",
    why="An invalid value has no effect, and the cluster's own value applies.",
    fix="correct the name or the value; docs/settings.md lists the knobs",
    example='Invalid value: "0": must be above 0 and at most 1',
)
VPA_FIELDS.known(
    "knob-order",
    "warning",
    title="Percentiles out of order",
    why="With a target outside its bounds a pod of the recommended size is disrupted again and again.",
    fix="write lower, target and upper percentile so that each is at most the next",
    example='Invalid value: "0.97": hypot.dev/target-cpu-percentile is above hypot.dev/upper-cpu-percentile, '
    "so a pod of the recommended size would be out of its bounds",
)
VPA_FIELDS.known(
    "vpa-gate",
    title="A field behind a closed gate of the vertical autoscaler",
    why="Its components reject the field until the gate is open. hypot supports the field, and reports this only if "
    "the gate is declared closed, which never happens in `hypot lint`.",
    fix="open the gate in the autoscaler's components, or leave the field out",
    example="Forbidden: is not allowed while the feature gate InPlace is closed",
    kinds=VPA_ONLY,
)
VPA_FIELDS.known(
    "checkpoint-subject",
    title="A checkpoint without an autoscaler or container name",
    why="It belongs to one VerticalPodAutoscaler and one container.",
    fix="write vpaObjectName and containerName",
    example="Required value: must be set",
    kinds=CHECKPOINT_ONLY,
)
VPA_FIELDS.known(
    "checkpoint-ignored",
    "warning",
    title="A checkpoint that no recommender reads",
    why="Recommenders read the format v3, whole buckets and weights that are not negative, and ignore the rest.",
    fix="let the recommender write it again, or delete it",
    example='Invalid value: "v2": only v3 is read, so the checkpoint is ignored',
    kinds=CHECKPOINT_ONLY,
)
