"""Random worlds: autoscalers that users may write, and clusters that may be observed."""

from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import ScalingRules, cpu, external, limit, memory, on, pods
from hypot.kinds.metric_values import MetricValue
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL, SKIP_OWNER_CHECK, Recommender, WatermarkRules, band, resource_band
from hypot.policy.model.decision import Condition
from hypot.policy.model.seen import Container, Failure, Owner, Pod, PodSample, Reply, Scale, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import NO_PAST, State, TimedValues
from property.picks import among, either, maybe, set_or_not, within

NOW = 1_800_000_000.0
NAMES = [f"web-{i}" for i in range(6)]
QUEUES = ("queue", "rate")
# Absent, empty, and with a label: the three ways to ask for a series.
SELECTORS = (None, {}, {"matchLabels": {"a": "b"}})
OBJECT = "ingress/front"

# Amounts in milli: small amounts, where rounding shows, and any amount that a metrics API may send.
small = st.integers(0, 5000)
amounts = st.one_of(small, st.integers(-(2**63), 2**63), st.sampled_from([0, -1, 10**30, 10**203]))
# Seconds: around now, and times of broken clocks.
times = st.one_of(
    st.integers(-4000, 100).map(lambda ago: NOW + ago),
    st.floats(-4000, 100).map(lambda ago: NOW + ago),
    st.sampled_from([0.0, -1e12, 1e12, NOW]),
)
shown_times = st.integers(-4000, 100).map(lambda ago: NOW + ago)
failures = st.builds(
    Failure, st.sampled_from(["the server is down", "forbidden."]), st.sampled_from(["internal", "spec"])
)
optional = st.none()


def usage(values):
    return st.fixed_dictionaries({}, optional={"cpu": values, "memory": values})


containers = st.lists(st.builds(Container, st.sampled_from(["app", "side"]), usage(small)), max_size=2).map(tuple)
odd_pods = st.builds(
    Pod,
    name=st.just(""),
    phase=st.sampled_from(["Running", "Running", "Pending", "Failed", "Succeeded", "Unknown", ""]),
    deleted=st.booleans(),
    ready=st.sampled_from(["True", "True", "False", "Unknown", None]),
    ready_since=maybe(times),
    started=maybe(times),
    containers=st.one_of(st.just((Container("app", {"cpu": 1000, "memory": 1000}),)), containers),
    labels=st.just({"app": "web"}),
    owners=st.sampled_from([(Owner("ReplicaSet", "web-5d9c"),), (Owner("StatefulSet", "web"),), ()]),
    pod_requests=maybe(usage(small)),
)
samples = st.builds(
    PodSample,
    at=times,
    window=st.floats(0, 120),
    containers=st.lists(st.tuples(st.sampled_from(["app", "side"]), usage(amounts)), max_size=2).map(tuple),
)


def steady_pod(name):
    """A pod that counts, whatever is measured."""
    return Pod(
        name,
        ready="True",
        ready_since=NOW - 3600,
        started=NOW - 7200,
        containers=(Container("app", {"cpu": 1000, "memory": 1000}),),
        labels={"app": "web"},
        owners=(Owner("ReplicaSet", "web-5d9c"),),
    )


def named(name, found):
    """A random pod under its own name; None gives a steady pod."""
    return steady_pod(name) if found is None else replace(found, name=name)


def fleets(each, least):
    chosen = st.lists(each, min_size=least, max_size=len(NAMES))
    return chosen.map(lambda found: tuple(named(name, one) for name, one in zip(NAMES, found, strict=False)))


def values_of(amount):
    return st.dictionaries(st.sampled_from([*NAMES, "stranger"]), st.builds(MetricValue, amount), max_size=7)


def series(amount, least):
    return st.lists(amount, min_size=least, max_size=3).map(tuple)


replies = st.builds(
    Reply,
    st.integers(0, 30),
    st.integers(0, 30),
    st.integers(0, 30),
    st.sampled_from(["", "busy"]),
    st.floats(-1e6, 1e6),
)

# Anything may be missing, failing or extreme.
wild_world = st.builds(
    Seen,
    now=st.just(NOW),
    scale=st.one_of(
        failures,
        st.builds(
            Scale,
            replicas=st.integers(0, 12),
            status_replicas=st.integers(0, 12),
            selector=st.sampled_from(["app=web", "app in (web)", "", "app=a=b"]),
        ),
    ),
    pods=fleets(odd_pods, 0),
    pod_metrics=st.one_of(failures, st.dictionaries(st.sampled_from([*NAMES, "stranger"]), samples, max_size=7)),
    pods_metrics=st.fixed_dictionaries(
        {}, optional={metric_key("rate", None): st.one_of(failures, values_of(amounts))}
    ),
    object_metrics=st.fixed_dictionaries(
        {}, optional={metric_key("rps", None, "Ingress/front"): st.one_of(failures, amounts)}
    ),
    external_metrics=st.fixed_dictionaries(
        {},
        optional={
            metric_key(name, selector): st.one_of(failures, series(amounts, 0))
            for name in QUEUES
            for selector in SELECTORS
        },
    ),
    others=st.sampled_from([(), ("default/other",)]),
    monitor=st.sampled_from([None, "", "OK", "Alert"]),
    reply=st.one_of(st.none(), failures, replies),
)

full_samples = st.builds(
    PodSample,
    at=st.just(NOW - 10),
    window=st.just(30.0),
    containers=st.fixed_dictionaries({"cpu": small, "memory": small}).map(lambda used: (("app", used),)),
)


rarely = st.sampled_from([*[False] * 9, True])
likely_pods = fleets(st.one_of(st.none(), st.none(), st.none(), odd_pods), 1)
queue_lengths = series(small, 1)
small_values = values_of(small)
QUEUE_KEYS = [metric_key(name, selector) for name in QUEUES for selector in SELECTORS]


@st.composite
def likely_worlds(draw):
    """A cluster in which most things work, with a few odd pods and sometimes a missing sample or metric."""
    everyone = draw(likely_pods)
    count = draw(among(*[len(everyone)] * 4, 0, 3, 12))
    measured = {name: draw(full_samples) for name in NAMES if not draw(rarely)}
    waiting = {key: draw(failures) if draw(rarely) else draw(queue_lengths) for key in QUEUE_KEYS}
    return Seen(
        NOW,
        Scale(count, draw(among(count, count, count, 0, 12)), "app=web"),
        everyone,
        measured,
        {metric_key("rate", None): draw(small_values)},
        {metric_key("rps", None, "Ingress/front"): draw(small)},
        waiting,
        monitor="OK",
        reply=draw(replies),
    )


any_world = st.one_of(likely_worlds(), likely_worlds(), likely_worlds(), wild_world)

histories = st.lists(st.tuples(st.integers(-5, 60), shown_times), max_size=5).map(
    lambda entries: TimedValues(tuple(v for v, _ in entries), tuple(float(t) for _, t in entries))
)
events = st.lists(st.tuples(st.integers(1, 20), shown_times), max_size=4).map(
    lambda entries: TimedValues(tuple(v for v, _ in entries), tuple(float(t) for _, t in entries))
)
kinds = (
    "AbleToScale",
    "ScalingActive",
    "ScalingLimited",
    "ScaledToZero",
    "AboveHighWatermark",
    "BelowLowWatermark",
    "ConvergeToWatermark",
)
conditions = st.lists(
    st.builds(
        Condition,
        st.sampled_from(kinds),
        st.sampled_from(["True", "False"]),
        st.just("Before"),
        st.text(max_size=5),
        shown_times.map(float),
    ),
    max_size=4,
    unique_by=lambda condition: condition.type,
).map(tuple)
any_state = st.builds(
    State,
    recommendations=maybe(histories),
    since=maybe(shown_times.map(float)),
    ups=events,
    downs=events,
    unknown_move=maybe(shown_times.map(float)),
    last_scale=maybe(shown_times.map(float)),
    desired=st.integers(0, 60),
    conditions=conditions,
    scalings=st.integers(0, 9),
    vertical=st.just(NO_PAST),
    plan=st.none(),
    tortoise=st.none(),
    autoscaler=st.none(),
)

settings_of = st.builds(
    Settings,
    kubernetes=st.integers(23, 37).map(lambda minor: (1, minor)),
    gates=st.dictionaries(
        st.sampled_from(["HPAScaleToZero", "HPAConfigurableTolerance", "PodLevelResources"]), st.booleans(), max_size=2
    ),
    tolerance=st.sampled_from([0.0, 0.05, 0.1, 0.5]),
    downscale_window=st.sampled_from([0.0, 60.0, 300.0]),
)

quantities = st.one_of(
    st.integers(1, 5000).map(lambda m: f"{m}m"), st.sampled_from(["1", "10", "1k", "1Gi", "1E", "1e180"])
)
percents = st.integers(1, 300)
labels = st.sampled_from([None, {"a": "b"}])
queues = st.sampled_from(QUEUES)
hpa_metrics = st.one_of(
    percents.map(lambda p: cpu(utilization=p)),
    quantities.map(lambda q: cpu(average=q)),
    percents.map(lambda p: memory(utilization=p)),
    quantities.map(lambda q: memory(average=q)),
    percents.map(lambda p: cpu(utilization=p, container="app")),
    quantities.map(lambda q: pods("rate", average=q)),
    quantities.map(lambda q: on(OBJECT, "rps", value=q)),
    quantities.map(lambda q: on(OBJECT, "rps", average=q)),
    st.builds(
        lambda name, q, chosen: external(name, value=q, labels=chosen), st.sampled_from(QUEUES), quantities, labels
    ),
    st.builds(
        lambda name, q, chosen: external(name, average=q, labels=chosen), st.sampled_from(QUEUES), quantities, labels
    ),
)
limits = st.one_of(
    st.builds(lambda n, per: limit(pods=n, per=per), st.integers(1, 10), st.integers(1, 1800)),
    st.builds(lambda n, per: limit(percent=n, per=per), st.integers(1, 200), st.integers(1, 1800)),
)
paces = st.builds(
    ScalingRules,
    maybe(st.lists(limits, min_size=1, max_size=3)),
    maybe(st.sampled_from([0, 30, 300, 3600])),
    st.sampled_from([None, "Max", "Min", "Disabled"]),
    st.sampled_from([None, "0", "50m", "0.2", "3"]),
)


@cache
def some_of(metrics, most):
    """One metric at least."""
    return st.lists(metrics, min_size=1, max_size=most)


@st.composite
def hpas(draw, metrics=hpa_metrics, most_metrics=3):
    """Autoscalers that an API server accepts."""
    chosen = draw(some_of(metrics, most_metrics))
    from_zero = any(metric.type in {"Object", "External"} for metric in chosen)
    low = draw(among(0 if from_zero else 1, 1, 2, 4, 8))
    return HPA(
        "deployment/web",
        metrics=chosen,
        min_replicas=low,
        max_replicas=max(1, low) + draw(within(0, 30)),
        scale_up=draw(maybe(paces)),
        scale_down=draw(maybe(paces)),
    )


lows = st.one_of(st.just(0), st.integers(1, 5000))


@st.composite
def bands(draw, names=QUEUES, resources=("cpu", "memory")):
    """A metric with two watermarks, or with one."""
    low = draw(lows)
    high = low + draw(within(0 if low else 1, 5000))
    marks = {"low": f"{low}m", "high": f"{high}m"}
    left_out = draw(among(None, None, "low", "high") if low else among(None, "low"))
    if left_out:
        del marks[left_out]
    name = draw(among(*names, *resources))
    if name in resources:
        return resource_band(name, **marks)
    return band(name, labels=draw(labels), **marks)


all_bands = bands()
notes = st.dictionaries(
    st.sampled_from([LIFECYCLE_CONTROL, SKIP_OWNER_CHECK]), st.sampled_from(["true", "false", "odd"])
)
steps = st.builds(
    WatermarkRules,
    st.sampled_from([None, 0, "500m", 1, 20, 50, 99]),
    st.sampled_from([None, 1, 60, 600]),
    st.sampled_from([None, 0, 30, 300]),
)


@st.composite
def wpas(draw, metrics=None, advised=None):
    """Autoscalers that pass the rules of the kind."""
    asks = draw(either) if advised is None else advised
    low = draw(among(1, 1, 2, 4, 8))
    recommender = Recommender("https://advice.example/", "cpu", {}, 2, 1)
    return WPA(
        "deployment/web",
        metrics=None if asks else draw(some_of(all_bands if metrics is None else metrics, 3)),
        recommender=recommender if asks else None,
        min_replicas=low,
        max_replicas=low + draw(within(0, 30)),
        algorithm=draw(among(None, "absolute", "average")),
        tolerance=draw(among(None, "0", "10m", "0.1", "1")),
        scale_up=draw(maybe(steps)),
        scale_down=draw(maybe(steps)),
        modulo=draw(among(None, 1, 2, 5)),
        converge=draw(among(None, "highwatermark", "lowwatermark")),
        dry_run=draw(maybe(either)),
        tolerate_zero=draw(set_or_not),
        min_available=draw(among(None, 0, 50, 100)),
        readiness_delay=draw(among(None, 30)),
        annotations=draw(notes),
    )


def steady_world(usages, queue=None):
    """A workload at rest whose pods use this much cpu each, in milli, and a queue."""
    count = len(usages)
    measured = {f"web-{i}": PodSample(NOW - 10, 30.0, (("app", {"cpu": used}),)) for i, used in enumerate(usages)}
    waiting = {} if queue is None else {metric_key("queue", s): (queue,) for s in (None, {})}
    pods = tuple(steady_pod(f"web-{i}") for i in range(count))
    return Seen(NOW, Scale(count, count, "app=web"), pods, measured, external_metrics=waiting)


def inside(spec, seen):
    """The same world with a replica count within the bounds."""
    low, high = spec.min_replicas, spec.max_replicas
    found = seen.scale if isinstance(seen.scale, Scale) else Scale(low, low, "app=web")
    if low <= found.replicas <= high:
        return replace(seen, scale=found)
    return replace(seen, scale=replace(found, replicas=low + found.replicas % (high - low + 1)))
