"""Random manifests of all kinds."""

from hypothesis import strategies as st

from cluster.fuzz import both_axes, sizes, watermarks
from property.kinds.test_kinds import authored
from property.picks import among

NAMES = among("web", "api-2", "on", "1e3")
_BOUNDS = st.fixed_dictionaries(
    {"containerName": among("app", "yes")},
    optional={
        "minAllocatedResources": st.just({"cpu": "100m"}),
        "maxAllocatedResources": st.just({"cpu": "4", "memory": "4Gi"}),
    },
)
_POLICIES = st.fixed_dictionaries({}, optional=dict.fromkeys(("cpu", "memory"), among("Off", "Horizontal", "Vertical")))
_SCALED = st.fixed_dictionaries({"containerName": among("app", "yes"), "policy": _POLICIES})
_UP = st.sampled_from(
    [{}, {"scaleUp": {"stabilizationWindowSeconds": 60}}, {"scaleDown": {"selectPolicy": "Disabled"}}]
)
_TORTOISE = st.fixed_dictionaries(
    {
        "targetRefs": st.fixed_dictionaries(
            {"scaleTargetRef": st.just({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})},
            optional={"horizontalPodAutoscalerName": NAMES},
        )
    },
    optional={
        "updateMode": among("Off", "Auto", "Emergency"),
        "resourcePolicy": st.lists(_BOUNDS, max_size=2, unique_by=lambda one: one["containerName"]),
        "deletionPolicy": among("DeleteAll", "NoDelete"),
        "autoscalingPolicy": st.lists(_SCALED, max_size=2, unique_by=lambda one: one["containerName"]),
        "maxReplicas": st.integers(1, 9),
        "horizontalPodAutoscalerBehavior": _UP,
    },
)
tortoises = st.builds(
    lambda name, spec: {
        "apiVersion": "autoscaling.mercari.com/v1beta3",
        "kind": "Tortoise",
        "metadata": {"name": name},
        "spec": spec,
    },
    NAMES,
    _TORTOISE,
)
_AUTOSCALER = st.fixed_dictionaries(
    {"targetRef": st.just({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})},
    optional={
        "updateMode": among("Off", "Auto"),
        "axes": among("Both", "Replicas", "Size"),
        "minReplicas": st.integers(1, 3),
        "maxReplicas": st.integers(3, 9),
        "resourcePolicy": st.just({"containerPolicies": [{"containerName": "app", "maxAllowed": {"cpu": "4"}}]}),
        "objective": st.sampled_from([{}, {"late": {"after": "1s", "price": 2.5}}]),
        "metrics": st.sampled_from(
            [
                {"requests": {"name": "rps"}},
                {"requests": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}, "late": {"name": "late"}},
            ]
        ),
    },
)
autoscalers = st.builds(
    lambda name, spec: {
        "apiVersion": "hypot.dev/v1alpha1",
        "kind": "Autoscaler",
        "metadata": {"name": name},
        "spec": spec,
    },
    NAMES,
    _AUTOSCALER,
)
# Sound manifests of all kinds, as a cluster could have them.
manifests = st.one_of(
    authored.map(lambda made: made.to_dict()), both_axes.sound, sizes.sound, watermarks.sound, tortoises, autoscalers
)
