"""Texts of the rules that all kinds share and of the rules for updates: what the API server rejects."""

from hypot.lint.rule import AUTOSCALER_ONLY, BOTH, EVERY, HPA_ONLY, HVPA_ONLY, POINTING, RuleFamily

OBJECTS = RuleFamily(
    "Objects", "What the API server rejects in any object: metadata, types, references and bounds.", kinds=EVERY
)
UPDATES = RuleFamily(
    "Updates",
    "What the API server rejects when an existing object is changed, or its status or scale is written. "
    "`hypot lint` sees one state of each object and does not report these.",
    kinds=HPA_ONLY,
)

OBJECTS.known(
    "name",
    title="The name of the object",
    why="Names become part of host names and paths: lower case letters, digits, `-` and `.`, at most 253 characters.",
    fix="use lower case letters, digits, '-' and '.'",
    example='Invalid value: "Web": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '
    "'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation "
    r"is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
)
OBJECTS.known(
    "namespace",
    title="The namespace of the object",
    why="A namespace is a DNS label: lower case letters, digits and `-`, at most 63 characters.",
    fix="use lower case letters, digits and '-'",
    example='Invalid value: "Shop": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '
    "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
    "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
)
OBJECTS.known(
    "labels",
    title="An invalid label",
    why="Labels are looked up by value, so keys and values are short and have a limited character set.",
    fix="keep to letters, digits, '-', '_' and '.', at most 63 of them; use an annotation for anything longer",
    example="Invalid value: \"a b\": a valid label must be an empty string or consist of alphanumeric characters, '-', "
    "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
)
OBJECTS.known(
    "annotations",
    title="An invalid annotation",
    why="Keys are qualified names; all annotations of an object together hold at most 256 KiB.",
    fix="keep to letters, digits, '-', '_' and '.', with at most one prefix before a slash",
    example="Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
)
OBJECTS.known(
    "owner-references",
    title="An owner that is not fully named, or a second controller",
    why="When an owner is deleted, the object is deleted with it, so each owner must be identified exactly. At most "
    "one owner controls the object. Objects that an Hvpa creates from its templates belong to the Hvpa, so the "
    "templates have no owners.",
    fix="write apiVersion, kind, name and uid of each owner, and controller: true for at most one",
    example='Invalid value: "": must not be empty',
)
OBJECTS.known(
    "finalizers",
    title="An invalid finalizer",
    why="Finalizers are qualified names; an object is deleted before its dependents or after them, not both.",
    fix="write names such as example.com/guard, and orphan or foregroundDeletion but not both",
    example="Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
    "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
)
OBJECTS.known(
    "type",
    title="A value of the wrong type",
    why="The API server cannot decode the object.",
    fix="write a value of the expected type; quotes turn a number into text",
    example="json: cannot unmarshal string into Go struct field HorizontalPodAutoscalerSpec.spec.maxReplicas of type "
    "int32",
)
OBJECTS.known(
    "quantity",
    title="An amount that is not a quantity",
    why="Amounts are decimal numbers with at most one suffix that Kubernetes knows. Sizes are not negative.",
    fix="write a quantity such as 500m, 2, 512Mi or 1.5Gi",
    example='Invalid value: "512MB": quantities must match the regular expression '
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    kinds=POINTING,
)
OBJECTS.known(
    "unknown-field",
    title="A field that does not exist",
    why="Usually a typing mistake or wrong indentation. kubectl rejects it; without strict decoding it is dropped and "
    "the default applies.",
    fix="correct the name or move it to where it belongs",
    example='strict decoding error: unknown field "spec.maxReplica"',
)
OBJECTS.known(
    "reference-kind",
    title="A reference without a kind",
    why="Kind and name identify the object.",
    fix="write the kind, such as Deployment",
    example="Required value",
    kinds=POINTING,
)
OBJECTS.known(
    "reference-name",
    title="A reference without a name",
    why="Kind and name identify the object.",
    fix="write the name of an object in the same namespace",
    example="Required value",
    kinds=POINTING,
)
OBJECTS.known(
    "reference-version",
    title="A reference without an API group",
    why="From Kubernetes 1.34 on the target must name its API group; only ReplicationController has none. "
    "A VerticalPodAutoscaler or an Hvpa may leave it out, but a value that is set must be a group and a version.",
    fix="write the group and version, such as apps/v1",
    example='Invalid value: "v1": apiVersion must specify API group',
    kinds=POINTING,
)
OBJECTS.known(
    "min-replicas",
    title="minReplicas too low",
    why="0 is allowed from Kubernetes 1.37 on, and only for an HPA.",
    fix="write 1 or more, or 0 where it is allowed",
    example="Invalid value: -1: must be greater than or equal to 0",
    kinds=(*BOTH, *HVPA_ONLY, *AUTOSCALER_ONLY),
)
OBJECTS.known(
    "max-replicas",
    title="maxReplicas missing or too low",
    why="Without an upper bound a runaway metric would fill the cluster.",
    fix="write 1 or more",
    example="Required value: must be set and greater than 0",
    kinds=(*BOTH, *HVPA_ONLY, *AUTOSCALER_ONLY),
)
OBJECTS.known(
    "min-over-max",
    title="minReplicas above maxReplicas",
    why="No count satisfies both. The maxReplicas of an Autoscaler is 100 if absent.",
    fix="swap them, or raise maxReplicas",
    example="Invalid value: 10: must be greater than or equal to `minReplicas`",
    kinds=(*BOTH, *HVPA_ONLY, *AUTOSCALER_ONLY),
)
OBJECTS.known(
    "not-negative",
    title="A negative count",
    why="Replicas and generations are counted from 0.",
    fix="write 0 or more",
    example="Invalid value: -1: must be greater than or equal to 0",
    kinds=(*HPA_ONLY, *HVPA_ONLY, "Scale"),
)

UPDATES.known(
    "resource-version",
    title="An update without a resource version",
    why="It says which state of the object the update is based on.",
    fix="read the object, change it, and send it back whole",
    example='Invalid value: "": must be specified for an update',
)
UPDATES.known(
    "generation",
    title="An update that lowers the generation",
    why="The cluster counts the changes of an object; the count only rises.",
    fix="leave metadata.generation as it was read",
    example="Invalid value: 1: must not be decremented",
)
UPDATES.known(
    "immutable",
    title="An update that changes the identity of the object",
    why="Name, namespace, uid and creation are fixed for the life of an object.",
    fix="make a new object and delete the old one",
    example='Invalid value: "api": field is immutable',
)
UPDATES.known(
    "managed-fields",
    title="managedFields of an unknown operation",
    why="The cluster maintains this list itself; a manifest should not contain it.",
    fix="remove metadata.managedFields",
    example='Unsupported value: "Replace": supported values: "Apply", "Update"',
    kinds=("Scale",),
)
