"""Manifests of VerticalPodAutoscalers and their checkpoints: valid ones, and ones with faults in any place."""

from typing import Any

from hypothesis import strategies as st

from cluster.fuzz.changes import Changes, Manifest, changed
from cluster.fuzz.odd_values import MAX_INT32, MAX_INT64, junk, odd_amounts, odd_whole
from cluster.fuzz.watermarks import sound_metadata, targets
from hypot.core.quantity import Quantity
from hypot.kinds.meta import INT64
from hypot.kinds.node import BOOL, INT32, STRING
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.fields import (
    AMOUNT,
    CHANGES,
    CONTAINER_MODES,
    CONTROLLED_VALUES,
    FACTOR,
    FIXED,
    MAX_RESOURCES,
    RESOURCE_LIST,
    RESOURCES,
    TEXT_LIST,
    UPDATE_MODES,
)
from hypot.kinds.vpa.rules import MAX_POLICIES, MAX_REQUIREMENTS

# Valid manifests.

AMOUNTS: dict[str, tuple[str | int, ...]] = {
    "cpu": (0, 1, 2, 64, "1m", "5m", "100m", "0.001", "1.5", "+2", "1e3", "1e-3", "2k", "0.1Ki", "1000u", "3000000n"),
    "memory": (0, 1, 2**33, MAX_INT64, "1", "262144k", "128Mi", "0.5Gi", "1.5Gi", "1e9", "2E", "7Ei", "1000m", "+1G"),
}
containers = st.sampled_from(["app", "*", "a.b", "Ünicode"])
whole = st.sampled_from([1, 2, 60, MAX_INT32])


def _bounds(resource: str) -> st.SearchStrategy[tuple[str | int, str | int]]:
    return st.tuples(*[st.sampled_from(AMOUNTS[resource])] * 2).map(lambda pair: sorted(pair, key=Quantity.parse))


@st.composite
def _ranges(draw: st.DrawFn) -> Manifest:
    """Minimum and maximum of some resources; a third resource is not sized."""
    ends: tuple[Manifest, Manifest] = ({}, {})
    for resource in RESOURCES:
        for end, amount in zip(ends, draw(_bounds(resource)), strict=True):
            if draw(st.booleans()):
                end[resource] = amount
    if draw(st.booleans()):
        ends[1]["example.com/gpu"] = "1500u"
    return {key: end for key, end in zip(("minAllowed", "maxAllowed"), ends, strict=True) if draw(st.booleans())}


durations = {"durationSeconds": st.sampled_from([0, 60])}
cpu_boosts = st.one_of(
    st.fixed_dictionaries({"type": st.just(FACTOR), "factor": whole}, optional=durations),
    st.fixed_dictionaries({"type": st.just(FIXED), "quantity": st.sampled_from(AMOUNTS["cpu"])}, optional=durations),
)
boosts = st.fixed_dictionaries({}, optional={"cpu": cpu_boosts})
modes = st.one_of(
    st.fixed_dictionaries(
        {}, optional={"mode": st.just(CONTAINER_MODES[0]), "controlledValues": st.sampled_from(CONTROLLED_VALUES)}
    ),
    st.fixed_dictionaries(
        {"mode": st.just(CONTAINER_MODES[1])}, optional={"controlledValues": st.just(CONTROLLED_VALUES[1])}
    ),
)
per_container = st.fixed_dictionaries(
    {"containerName": containers},
    optional={
        "controlledResources": st.lists(st.sampled_from(RESOURCES), max_size=3),
        "oomBumpUpRatio": st.sampled_from([1, 2, "1", "1.2", "1000m", "1.0000000001", "1e0"]),
        "oomMinBumpUp": st.sampled_from([0, "0", "100Mi", "1.5", "0.1n"]),
        "memoryAggregationIntervalSeconds": whole,
        "memoryAggregationIntervalCount": st.sampled_from([1, 8, MAX_INT64]),
        "startupBoost": boosts,
    },
)
policies = st.tuples(per_container, modes, _ranges()).map(lambda parts: parts[0] | parts[1] | parts[2])
requirements = st.fixed_dictionaries(
    {
        "resources": st.lists(st.sampled_from([*RESOURCES, "disk"]), max_size=2),
        "changeRequirement": st.sampled_from(CHANGES),
    }
)
update_policies = st.fixed_dictionaries(
    {"updateMode": st.sampled_from(UPDATE_MODES)},
    optional={
        "minReplicas": whole,
        "evictAfterOOMSeconds": whole,
        "evictionRequirements": st.lists(requirements, max_size=2),
    },
)
resource_policies = st.fixed_dictionaries({}, optional={"containerPolicies": st.lists(policies, max_size=3)})
specs = st.fixed_dictionaries(
    {"targetRef": targets},
    optional={
        "updatePolicy": update_policies,
        "resourcePolicy": resource_policies,
        "recommenders": st.lists(st.just({"name": "mine"}), max_size=1),
        "startupBoost": boosts,
    },
)


def manifest_of(metadata: Manifest, spec: Manifest) -> Manifest:
    return {"apiVersion": VPA.API_VERSION, "kind": VPA.KIND, "metadata": metadata, "spec": spec}


sound = st.builds(manifest_of, sound_metadata, specs)

# Values on both sides of the limits of the rules.

odd_words = st.sampled_from(["", " ", "a", "a/b", "a/b/c", "//", "a\n", "\x00", "é" * 300, "null", "off", "auto"])
odd_sizes = st.one_of(*[st.sampled_from(amounts) for amounts in AMOUNTS.values()], odd_amounts)
odd_resources = st.sampled_from([*RESOURCES, "", "storage", "CPU", "a/b"])
odd_resource_lists = st.one_of(
    st.dictionaries(odd_resources, st.one_of(odd_sizes, junk), max_size=3),
    st.integers(MAX_RESOURCES - 1, MAX_RESOURCES + 1).map(lambda n: {f"r{i}": i for i in range(n)}),
)
odd_names = st.lists(st.one_of(odd_resources, st.sampled_from([None, 1, {}])), max_size=3)
ODD_PARTS: tuple[Any, ...] = (
    (INT32, odd_whole),
    (INT64, odd_whole),
    (BOOL, junk),
    (AMOUNT, odd_sizes),
    (RESOURCE_LIST, odd_resource_lists),
    (TEXT_LIST, odd_names),
)
COUNTS = (0, 1, 2, MAX_POLICIES, MAX_POLICIES + 1, MAX_REQUIREMENTS, MAX_REQUIREMENTS + 1)
manifests = changed(sound, Changes(VPA, (*ODD_PARTS, (STRING, odd_words)), COUNTS))
