"""What holds for every controller: it decides as the command line does, and as a controller without interruptions."""

import asyncio
import json
from itertools import pairwise

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from hypot.cli.decide import _Run
from hypot.cluster.port import UnreachableError
from hypot.core.instant import show_time
from hypot.kinds.autoscaler.fields import AXES
from hypot.policy.observe.absent import IN_CLUSTER, IN_DUMP
from hypot.policy.observe.snapshot import Snapshot
from unit.policy.sizes_world import NAMESPACE, TARGET, checkpoint, hvpa, limit_range, made, node, pod, vpa
from unit.run.run_world import KINDS, NOW, QUEUE, World, all_kinds, hpa, web, wpa

some = settings(
    max_examples=20,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)
windows = st.sampled_from([0, 1, 20, 40, 60])
queues = st.sampled_from(["0", "5", "15", "25", "30", "39", "41", "60", "120", "400", None])
gaps = st.floats(10.0, 20.0)
counts = st.integers(1, 6)


@st.composite
def wpas(draw):
    """Bands with delays and windows of all lengths."""
    return wpa(
        upscaleForbiddenWindowSeconds=draw(windows.map(lambda each: each or 1)),
        downscaleForbiddenWindowSeconds=draw(windows.map(lambda each: each or 1)),
        upscaleDelayAboveWatermarkSeconds=draw(windows),
        downscaleDelayBelowWatermarkSeconds=draw(windows),
        scaleUpLimitFactor=draw(st.sampled_from([10, 50, 1000])),
        scaleDownLimitFactor=draw(st.sampled_from([10, 50, 99])),
    )


@st.composite
def hpas(draw):
    """HPAs with their own windows and rates, or the defaults."""
    limits = [{"type": "Pods", "value": draw(st.integers(1, 4)), "periodSeconds": draw(st.sampled_from([15, 60]))}]
    down = {"stabilizationWindowSeconds": draw(windows), "policies": limits}
    up = {"stabilizationWindowSeconds": draw(windows), "policies": limits}
    behavior = draw(st.sampled_from([None, {"scaleDown": down}, {"scaleDown": down, "scaleUp": up}]))
    return hpa(utilization=draw(st.sampled_from([30, 50, 80])), **({"behavior": behavior} if behavior else {}))


def resting(time):
    """An Hvpa sized by usage, with this window."""
    change = {"minChange": {"cpu": {"value": "0"}, "memory": {"value": "0"}}, "stabilizationDuration": time}
    return hvpa(scaleUp=change, scaleDown=change)


def learning(decides):
    """A Tortoise that edits its own HPA, or decides the count itself."""
    annotations = {"hypot.dev/decide": "true"} if decides else {}
    spec = {"updateMode": "Auto", "targetRefs": {"scaleTargetRef": TARGET}}
    return made("autoscaling.mercari.com/v1beta3", "Tortoise", "web", spec, annotations=annotations)


hvpas = st.sampled_from(["0s", "20s", "1m"]).map(resting)


usages = st.tuples(
    st.sampled_from(["5m", "200m", "700m", "1500m", "4"]), st.sampled_from(["64Mi", "700Mi", "3Gi", "9Gi"])
)


async def run(thing, count, steps, kind, restarts=(), *, dies_at=None, killed=False):
    """Count and requests of each pod after each reconcile; after some of them another process takes over."""
    kinds = all_kinds(**{kind: "act"})
    async with World(*web(count), thing, node(cpu="900", memory="900Gi"), kinds=kinds) as world:
        reported = []
        for number, (gap, value, (cpu, memory)) in enumerate(steps):
            world.passes(gap - 0.25)
            if value is None:
                world.cluster.fixed.pop(QUEUE, None)
            else:
                world.queue(value)
                world.uses(cpu, memory)
            if number == dies_at:
                await dies(world)
            else:
                await world.reconcile(0.25)
            if number == dies_at or (number in restarts and killed):
                await world.restart()
            elif number in restarts:
                await world.replaced()
            world.follow()
            reported.append((world.replicas, sizes(world)))
        return reported


def sizes(world):
    pods = world.cluster.objects(f"/api/v1/namespaces/{NAMESPACE}/pods")
    return [each["spec"]["containers"][0]["resources"]["requests"] for each in pods]


async def dies(world):
    """Kill it in the middle of a reconcile: the count is written, and nothing after it."""
    written = []

    def cut(call):
        if call.writes and written:
            return UnreachableError("the process is gone")
        written.extend([call] if call.writes and call.path.endswith("/scale") else [])
        return None

    world.cluster.faults = cut
    await world.reconcile(0.25)
    world.cluster.faults = None


steps_taken = st.lists(st.tuples(gaps, queues, usages), min_size=4, max_size=12)


@some
@given(
    st.one_of(
        wpas().map(lambda thing: ("WatermarkPodAutoscaler", thing)),
        hpas().map(lambda thing: ("HorizontalPodAutoscaler", thing)),
        hvpas.map(lambda thing: ("Hvpa", thing)),
        st.sampled_from(["Recreate", "InPlaceOrRecreate", "Off"]).map(
            lambda mode: ("VerticalPodAutoscaler", vpa(mode))
        ),
    ),
    counts,
    steps_taken,
    st.sets(st.integers(0, 11), min_size=1),
)
@example(
    # The plan sets the count in a later reconcile than that of its decision: that is its own action too.
    ("Hvpa", resting("1m")),
    5,
    [(19.6, "25", ("200m", "9Gi")), (17.6, "15", ("1500m", "9Gi")), *[(13.4, "15", ("1500m", "3Gi"))] * 6],
    {1},
)
def test_a_restarted_controller_decides_like_an_undisturbed_one(made, count, steps, restarts):
    """Stopped after any reconcile and restarted from the saved state, it has the same counts and sizes each time."""
    kind, thing = made
    undisturbed = asyncio.run(run(thing, count, steps, kind))
    assert asyncio.run(run(thing, count, steps, kind, restarts)) == undisturbed


@some
@given(
    st.one_of(
        wpas().map(lambda thing: ("WatermarkPodAutoscaler", thing)),
        hpas().map(lambda thing: ("HorizontalPodAutoscaler", thing)),
    ),
    counts,
    steps_taken,
)
def test_a_killed_controller_scales_down_no_earlier(made, count, steps):
    """Killed before the last reconcile, what was not saved makes it only more careful."""
    kind, thing = made
    *_, (before, _), (undisturbed, _) = asyncio.run(run(thing, count, steps, kind))
    *_, (after, _) = asyncio.run(run(thing, count, steps, kind, {len(steps) - 2}, killed=True))
    assert after >= undisturbed or undisturbed > before


@some
@given(wpas(), counts, steps_taken, st.integers(1, 11))
def test_a_kill_in_a_reconcile_does_not_shorten_the_windows(thing, count, steps, dies_at):
    """The count was written but not remembered: windows count from then at the earliest.

    In the first reconcile there is no count yet to compare with.
    """
    reported = asyncio.run(run(thing, count, steps, "WatermarkPodAutoscaler", dies_at=dies_at))
    times = [sum(gap for gap, _, _ in steps[: number + 1]) for number in range(len(steps))]
    seen = [(at, replicas) for at, (replicas, _) in zip(times, reported, strict=True)]
    moves = [(at, after - before) for (_, before), (at, after) in pairwise([(0.0, count), *seen]) if after != before]
    rest = {
        True: thing["spec"]["upscaleForbiddenWindowSeconds"],
        False: thing["spec"]["downscaleForbiddenWindowSeconds"],
    }
    for (first, _), (second, change) in pairwise(moves):
        assert second - first >= rest[change > 0] - 1e-6


# The same as the command line.


PATHS = [
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/replicasets",
    "/api/v1/pods",
    "/api/v1/nodes",
    "/api/v1/limitranges",
    "/apis/metrics.k8s.io/v1beta1/pods",
    "/apis/autoscaling.k8s.io/v1/verticalpodautoscalercheckpoints",
    *[path.replace(f"/namespaces/{NAMESPACE}", "") for path in KINDS.values()],
]


def dumped(world, *values):
    """Everything, as kubectl prints it."""
    series = [
        {
            "apiVersion": "external.metrics.k8s.io/v1beta1",
            "kind": "ExternalMetricValue",
            "metricName": "queue",
            "metricLabels": {"series": str(number)},
            "timestamp": show_time(world.now),
            "value": value,
        }
        for number, value in enumerate(values)
    ]
    return [each for path in PATHS for each in world.cluster.objects(path)] + series


def usage(draw, count):
    """Some pods use much, some little, and some are not measured."""
    return [draw(st.one_of(st.none(), usages)) for _ in range(count)]


weights = st.dictionaries(st.integers(0, 60), st.integers(1, 10_000), min_size=1, max_size=4)


@st.composite
def autoscalers(draw):
    """One autoscaler of any kind; those that size pods have a checkpoint."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    if kind == "WatermarkPodAutoscaler":
        return kind, [draw(wpas())]
    if kind == "HorizontalPodAutoscaler":
        return kind, [draw(hpas())]
    if kind == "Autoscaler":
        spec = {"targetRef": TARGET}
        spec |= {"updateMode": draw(st.sampled_from(["Off", "Auto"])), "axes": draw(st.sampled_from(AXES))}
        return kind, [made("hypot.dev/v1alpha1", kind, "web", spec)]
    learnt = checkpoint(cpu=draw(weights), memory=draw(weights))
    mode = draw(st.sampled_from(["Recreate", "InPlaceOrRecreate", "Off", "Initial"]))
    if kind == "Tortoise":
        return kind, [learning(draw(st.booleans())), learnt]
    return kind, [draw(hvpas) if kind == "Hvpa" else vpa(mode), learnt]


@st.composite
def put_out(draw):
    """A pod that the kubelet evicted because of memory pressure, or none."""
    used = draw(st.sampled_from([None, "700Mi", "9Gi", "much"]))
    if used is None:
        return []
    at = show_time(NOW - draw(st.sampled_from([5, 3600, 90_000])))
    message = "The node was low on resource: memory. Container app was using {}, request is 1Gi, "
    ended = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "lastTransitionTime": at}
    reported = {"phase": "Failed", "reason": "Evicted", "message": message.format(used), "conditions": [ended]}
    return [pod(9, status=reported)]


rooms = st.sampled_from([[node()], [node(cpu="1")], [node(), limit_range(max={"cpu": "1"})]])


@some
@given(
    st.data(),
    autoscalers(),
    rooms,
    counts,
    put_out(),
    st.lists(st.sampled_from(["0", "15", "41", "400"]), min_size=1, max_size=2),
)
def test_a_reconcile_decides_as_the_command_does_on_a_dump(data, one_of_any, room, count, gone, values):
    """The same objects give the same decision and messages."""
    kind, things = one_of_any
    used = usage(data.draw, count)

    async def reconciled():
        async with World(*web(count), *gone, *things, *room, kinds=all_kinds(**{kind: "observe"})) as world:
            for index, each in enumerate(used):
                if each is not None:
                    world.uses_of(index, *each)
            world.queue(*values)
            dump = dumped(world, *values)
            return await world.outcome(kind, after=0.0), dump, world.reconciler.config.settings

    outcome, dump, setup = asyncio.run(reconciled())
    command = _Run(setup, Snapshot(dump), NOW, "given")
    (one,) = command.snapshot.autoscalers()
    assert {hold.reason for hold in outcome.holds} <= {"MissingMetrics", "StaleAnswer"}
    assert in_any_words(outcome.decision.to_dict()) == in_any_words(command._decision(one).to_dict())


def in_any_words(reported):
    """The decision without texts that differ: a dump has other texts for what can still be added."""
    # What a checkpoint leaves out is known to a controller that continued to measure.
    text = json.dumps({**reported, "unknown": []}, default=str)
    for one, other in MISSING.items():
        text = text.replace(one, other)
    return json.loads(text)


MISSING = {IN_DUMP.samples(NAMESPACE): IN_CLUSTER.samples(NAMESPACE)}
