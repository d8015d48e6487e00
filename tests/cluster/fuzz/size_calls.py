"""Calls of VPA, WPA, Hvpa, Tortoise and WorkloadAutoscaler with arguments around every rule."""

from typing import Any

from hypothesis import strategies as st

from cluster.fuzz import both_axes, both_axes_cases, size_cases
from cluster.fuzz.calls import Call, Values, calls, durations, mostly
from cluster.fuzz.hpa_calls import BARE, SIZED, metrics_with, odd, outer, paces_with, workload
from cluster.fuzz.odd_values import odd_whole
from cluster.fuzz.sizes import AMOUNTS, odd_sizes
from cluster.fuzz.watermarks import both_marks, odd_marks, odd_shares, tolerances
from hypot import (
    VPA,
    WPA,
    Change,
    ContainerPolicy,
    ContainerScaling,
    EvictionRequirement,
    Hvpa,
    Recommender,
    ResourceChanges,
    ScaleType,
    Tortoise,
    WatermarkRules,
    WorkloadAutoscaler,
    band,
    interval,
    resource_band,
)
from hypot.core.axes.interval import HORIZONTAL_ONLY, LINEAR, LINEAR_PER_POD
from hypot.kinds.base import Kind
from hypot.kinds.vpa.fields import CHANGES, CONTAINER_MODES, CONTROLLED_VALUES, UPDATE_MODES, CPUBoost, StartupBoost

# An HPA takes spellings that no schema of a custom resource takes, such as `m` and `-0m`.
metrics = metrics_with(mostly(st.sampled_from(["1", "500m", 7, 0.25]), both_axes.odd_hpa_amounts))
paces = paces_with(both_axes.odd_hpa_amounts)
targets = mostly(
    st.sampled_from(["deployment/web", "sts/db", "rollout/web", workload(SIZED)]),
    odd("", "/", "web", "deployment/", "/web", "deployment/a/b", "deploymnt/web", {}, workload(BARE, name=None)),
)
counts = mostly(st.integers(1, 50), odd_whole)
spans = mostly(st.sampled_from([1, 60, "1m", "5m"]), durations)
names = mostly(st.sampled_from(["app", "*"]), odd("", "a b", "nope", None, 1))


def words(*known: str) -> Values:
    return mostly(st.sampled_from(known), odd("", known[0].lower(), "Sometimes", None, 1, []))


def list_of(values: Values, *more: Any) -> Values:
    return mostly(st.lists(values, max_size=2), odd([], [None], ["x"], *more))


resources = mostly(
    st.lists(st.sampled_from(["cpu", "memory"]), max_size=2), odd(["CPU"], [""], [None], ["cpu"] * 3, [])
)


def resource_list(cpu: Values, memory: Values) -> Values:
    sound = st.fixed_dictionaries({}, optional={"cpu": cpu, "memory": memory})
    return mostly(sound, st.dictionaries(st.sampled_from(["cpu", "memory", "gpu", ""]), odd_sizes, max_size=2))


least = resource_list(st.sampled_from(["1m", "5m", "100m"]), st.sampled_from([1, "128Mi"]))
most = resource_list(st.sampled_from([1, "100m", "64"]), st.sampled_from(["128Mi", "1.5Gi", "2E"]))
boosted = st.one_of(
    calls(CPUBoost, type_=words("Factor"), factor_=counts, duration=counts),
    calls(CPUBoost, type_=words("Quantity"), quantity_=mostly(st.sampled_from(AMOUNTS["cpu"]), odd_sizes)),
)
boosts = calls(StartupBoost, cpu=mostly(boosted, calls(CPUBoost, type=words("Factor", "Quantity"), factor=counts)))
policy = {
    "mode": words(*CONTAINER_MODES),
    "min_allowed": least,
    "max_allowed": most,
    "controlled_resources": resources,
    "controlled_values": words(*CONTROLLED_VALUES),
    "oom_bump_up_ratio": mostly(st.sampled_from([1, "1.2", "1000m"]), odd_sizes),
    "oom_min_bump_up": mostly(st.sampled_from([0, "100Mi"]), odd_sizes),
    "memory_interval": counts,
    "memory_interval_count": counts,
}
policies = st.one_of(
    list_of(calls(ContainerPolicy, names, **policy, startup_boost=boosts)),
    st.dictionaries(st.sampled_from(["app", "*"]), st.fixed_dictionaries({}, optional=policy), max_size=2),
)
vpas = calls(
    VPA,
    targets,
    mode_=words(*UPDATE_MODES),
    min_replicas=counts,
    eviction_requirements=list_of(calls(EvictionRequirement, resources, words(*CHANGES))),
    evict_after_oom=spans,
    containers=policies,
    recommender=mostly(st.just("mine"), odd("", 1, "a b")),
    startup_boost=boosts,
    **outer,
)

marks = st.one_of(
    both_marks, both_marks, st.fixed_dictionaries({"highWatermark": odd_marks}, optional={"lowWatermark": odd_marks})
)
series = mostly(st.sampled_from(["queue.length", "x/y"]), odd("", None, 1, " "))
selectors = mostly(st.sampled_from([None, {}, {"app": "web"}]), odd({"a b": "/"}, {"a": 1}, {"a": None}, {"": ""}))


def _banded(make: Any, name: Any, both: dict[str, Any], labels: Any) -> Call:
    given = {"high": both.get("highWatermark"), "low": both.get("lowWatermark"), "labels": labels}
    return Call(make, (name,), {key: value for key, value in given.items() if value is not None})


bands = st.builds(_banded, st.sampled_from([band, resource_band]), series, marks, selectors)
recommenders = calls(
    Recommender,
    url_=mostly(st.just("https://advice.example/"), odd("", "ftp://a", "http://", None, 1, "https://" + "a" * 3000)),
    high_=st.sampled_from(["9Gi", "1Ti"]),
    low_=mostly(st.sampled_from([1, "5m"]), odd_marks),
    settings=mostly(st.just({"a": "b"}), odd({}, {"a": 1}, {"a": None}, "x")),
)
steps = calls(
    WatermarkRules,
    percent=mostly(st.sampled_from([0, 1, 50, "500m"]), odd_shares),
    forbidden_window=spans,
    delay=mostly(st.sampled_from([0, 30, "2m"]), durations),
)
_measured = {"metrics_": mostly(st.lists(bands, min_size=1, max_size=2), odd([], [None], ["x"]))}
_advised = {"recommender_": recommenders, "metrics": mostly(st.just([]), st.lists(bands, max_size=1))}


def _wpas(measures: dict[str, Values]) -> Values:
    return calls(
        WPA,
        targets,
        **measures,
        max_replicas_=mostly(st.integers(3, 50), odd_whole),
        min_replicas=mostly(st.integers(1, 3), odd_whole),
        algorithm=words("absolute", "average"),
        tolerance=mostly(tolerances, odd_shares),
        scale_up=steps,
        scale_down=steps,
        modulo=counts,
        converge=words("highwatermark", "lowwatermark"),
        dry_run=mostly(st.booleans(), odd(None, 1, "true")),
        tolerate_zero=st.booleans(),
        min_available=mostly(st.integers(0, 100), odd_whole),
        readiness_delay=spans,
        **outer,
    )


wpas = st.one_of(_wpas(_measured), _wpas(_measured), _wpas(_advised))
shares = mostly(
    st.sampled_from(["0%", "30%", "100%"]), odd("-1%", "1.5%", "%", " 30 %", "30 %", "٣%", "200m", 1, 0.5, None)
)
changes = st.one_of(
    st.fixed_dictionaries({}, optional={"cpu": shares, "memory": shares}),
    calls(
        ResourceChanges,
        cpu=calls(
            Change, value=mostly(st.sampled_from(["200m", 1]), odd_sizes), percentage=mostly(st.just(30), odd_whole)
        ),
    ),
)
scales = calls(
    ScaleType,
    words("Auto", "Off"),
    min_change=changes,
    stabilization=mostly(st.sampled_from(["3m", "1.5h", 90]), st.one_of(durations, both_axes.odd_words)),
)


@st.composite
def _intervals(draw: st.DrawFn) -> list[Any]:
    """Counts that rise and sizes that do not fall, with an odd one in some."""
    steps = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 900)), min_size=1, max_size=4))
    made, count, size = [], 0, draw(st.sampled_from([1, 500, 999]))
    for more, larger in steps:
        count, size = count + more, size + larger
        given = {
            "cpu": draw(mostly(st.just(f"{size}m"), odd_sizes)),
            "memory": draw(mostly(st.just(f"{size}Mi"), odd_sizes)),
        }
        way = draw(mostly(st.sampled_from([None, LINEAR, HORIZONTAL_ONLY, LINEAR_PER_POD]), odd("", "Linear", 1)))
        given |= {} if way is None else {"extrapolation": way}
        made.append(Call(interval, (draw(mostly(st.just(count), both_axes.odd_counts)),), given))
    return made


hvpas = calls(
    Hvpa,
    targets,
    intervals_=mostly(_intervals(), odd([], [None], ["x"])),
    overlap=st.fixed_dictionaries({}, optional={"cpu": shares, "memory": shares}),
    base=changes,
    limits_gap=changes,
    scale_up=scales,
    scale_down=scales,
    window=mostly(st.just(("220000+0100", "010000+0100")), st.tuples(both_axes.odd_words, both_axes.odd_words)),
    min_replicas=mostly(st.just(1), both_axes.odd_counts),
    max_replicas=mostly(st.just(50), both_axes.odd_counts),
    metrics=mostly(st.lists(metrics, max_size=2), odd([None], ["cpu"], [])),
    hpa_scale_up=paces,
    hpa_scale_down=paces,
    containers=policies,
    knobs=mostly(
        st.just({"hypot.dev/cpu-half-life": "6h"}), odd({"hypot.dev/cpu-half-life": "soon"}, {"a": 1}, {"a b": "c"})
    ),
    use_hpa=st.booleans(),
    use_vpa=st.booleans(),
    **outer,
)

axes = words("Off", "Horizontal", "Vertical")
scaled = {"cpu": axes, "memory": axes, "min_allocated": least, "max_allocated": most}
tortoises = calls(
    Tortoise,
    targets,
    mode=words("Off", "Auto", "Emergency"),
    hpa=mostly(st.just("web"), odd("", "Web", "a" * 254, None, 1)),
    containers=st.one_of(
        mostly(st.lists(calls(ContainerScaling, names, **scaled), max_size=2), st.just([])),
        st.dictionaries(st.sampled_from(["app", "proxy"]), st.fixed_dictionaries({}, optional=scaled), max_size=2),
    ),
    deletion_policy=words("DeleteAll", "NoDelete"),
    max_replicas=counts,
    scale_up=paces,
    scale_down=paces,
    **outer,
)
pod_metrics = st.one_of(
    mostly(st.sampled_from(["requests", "x.y"]), odd("", "a/b", "..", None, 1)),
    st.builds(lambda name, labels: {"name": name, "selector": {"matchLabels": labels}}, series, selectors.filter(bool)),
)
autoscalers = calls(
    WorkloadAutoscaler,
    targets,
    mode=words("Off", "Auto"),
    axes=words("Both", "Replicas", "Size"),
    min_replicas=mostly(st.sampled_from([1, 2, 100, 101]), odd_whole),
    max_replicas=mostly(st.sampled_from([1, 50, 101]), odd_whole),
    containers=policies,
    late_after=mostly(st.sampled_from(["250ms", "1.5s", "1h", 60]), st.one_of(durations, odd("2h", "0ms", "1us", 0.5))),
    late_price=mostly(st.sampled_from([0.1, 1, 10, 2.5, 1000]), odd(0, 0.05, -1, 1001, "10", float("inf"), None)),
    requests_metric=pod_metrics,
    late_metric=pod_metrics,
    **outer,
)
KINDS: dict[type[Kind], Values] = {
    VPA: vpas,
    WPA: wpas,
    Hvpa: hvpas,
    Tortoise: tortoises,
    WorkloadAutoscaler: autoscalers,
}
UNSAID = {VPA: size_cases.VPA_UNSAID, Hvpa: both_axes_cases.UNSAID}
# What hypot refuses on purpose although the API server accepts it, beside what a definition cannot express (UNSAID).
ADDED: dict[str, tuple[str, Call]] = {
    "policy-container-missing": (
        "a policy for a container that the pods do not have is never used, and the pods of this target are known",
        Call(VPA, (workload(SIZED),), {"containers": {"nope": {"mode": "Off"}}}),
    ),
    "target-kind": (
        "a kind that not every cluster has is never found without its API version",
        Call(VPA, ("deploymnt/web",), {"mode": "Off"}),
    ),
    "target-not-scalable": (
        "a DaemonSet runs one pod on each node, so nothing can set its number of replicas",
        Call(WPA, ("daemonset/web",), {"max_replicas": 3, "metrics": [Call(band, ("hits",), {"low": 1, "high": 2})]}),
    ),
    "wpa-selector-misses-pods": (
        "the usage of no pod is measured, and the labels of the pods are known",
        Call(
            WPA,
            (workload(SIZED),),
            {
                "max_replicas": 3,
                "metrics": [Call(resource_band, ("cpu",), {"low": "1", "high": "2", "labels": {"app": "nope"}})],
            },
        ),
    ),
}
