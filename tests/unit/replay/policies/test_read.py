"""Policies from manifests: which objects belong together, where they start, and what cannot be replayed."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.text.load import LoadedFiles, Reader, Source
from hypot.replay.policies.obstacles import step_range
from hypot.replay.policies.policy import PolicyError, Start
from hypot.replay.policies.read import POLICY, read_policies
from hypot.replay.world.file import read_world
from hypot.replay.world.parameters import Workload, World
from unit.replay.manifests import (
    MAPPED,
    TARGET,
    cpu,
    custom,
    deployment,
    hpa,
    hvpa,
    in_policy,
    of,
    policies,
    vpa,
    weighted,
    wpa,
)

PAGE = Path(__file__).resolve().parents[4] / "docs" / "world.md"
RANGE = [{"containerName": "*", "minAllowed": {"cpu": "200m"}, "maxAllowed": {"cpu": "2"}}]


def reported(folder, *objects, world=MAPPED):
    """Line and message of every problem."""
    with pytest.raises(PolicyError) as caught:
        policies(folder, *objects, world=world)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return [line.removeprefix(f"{folder / 'policies.yaml'}:") for line in caught.value.problems]


@pytest.mark.parametrize(
    ("objects", "names", "kinds"),
    [
        ([hpa()], ["web"], [["HPA"]]),
        ([deployment(), hpa("a"), hpa("b")], ["a", "b"], [["HPA"], ["HPA"]]),
        ([hpa(), vpa(), hpa("c")], ["hpa web", "vpa web", "c"], [["HPA"], ["VPA"], ["HPA"]]),
        ([vpa("s", in_policy("pair")), hpa("r", in_policy("pair"))], ["pair"], [["VPA", "HPA"]]),
        ([hpa("r", in_policy("x y", "ü"))], ["x y", "ü"], [["HPA"], ["HPA"]]),
        ([hpa("r", in_policy("web")), vpa()], ["web", "vpa web"], [["HPA"], ["VPA"]]),
        ([deployment(annotations=in_policy("static"))], ["static"], [[]]),
        (
            [deployment(annotations=in_policy("b")), hpa("a"), hpa("h", in_policy("b"))],
            ["b", "a"],
            [["HPA"], ["HPA"]],
        ),
        ([hvpa(), weighted("old"), wpa("w")], ["web", "old", "w"], [["Hvpa"], ["Hvpa"], ["WPA"]]),
    ],
)
def test_grouping(tmp_path, objects, names, kinds):
    """Only the annotation groups objects; every other object is a policy of its own, in the order of the input."""
    found = policies(tmp_path, *objects)
    assert [policy.name for policy in found] == names
    assert [[type(one).__name__ for one in policy.autoscalers] for policy in found] == kinds


def test_a_target_is_where_a_policy_starts(tmp_path):
    """The policy has the requests, limits, labels and selector of its target."""
    (policy,) = policies(tmp_path, deployment("other", replicas=9), deployment(namespace="shop"), hpa())
    assert policy.workload == Start(
        "web", 3, "app", 500, 256 * 2**20, None, 512 * 2**20, "Deployment", "shop", "app=web", {"app": "web"}
    )
    assert policy.notes == ("not replayed: 1 Deployment",)


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "ReplicaSet"])
def test_kinds_of_workloads(tmp_path, kind):
    """Every kind with replicas and a pod template can be replayed."""
    (policy,) = policies(tmp_path, deployment(kind=kind), vpa(targetRef={**TARGET, "kind": kind}))
    assert (policy.workload.kind, policy.notes) == (kind, ())


def test_an_annotated_workload_is_for_its_policies(tmp_path):
    """The same autoscaler starts from two sizes."""
    large = [{"name": "app", "resources": {"limits": {"cpu": 2, "memory": "4Gi"}}}]
    found = policies(
        tmp_path,
        deployment(annotations=in_policy("small")),
        deployment(annotations=in_policy("large"), containers=large),
        hpa("h", in_policy("small", "large")),
    )
    assert {policy.name: policy.workload.cpu for policy in found} == {"small": 500, "large": 2000}
    assert found[1].workload.cpu_limit == 2000


def test_one_workload_stands_in_for_a_target_that_is_not_there(tmp_path):
    """A note says which workload is replayed."""
    (policy,) = policies(tmp_path, deployment("api"), hpa())
    assert policy.workload.name == "api"
    assert policy.notes == ("Deployment/web is not among the manifests: Deployment/api is replayed",)


def test_the_world_stands_in_for_a_workload(tmp_path):
    """Without any workload the world's workload is used, with a note."""
    (policy,) = policies(tmp_path, hpa())
    sizes = "cpu 1, limit 1.2; memory 1Gi, limit 1Gi"
    assert policy.notes == (f"No Deployment given; using the default pod (2 replicas; {sizes})",)
    world = World(workload=Workload(5, 0.2505, 2**20, None, 2**21))
    (policy,) = policies(tmp_path, hpa(), world=world)
    assert policy.workload == Start("web", 5, "app", 251, 2**20, None, 2**21, selector="app=web", labels={"app": "web"})
    sizes = "cpu 0.2505, limit none; memory 1Mi, limit 2Mi"
    assert policy.notes == (f"No Deployment given; using the pod of the world (5 replicas; {sizes})",)
    assert policy.workload.of_world == {"replicas", "cpu", "memory", "cpuLimit", "memoryLimit"}


def test_replicas_that_are_not_written_are_the_world_s(tmp_path):
    """Users often omit replicas under an autoscaler."""
    (policy,) = policies(tmp_path, deployment(replicas=None), hpa())
    assert policy.workload.replicas == 2
    assert policy.notes == ("Deployment/web does not set replicas: it starts with 2",)
    assert policy.workload.of_world == {"replicas"}
    assert policy.workload.source.endswith(":1")


SEVERAL = [
    {"name": "proxy", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}},
    {
        "name": "app",
        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
        "resizePolicy": [{"resourceName": "memory", "restartPolicy": "RestartContainer"}],
    },
]


@pytest.mark.parametrize(("annotations", "replayed", "left"), [(None, "proxy", "app"), ("app", "app", "proxy")])
def test_one_container_is_replayed(tmp_path, annotations, replayed, left):
    """The first container, or the container that an annotation names; the others are left out with a note."""
    chosen = annotations and {"hypot.dev/container": annotations}
    (policy,) = policies(tmp_path, deployment(annotations=chosen, containers=SEVERAL), hpa())
    assert policy.workload.container == replayed
    assert policy.workload.restarts_on_resize == (frozenset({"memory"}) if replayed == "app" else frozenset())
    assert policy.notes == (f"Deployment/web: only container {replayed} is replayed; ignored: {left}",)


def test_other_kinds_are_ignored_and_counted(tmp_path):
    """A whole dump can be given; a ReplicaSet of a Deployment is not a workload of its own."""
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "1", "controller": True}
    rest = [
        of("Service", "v1", "a", {}),
        of("Service", "v1", "b", {}),
        of("DaemonSet", "apps/v1", "logs", {}),
        deployment("web-1", kind="ReplicaSet", ownerReferences=[owner]),
    ]
    (policy,) = policies(tmp_path, *rest, deployment(), hpa())
    assert policy.workload.name == "web"
    assert policy.notes == ("not replayed: 1 DaemonSet, 1 ReplicaSet, 2 Service",)


def test_the_horizontal_step_of_a_vpa(tmp_path):
    """Replica bounds come from the annotation, the range of sizes from the allowed range."""
    (policy,) = policies(tmp_path, deployment(), vpa("v", {"hypot.dev/horizontal-step": "2..6"}, RANGE))
    assert policy.step == (2, 6)
    assert step_range(policy.autoscalers[0], "app") == {"cpu": (200, 2000)}


def test_weights_are_replayed_with_a_note(tmp_path):
    """The released form is replayed, and a note says so."""
    (policy,) = policies(tmp_path, deployment(), weighted())
    assert policy.weights
    assert "has weights" in policy.notes[0]


def test_what_never_acts_is_noted(tmp_path):
    """A dry run and the mode Off are replayed, with a note."""
    found = policies(tmp_path, deployment(), wpa("w", dryRun=True), vpa("v", updatePolicy={"updateMode": "Off"}))
    assert "is a dry run" in found[0].notes[0]
    assert "has the mode Off" in found[1].notes[0]


BAD_BAND = {"name": "cpu", "metricSelector": {"matchLabels": {"a": "b"}}, "highWatermark": "80m", "lowWatermark": "4m"}


@pytest.mark.parametrize(
    ("objects", "at", "message"),
    [
        (
            [hpa(metrics=[custom("rps")])],
            "name: rps",
            "write 'metrics: {names: {\"rps\": requests}}' in the world file",
        ),
        ([hpa(minReplicas=11)], "maxReplicas: 10", "must be greater than or equal to `minReplicas`"),
        ([hpa(minReplica=0)], "minReplica: 0", 'unknown field "spec.minReplica" (did you mean minReplicas?)'),
        ([wpa(metrics=None, recommender={"url": "http://a"})], "recommender:", "an external service"),
        (
            [wpa(metrics=[{"type": "Resource", "resource": BAD_BAND}])],
            "metricSelector:",
            "selects no pod of Deployment/web",
        ),
        ([vpa(recommenders=[{"name": "theirs"}])], "recommenders:", "the recommender theirs is not built in"),
        (
            [vpa("v", {"hypot.dev/horizontal-step": "2-6"}, RANGE)],
            "horizontal-step:",
            '"2-6" is not a range of replicas',
        ),
        ([vpa("v", {"hypot.dev/horizontal-step": "6..2"}, RANGE)], "horizontal-step:", "is not a range of replicas"),
        (
            [vpa("v", {"hypot.dev/horizontal-step": "2..6"})],
            "horizontal-step:",
            "there is no range that a recommendation",
        ),
        ([hpa("h", {"hypot.dev/horizontal-step": "2..6"})], "horizontal-step:", "is only for a VerticalPodAutoscaler"),
        (
            [hvpa("h", {"hypot.dev/recommendations": "objects"})],
            "hypot.dev/recommendations:",
            "reads objects of a cluster",
        ),
        (
            [hpa(metrics=[custom()], target={**TARGET, "kind": "DaemonSet"})],
            "scaleTargetRef:",
            "a DaemonSet cannot be replayed",
        ),
        ([of("DaemonSet", "apps/v1", "x", {}, in_policy("p"))], "kind: DaemonSet", "a DaemonSet cannot be replayed"),
        ([hpa("h", {POLICY: "a,,b"})], "hypot.dev/policy:", "the name '' is empty"),
        ([hpa("h", {POLICY: "a,a"})], "hypot.dev/policy:", "the name 'a' is given twice"),
        ([hpa("h", {POLICY: "a" * 64})], "hypot.dev/policy:", "is longer than 63 characters"),
        ([hpa("h", {POLICY: "a\u200bb"})], "hypot.dev/policy:", "contains characters that cannot be printed"),
        ([hpa("h" * 64)], "name: hhh", "is longer than 63 characters; name it with the annotation"),
        ([deployment("a"), deployment("b"), hpa()], "scaleTargetRef:", "add it, or give exactly one workload"),
        ([deployment(), deployment(), hpa()], "scaleTargetRef:", "Deployment/web occurs more than once"),
        ([of("Service", "v1", "a", {})], "", "there is no policy in the manifests"),
        ([deployment()], "", "to replay a workload alone as a static policy, give it the annotation hypot.dev/policy"),
        (
            [hpa("a", in_policy("p")), hpa("b", in_policy("p"))],
            "kind: HorizontalPodAutoscaler",
            "would both set the replicas",
        ),
        (
            [hpa("a", in_policy("p")), wpa("b", in_policy("p"))],
            "kind: WatermarkPodAutoscaler",
            "would both set the replicas",
        ),
        ([hpa("a", in_policy("p")), hvpa("b", in_policy("p"))], "kind: Hvpa", "would both set the replicas"),
        ([vpa("a", in_policy("p")), hvpa("b", in_policy("p"))], "kind: Hvpa", "would both set the size"),
        (
            [vpa("a", in_policy("p")), vpa("b", in_policy("p"))],
            "kind: VerticalPodAutoscaler",
            "would both set the size",
        ),
        (
            [
                hpa("a", in_policy("p")),
                vpa("b", {**in_policy("p"), "hypot.dev/horizontal-step": "2..6"}, RANGE),
            ],
            "kind: VerticalPodAutoscaler",
            "would both set the replicas",
        ),
        ([hpa(), hpa()], "name: web", "a second policy has the name 'hpa web'"),
        (
            [hpa("a", in_policy("p")), vpa("b", in_policy("p"), targetRef={**TARGET, "name": "api"})],
            "targetRef:",
            "policy 'p' targets Deployment/web, but this targets Deployment/api",
        ),
        (
            [deployment("api", in_policy("p")), hpa("a", in_policy("p"))],
            "scaleTargetRef:",
            "policy 'p' targets Deployment/api, but this targets Deployment/web",
        ),
        (
            [deployment(annotations=in_policy("p")), deployment(annotations=in_policy("p"))],
            "hypot.dev/policy: p",
            "policy 'p' already has Deployment/web",
        ),
    ],
)
def test_what_cannot_be_replayed(tmp_path, objects, at, message):
    """There is one problem, with its line and what to do."""
    found = [one for one in reported(tmp_path, *objects) if message in one]
    assert len(found) == 1
    if at:
        lines = (tmp_path / "policies.yaml").read_text(encoding="utf-8").splitlines()
        assert at in lines[int(found[0].split(":")[0]) - 1]


@pytest.mark.parametrize(
    ("containers", "annotations", "replicas", "message"),
    [
        ([{"name": "app"}], None, 1, ["no cpu request, so utilisation cannot be measured", "no memory request"]),
        ([{"name": "app", "resources": {"requests": {"cpu": "x", "memory": 0}}}], None, 1, ["'x'", "above 0"]),
        (
            [{"name": "app", "resources": {"requests": {"cpu": 2, "memory": 1}, "limits": {"cpu": 1}}}],
            None,
            1,
            ["the cpu limit is below the request"],
        ),
        (None, {"hypot.dev/container": "side"}, 1, ['there is no container "side"; there are app']),
        (None, None, 0, ["0 replicas: the workload is switched off"]),
        (None, None, "3", ["which is not a number of replicas"]),
        (["x"], None, 1, ["there is no pod template with containers"]),
    ],
)
def test_workloads_that_cannot_be_replayed(tmp_path, containers, annotations, replicas, message):
    """Everything wrong with a workload is reported once, however many policies need it."""
    found = reported(tmp_path, deployment("web", annotations, "Deployment", containers, replicas), hpa("a"), hpa("b"))
    assert len(found) == len(message)
    assert all(each in one for each, one in zip(message, found, strict=True))


def test_a_metric_of_a_container_that_is_left_out(tmp_path):
    """It is not measured, so this is an error."""
    source = {"name": "cpu", "container": "app", "target": {"type": "Utilization", "averageUtilization": 70}}
    metric = {"type": "ContainerResource", "containerResource": source}
    found = reported(tmp_path, deployment(containers=SEVERAL), hpa(metrics=[metric]))
    assert "container app is not replayed, only proxy is" in found[0]


def test_metrics_of_an_hvpa_are_checked_too(tmp_path):
    """They are in its template, and checked only if that is deployed."""
    template = {"spec": {"maxReplicas": 6, "metrics": [custom("rps"), cpu()]}}
    (found,) = reported(tmp_path, hvpa(hpa={"deploy": True, "template": template}))
    assert "the world does not define the metric rps" in found
    assert not policies(tmp_path, hvpa(hpa={"deploy": False, "template": template}))[0].step


def test_everything_is_reported_at_once_by_line(tmp_path):
    """All problems are listed by line, so that they can be corrected in one go."""
    found = reported(tmp_path, hpa("a", metrics=[custom("x")]), hpa("b", minReplicas=11), wpa("c", modulo=1))
    assert [int(one.split(":")[0]) for one in found] == sorted(int(one.split(":")[0]) for one in found)
    assert len(found) == 3


def test_an_unused_workload_needs_no_requests(tmp_path):
    """Only what is replayed must be complete."""
    (policy,) = policies(tmp_path, deployment("other", containers=[{"name": "x"}]), deployment(), hpa())
    assert policy.workload.name == "web"


def test_the_example_of_the_page(tmp_path):
    """The documented example can be replayed in the documented world."""
    page = PAGE.read_text(encoding="utf-8")
    for name in ("world", "policies"):
        text = re.search(rf"<!-- example: {name} -->\n\n```yaml\n(.*?)```", page, re.DOTALL)[1]
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    world = read_world(tmp_path / "world.yaml")
    found = read_policies(list(Reader().read([str(tmp_path / "policies.yaml")])), world)
    assert {policy.name: len(policy.autoscalers) for policy in found} == {
        "by-cpu": 1,
        "pair": 2,
        "only sizes": 1,
        "sizes-first": 1,
        "static": 0,
    }
    assert {policy.name: policy.step for policy in found if policy.step} == {"sizes-first": (2, 12)}
    assert {policy.workload.replicas for policy in found} == {3, 12}


scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5)
junk = st.recursive(scalars, lambda s: st.lists(s, max_size=2) | st.dictionaries(st.text(max_size=5), s, max_size=2))
OBJECTS = [hpa(), wpa(), vpa("v", {"hypot.dev/horizontal-step": "2..6"}, RANGE), hvpa(), weighted(), deployment()]


def places(data, path=()):
    yield path
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


@st.composite
def broken(draw):
    """A manifest with junk somewhere."""
    data = yaml.safe_load(yaml.safe_dump(draw(st.sampled_from(OBJECTS))))
    *above, last = draw(st.sampled_from([path for path in places(data) if path and path[0] != "kind"]))
    here = data
    for key in above:
        here = here[key]
    here[last] = draw(junk)
    return data


@settings(deadline=None)
@given(st.lists(broken(), min_size=1, max_size=2))
def test_junk_is_a_policy_or_reported(objects):
    """No manifest raises any other error."""
    given = [LoadedFiles(one, Source("junk.yaml", 1)) for one in objects]
    try:
        found = read_policies(given, MAPPED)
    except PolicyError as error:
        found = error.problems
    assert found


def test_objects_are_read_from_any_file(tmp_path):
    """Problems are reported in the order of the files."""
    first, second = tmp_path / "z.yaml", tmp_path / "a.yaml"
    for path in (first, second):
        path.write_text(yaml.safe_dump(hpa(path.stem, minReplicas=11)), encoding="utf-8")
    given = list(Reader().read([str(first), str(second)]))
    with pytest.raises(PolicyError) as caught:
        read_policies(given, World())
    assert [line.split(":")[0] for line in caught.value.problems] == [str(first), str(second)]


def test_the_hpa_that_a_tortoise_names(tmp_path):
    """It is edited in the replay of the Tortoise, and is a policy of its own for comparison."""
    own = {"scaleTargetRef": TARGET, "horizontalPodAutoscalerName": "given"}
    tortoise = of("Tortoise", "autoscaling.mercari.com/v1beta3", "web", {"targetRefs": own, "updateMode": "Auto"})
    found = {one.name: one for one in policies(tmp_path, tortoise, hpa("given"), deployment())}
    assert set(found) == {"web", "given"}
    assert found["web"].named_hpa is found["given"].autoscalers[0]
    with pytest.raises(PolicyError, match="given is not among the manifests; add it, or leave the name out"):
        policies(tmp_path, tortoise, hpa("other"), deployment())
    with pytest.raises(PolicyError, match="the world does not define the metric unknown"):
        policies(tmp_path, tortoise, hpa("given", metrics=[custom("unknown")]), deployment())


def test_a_tortoise_and_its_hpa_in_one_policy(tmp_path):
    own = {"scaleTargetRef": TARGET, "horizontalPodAutoscalerName": "given"}
    spec, both = {"targetRefs": own, "updateMode": "Auto"}, {"hypot.dev/policy": "both"}
    tortoise = of("Tortoise", "autoscaling.mercari.com/v1beta3", "web", spec, both)
    (policy,) = policies(tmp_path, tortoise, hpa("given", both), deployment())
    assert [one.KIND for one in policy.autoscalers] == ["Tortoise"]
    assert policy.named_hpa.name == "given"
