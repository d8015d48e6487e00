"""Texts of the rules for Tortoises that the kind itself reports: policies, the HPA, settings and former versions."""

from hypot.lint.rule import TORTOISE_ONLY, RuleFamily
from hypot.lint.rules.own.objects import UPDATES

TORTOISE_FIELDS = RuleFamily(
    "Fields of Tortoises",
    "What is rejected in a Tortoise, and what is accepted there but has no effect.",
    kinds=TORTOISE_ONLY,
)

TORTOISE_FIELDS.known(
    "autoscaling-policy",
    title="An unknown policy for a resource, or none",
    why="A resource is scaled by replicas (Horizontal), by size (Vertical) or not at all (Off). As soon as one policy "
    "is written, everything that is not written is Off.",
    fix="write Horizontal, Vertical or Off, or leave autoscalingPolicy out for automatic policies",
    example='Unsupported value: "Both": supported values: "Horizontal", "Off", "Vertical"',
)
TORTOISE_FIELDS.known(
    "deletion-policy",
    title="An unknown deletionPolicy",
    why="DeleteAll deletes the HPA that was made for a Tortoise together with it; NoDelete leaves it.",
    fix="write DeleteAll or NoDelete",
    example='Unsupported value: "Delete": supported values: "DeleteAll", "NoDelete"',
)
TORTOISE_FIELDS.known(
    "hpa-name",
    title="A name that no HorizontalPodAutoscaler can have",
    why="The name must be that of an HPA that exists; without it, an HPA is made.",
    fix="write the name of an HPA in the same namespace, or leave the field out",
    example='Invalid value: "": must not be empty',
)
TORTOISE_FIELDS.known(
    "hpa-unused",
    severity="warning",
    title="A named HPA although no resource is Horizontal",
    why="Only Horizontal resources are in the HPA, so it would never be edited.",
    fix="make a resource Horizontal, or leave the name out",
    example="is never edited: no resource is Horizontal",
)
TORTOISE_FIELDS.known(
    "decide",
    title="An unreadable hypot.dev/decide",
    why="With true, hypot decides the number of replicas itself and no other controller is needed. Any other word "
    "would be read as false.",
    fix='write "true" or "false"',
    example='Unsupported value: "yes please": supported values: "false", "true"',
)
TORTOISE_FIELDS.known(
    "tortoise-setting",
    title="An annotation that overrides a setting, and has no effect",
    why="A value that is invalid, or that contradicts another setting, is ignored: the setting of the namespace or of "
    "the administrator applies. It is a warning if only the default of another setting contradicts it.",
    fix="see docs/settings.md for the settings of Tortoises and their values",
    example='Invalid value: "none": is not a whole number such as 2',
)
TORTOISE_FIELDS.known(
    "old-field",
    severity="warning",
    title="A field at the place of an old version",
    why="It is read where that is possible. The original controller drops it in silence.",
    fix="move it to the place of v1beta3",
    example="is the form of an old version; it is read as spec.autoscalingPolicy, but an API server rejects it",
)
UPDATES.known(
    "emergency-phase",
    title="Emergency before anything is learned",
    why="Emergency raises the minimum to the learned maximum, which does not exist yet. A Tortoise that is created "
    "with Emergency uses the maximum of the HPA that it names instead.",
    fix="wait for the phase Working, or raise the minimum of the HPA by hand",
    example='Invalid value: "Emergency": Emergency needs learned bounds: the phase must be Working, PartlyWorking, '
    "Emergency, BackToNormal",
    kinds=TORTOISE_ONLY,
)
UPDATES.known(
    "last-horizontal",
    title="The last Horizontal resource is removed, and its HPA would stay",
    why="An HPA without metrics keeps its replicas forever.",
    fix="set deletionPolicy to DeleteAll, or remove horizontalPodAutoscalerName",
    example='Invalid value: "NoDelete": must be DeleteAll when the last Horizontal resource is removed, because its '
    "HPA is deleted",
    kinds=TORTOISE_ONLY,
)
