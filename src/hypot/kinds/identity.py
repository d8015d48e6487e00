"""Under which names each kind is served: what objects are recognised by before the class of their kind is imported."""

from typing import NamedTuple


class Identity(NamedTuple):
    """Its name, and the API versions with the newest first."""

    kind: str
    api_version: str
    former_versions: tuple[str, ...] = ()


AUTOSCALING_V1, AUTOSCALING_V2BETA1 = "autoscaling/v1", "autoscaling/v2beta1"
HPA = Identity(
    "HorizontalPodAutoscaler", "autoscaling/v2", (AUTOSCALING_V1, AUTOSCALING_V2BETA1, "autoscaling/v2beta2")
)
WPA = Identity("WatermarkPodAutoscaler", "datadoghq.com/v1alpha1")
VPA = Identity(
    "VerticalPodAutoscaler", "autoscaling.k8s.io/v1", ("autoscaling.k8s.io/v1beta2", "autoscaling.k8s.io/v1beta1")
)
CHECKPOINT = Identity("VerticalPodAutoscalerCheckpoint", VPA.api_version, VPA.former_versions)
HVPA = Identity("Hvpa", "autoscaling.k8s.io/v1alpha1", ("autoscaling.gardener.cloud/v1alpha1",))
TORTOISE = Identity(
    "Tortoise",
    "autoscaling.mercari.com/v1beta3",
    ("autoscaling.mercari.com/v1beta2", "autoscaling.mercari.com/v1beta1", "autoscaling.mercari.com/v1alpha1"),
)
# The key of its list of conditions, in the `conditions` of its status.
TORTOISE_CONDITIONS = "tortoiseConditions"
AUTOSCALER = Identity("Autoscaler", "hypot.dev/v1alpha1")
