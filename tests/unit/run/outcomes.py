"""Outcomes of a reconcile for tests, made by real decisions: objects of each kind, in the states that matter."""

from dataclasses import replace

from builders import KNOWN, NOW, busy, hpa, queue, refused, seen, wpa
from hypot.core.bank.bank import RULES
from hypot.core.bank.rule import nothing_learned
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.hpa.fields import cpu
from hypot.kinds.node import replaced
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import LIFECYCLE_CONTROL, Recommender, WatermarkRules, band
from hypot.policy.decide import decide
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.decision import Hold
from hypot.policy.model.seen import Bounds, Controller, Failure, Owner, Recommendation, Reply, Seen, metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.run.outcome import Outcome
from unit.policy.hvpa.hvpa_world import box, hvpa, pods, used, world
from unit.policy.sizes_world import vpa as vpa_manifest
from unit.policy.tortoise import tortoise_world

FREE = {"scale_up": WatermarkRules(percent=10_000), "scale_down": WatermarkRules(percent="99.9")}
NO_SCALE = Seen(NOW, Failure("deployments.apps web not found"))
OWNER = Owner("ReplicaSet", "web-5d9c")
PAUSED = Hold("Paused", "the annotation hypot.dev/paused stops all scaling")
CONFLICT = Hold("Conflict", "HorizontalPodAutoscaler shop/web scales the same pods: remove one of the two")


def outcome(spec, observed, state=None, *, holds=(), refusal="", **more):
    """The outcome of one reconcile for an object: decided, held back, written or refused."""
    state = State() if state is None else state
    decision, after = decide(spec, observed, state, Settings(), holds)
    if refusal:
        decision = refused(spec, decision, state, refusal)
        after = after.reported(decision)
    else:
        after = after.acted(decision, observed.now)
    key = (spec.KIND, spec.namespace, spec.name)
    return Outcome(key, spec, observed, decision, after, holds=tuple(holds), refusal=refusal, **more)


def items(amount, replicas=10, **observed):
    """A queue of so many milli-units."""
    return queue(amount, replicas, selector={}, **observed)


def between(low=20, high=40, **fields):
    """A WatermarkPodAutoscaler of the queue."""
    return wpa(band("queue", high=high, low=low), **fields)


def crowded(metrics, holds, state=None):
    """An outcome with so many metrics that could be read, and so many holds."""
    spec = wpa(*[band(f"metric-{i}", high=400, low=150) for i in range(metrics)])
    external = {metric_key(f"metric-{i}", {}): (300_000,) for i in range(metrics)}
    reasons = [Hold(f"Reason{i}", "held") for i in range(holds)]
    return outcome(spec, seen(10, external_metrics=external), state, holds=reasons)


def with_metadata(spec, **metadata):
    return replaced(spec, metadata={**spec.metadata, **metadata})


def vpa(mode="Recreate", **more):
    return VPA.from_dict(vpa_manifest(mode, **more))


def sized(cpu=1000, target=2000, count=3, **more):
    """Pods of one container, and a recommendation for it."""
    bounds = Bounds("app", {"cpu": target, "memory": 2**30}, {"cpu": target - 100}, {"cpu": target + 100})
    advice = Recommendation((bounds,), "histograms of usage")
    container = box(cpu=cpu, memory=2**30)
    there = pods(count, container, owners=(OWNER,), qos="Burstable")
    controllers = {OWNER: Controller(*OWNER, count)}
    return world(count, container, pods=there, controllers=controllers, size_advice=advice, **more)


def tortoise(**more):
    """What a Tortoise observes, decides and keeps; by default its HPA gets other bounds."""
    there = tortoise_world.World(**more)
    return (*there.seen(), there.state)


def learner(mode="Auto", **spec):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    body = {"targetRef": target, "updateMode": mode, **spec}
    return WorkloadAutoscaler.from_dict({"metadata": {"name": "web", "namespace": "shop"}, "spec": body})


def using(cpu, millicores=500, count=4):
    """What an Autoscaler observes of pods of this size that use so many millicores each."""
    container = box(cpu=millicores, memory=2**30)
    there = world(count, container, pods=pods(count, container, owners=(OWNER,)))
    return replace(there, pod_metrics=used(count, app={"cpu": cpu, "memory": 2**29}))


def priced():
    """The state of an Autoscaler whose rules cost three quarters of what an HPA at 70 % would have cost."""
    past = nothing_learned()
    for bank in (past.counts, past.sizes):
        bank.prices[:], bank.priced[0] = [30.0] * RULES + [40.0], 9
    return State(autoscaler=AutoscalerState(past))


NAMING = tortoise_world.tortoise(refs={"horizontalPodAutoscalerName": "mine"})


def representative():
    """A name and an outcome for each way in which the status of a kind can look."""
    broken = WPA.from_dict({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"maxReplicas": "many"}})
    advised = wpa(recommender=Recommender("https://advice.example/", high="800m", low="500m"), **FREE)
    grown = world(2, box(cpu=400, memory=2**30), app={"cpu": 2000, "memory": 2**30})
    return {
        "hpa moves": outcome(hpa(cpu(utilization=50)), busy(900, 900), KNOWN),
        "hpa stays": outcome(hpa(cpu(utilization=50)), busy(500, 500), KNOWN),
        "hpa blind": outcome(hpa(cpu(utilization=50)), seen(3), KNOWN),
        "hpa without scale": outcome(hpa(cpu(utilization=50)), NO_SCALE, KNOWN),
        "hpa refused": outcome(hpa(cpu(utilization=50)), busy(900, 900), KNOWN, refusal="409 conflict"),
        "hpa paused": outcome(hpa(cpu(utilization=50)), busy(900, 900), KNOWN, holds=(PAUSED,)),
        "wpa moves": outcome(between(), items(80_000)),
        "wpa stays": outcome(between(), items(30_000)),
        "wpa waits": outcome(between(), items(80_000), State(last_scale=NOW - 5, desired=10)),
        "wpa blind": outcome(between(), seen(3)),
        "wpa without scale": outcome(between(), NO_SCALE),
        "wpa broken": outcome(broken, NO_SCALE),
        "wpa refused": outcome(between(), items(80_000), refusal="409 conflict"),
        "wpa paused": outcome(between(), items(80_000), holds=(PAUSED,)),
        "wpa in conflict": outcome(between(), items(80_000), holds=(CONFLICT,)),
        "wpa advised": outcome(advised, seen(10, reply=Reply(12, 11, 13, "traffic", 0.9))),
        "wpa unadvised": outcome(advised, seen(10, reply=Failure("no answer"))),
        "wpa guarded": outcome(between(annotations={LIFECYCLE_CONTROL: "true"}), items(80_000)),
        "wpa tried": outcome(between(dry_run=True), items(80_000)),
        "vpa evicts": outcome(vpa(), sized()),
        "vpa resizes": outcome(vpa("InPlaceOrRecreate"), sized()),
        "vpa only says": outcome(vpa("Off", generation=3), sized()),
        "vpa blind": outcome(vpa(), world(3, box(cpu=1000))),
        "vpa without target": outcome(vpa(), NO_SCALE),
        "vpa refused": outcome(vpa(), sized(), refusal="409 conflict"),
        "vpa paused": outcome(vpa(), sized(), holds=(PAUSED,)),
        "hvpa moves": outcome(hvpa(), grown),
        "hvpa stays": outcome(hvpa(), world(1, box(cpu=300, memory=2**30), app={"cpu": 300, "memory": 2**30})),
        "hvpa blind": outcome(hvpa(), world(2, box(cpu=300, memory=2**30))),
        "hvpa without scale": outcome(hvpa(), NO_SCALE),
        "hvpa refused": outcome(hvpa(), grown, refusal="409 conflict"),
        "hvpa paused": outcome(hvpa(), grown, holds=(PAUSED,)),
        "autoscaler moves": outcome(learner(), using(400)),
        "autoscaler knows": outcome(learner(), using(400), priced()),
        "autoscaler sizes": outcome(learner(axes="Size"), using(400)),
        "autoscaler only says": outcome(learner("Off"), using(400)),
        "autoscaler blind": outcome(learner(), replace(using(400), pod_metrics={})),
        "autoscaler without scale": outcome(learner(), NO_SCALE),
        "autoscaler refused": outcome(learner(), using(400), refusal="409 conflict"),
        "autoscaler paused": outcome(learner(), using(400), holds=(PAUSED,)),
        "tortoise edits": outcome(*tortoise()),
        "tortoise begins": outcome(*tortoise(hpa=None, state=State())),
        "tortoise gathers": outcome(
            *tortoise(state=State(), tortoise=NAMING, hpa=tortoise_world.hpa(3, 100, name="mine"))
        ),
        "tortoise only says": outcome(*tortoise(tortoise=tortoise_world.tortoise("Off"))),
        "tortoise sizes": outcome(*tortoise(peak={"app": {"memory": 2**31}})),
        "tortoise without scale": outcome(tortoise()[0], NO_SCALE, tortoise()[2]),
        "tortoise refused": outcome(*tortoise(peak={"app": {"memory": 2**31}}), refusal="409 conflict"),
        "tortoise paused": outcome(*tortoise(), holds=(PAUSED,)),
    }
