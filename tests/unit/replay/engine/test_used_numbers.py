"""Which numbers of the world matter, and where they come from."""

import pytest

from hypot.replay.engine.used_numbers import numbers_used
from hypot.replay.traces.reading import Assumed
from hypot.replay.world.file import WorldFile
from hypot.replay.world.parameters import Metrics, Nodes, World
from unit.replay.manifests import MAPPED, cpu, deployment, hpa, in_policy, policies, vpa, wpa

ALWAYS = {
    *(f"service.{name}" for name in ("work", "deadline", "slo", "timeout", "baseCpu", "useful")),
    *(f"shapes.{bound}{what}" for bound in ("min", "max") for what in ("Replicas", "Cpu", "Memory")),
    *(f"prices.{name}" for name in ("cpu", "memory", "late")),
}
DECIDED = {"pods.start", "metrics.window", "metrics.lag"}
MEMORY = {"memory.base", "memory.perRequest"}
SIZED = {"resize.inPlace", "prices.restart", *MEMORY}
POD = {f"workload.{name}" for name in ("replicas", "cpu", "memory", "cpuLimit", "memoryLimit")}
BY_MEMORY = {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization"}}}
BY_MEMORY["resource"]["target"]["averageUtilization"] = 80
LIMITED = [{"name": "app", "resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]


def used(tmp_path, *objects, given=(), world=MAPPED, units=("rps",), assumed=()):
    found = policies(tmp_path, *objects, world=world)
    return numbers_used(WorldFile(world, frozenset(given)), found, units, assumed)


def keys(numbers, origin="default"):
    return {one.key for one in numbers if one.origin == origin}


@pytest.mark.parametrize(
    ("objects", "more"),
    [
        ((deployment(containers=LIMITED), hpa()), DECIDED),
        ((deployment(), hpa()), {*DECIDED, "pods.headroom"}),
        ((deployment(containers=LIMITED), hpa(metrics=[cpu(), BY_MEMORY])), {*DECIDED, *MEMORY}),
        ((deployment(containers=LIMITED), wpa()), DECIDED),
        ((deployment(containers=LIMITED), vpa()), {*DECIDED, *SIZED}),
        ((deployment(annotations=in_policy("static"), containers=LIMITED),), set()),
        ((hpa(),), {*DECIDED, *POD}),
        ((deployment(containers=LIMITED, replicas=None), hpa()), {*DECIDED, "workload.replicas"}),
    ],
)
def test_only_what_matters_is_assumed(tmp_path, objects, more):
    """Memory only where it is sized or decides, the pod only without a manifest, and so on."""
    assert keys(used(tmp_path, *objects)) == ALWAYS | more


def test_counted_nodes_have_a_size(tmp_path):
    """If there is always room, their size does not matter."""
    world = World(nodes=Nodes(start=4))
    found = keys(used(tmp_path, deployment(containers=LIMITED), hpa(), world=world, given={"nodes.start", "nodes.cpu"}))
    assert found == {*ALWAYS, *DECIDED, "nodes.memory", "nodes.provisioning"}


def test_what_is_given_is_not_assumed(tmp_path):
    """Also if it has the value of the default."""
    everything = used(tmp_path, hpa(), vpa("v"))
    assert not used(tmp_path, hpa(), vpa("v"), given={one.key for one in everything}, units=[None, "cores"])[1:]


def test_each_pod_is_that_of_its_manifest(tmp_path):
    """Two policies may begin with different pods."""
    objects = (
        deployment(annotations=in_policy("small")),
        deployment(annotations=in_policy("large"), containers=LIMITED),
        hpa("h", in_policy("small", "large")),
    )
    found = [one for one in used(tmp_path, *objects) if one.key == "workload.cpu"]
    assert [(one.text, one.policies) for one in found] == [("0.5", ("small",)), ("1", ("large",))]
    file = tmp_path / "policies.yaml"
    assert [one.source for one in found] == [f"Deployment/web ({file}:1)", f"Deployment/web ({file}:26)"]
    limits = {(one.text, one.policies) for one in used(tmp_path, *objects) if one.key == "workload.cpuLimit"}
    assert limits == {("none", ("small",)), ("1", ("large",))}


@pytest.mark.parametrize(
    ("units", "given", "expected"),
    [
        (["rps"], (), [("demand.unit", "trace", "rps")]),
        ([None], (), [("traces.unit", "default", "rps")]),
        ([None], ("demand.unit",), []),
        ([None, "cores"], (), [("traces.unit", "default", "rps"), ("demand.unit", "trace", "cores")]),
        (["cores"], ("demand.unit",), [("demand.unit", "trace", "cores")]),
    ],
)
def test_the_unit_of_the_values(tmp_path, units, given, expected):
    """A trace that names its unit needs none from the world; it even overrides it."""
    found = used(tmp_path, deployment(), hpa(), given=given, units=units)
    assert [(one.key, one.origin, one.value) for one in found if one.parameter.name == "unit"] == expected


def test_what_is_assumed_of_traces(tmp_path):
    """It comes first. A unit that the world gives is not assumed."""
    assumed = (Assumed("unit", "rps", "may be requests of a row"), Assumed("zone", "UTC", "no zone"))
    found = used(tmp_path, deployment(), hpa(), units=["rps"], assumed=assumed)
    assert [(one.key, one.origin, one.value) for one in found[:2]] == [
        ("traces.unit", "default", "rps"),
        ("traces.zone", "default", "UTC"),
    ]
    assert "demand.unit" not in [one.key for one in found]
    given = used(tmp_path, deployment(), hpa(), units=["rps"], given=("demand.unit",), assumed=assumed)
    assert [one.key for one in given if one.section == "traces"] == ["traces.zone"]


def test_every_number_has_a_text(tmp_path):
    """As users write it, in the order of the documentation."""
    found = used(tmp_path, hpa(), vpa("v"), world=World(metrics=Metrics()), units=[None])
    texts = {one.key: one.text for one in found}
    assert texts["service.work"] == "0.02s"
    assert texts["workload.memory"] == "1Gi"
    assert texts["prices.cpu"] == "$0.04048"
    assert texts["resize.inPlace"] == "true"
    sections = list(dict.fromkeys(one.section for one in found))
    assert sections == ["traces", "service", "memory", "pods", "metrics", "resize", "workload", "shapes", "prices"]
