"""A workload called kube-apiserver with the proposal's intervals: its pods, recommendations and decisions."""

from builders import LONG_AGO, NOW, hvpa_decided
from hypot.core.amount import to_milli
from hypot.kinds.hvpa import Hvpa
from hypot.policy.hvpa.hvpa import SOURCES
from hypot.policy.hvpa.proposal import SizeProposal
from hypot.policy.model.decision import Step
from hypot.policy.model.seen import Bounds, Container, CountAdvice, Pod, PodSample, Recommendation, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from unit.policy.hvpa.hvpa_cases import HEAD, INTERVALS, hpa, manifest

GI = 2**30
FRESH = State()
# Every change counts.
FREE = {"minChange": {"cpu": {"value": 0}, "memory": {"value": 0}}}
UTILIZATION = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 100}},
}
QUEUE = {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "1"}}}
BY_OBJECTS = {"hypot.dev/recommendations": "objects"}


def hvpa(*, annotations=None, status=None, **spec):
    """The proposal's intervals with only the VPA, where every change counts; fields may be added or replaced."""
    usual = {"hpa": {"deploy": False}, "scaleUp": FREE, "scaleDown": FREE}
    made = manifest(INTERVALS, **{**usual, **spec})
    made["spec"] = {key: value for key, value in made["spec"].items() if value is not None}
    return Hvpa.from_dict(
        {**made, "metadata": {**HEAD["metadata"], "annotations": annotations or {}}, "status": status}
    )


def both(*metrics, **spec):
    """With an HPA as well, both read from the status of objects."""
    return hvpa(hpa=hpa(metrics=list(metrics) or [UTILIZATION]), annotations=BY_OBJECTS, **spec)


def scale(mode="Auto", **more):
    return {**FREE, "updatePolicy": {"updateMode": mode}, **more}


def sizes(cpu=None, memory=None):
    """Millicores and bytes; resources that are not given are not set."""
    return {resource: amount for resource, amount in (("cpu", cpu), ("memory", memory)) if amount is not None}


def box(name="app", cpu=None, memory=None, *, limits=None, **more):
    """A container of this size."""
    amounts = ({r: to_milli(r, a) for r, a in each.items()} for each in (sizes(cpu, memory), limits or {}))
    return Container(name, *amounts, **more)


def pods(count, *containers, **more):
    usual = {"containers": containers, "node": "n1", "ready": "True", "ready_since": LONG_AGO, "started": LONG_AGO}
    return tuple(Pod(f"web-{i}", **{**usual, **more}) for i in range(count))


def advice(**targets):
    """What the status of a VPA says of each container: cpu and memory of one pod."""
    return Recommendation(tuple(Bounds(name, target) for name, target in targets.items()), "status of a VPA")


def world(count, *containers, desired=None, now=NOW, **observed):
    """This many pods of these containers; other keywords are a VPA's target for a container, or fields of Seen."""
    names = {container.name for container in containers}
    targets = {name: observed.pop(name) for name in list(observed) if name in names}
    usual = {"pods": pods(count, *containers), "size_advice": advice(**targets) if targets else None}
    if desired is not None:
        usual["count_advice"] = CountAdvice(desired, count, "the status of an HPA")
    return Seen(now, Scale(count, count, "app=web"), **{**usual, **observed})


def used(count, *, at=NOW - 10, **usage):
    """One sample of each pod, in amounts: containers and their usage."""
    measured = tuple((name, {r: to_milli(r, a) for r, a in each.items()}) for name, each in usage.items())
    return {f"web-{i}": PodSample(at, 30.0, measured) for i in range(count)}


def run(spec, seen, state=FRESH, sources=SOURCES, **settings):
    """The decision and the new state."""
    return hvpa_decided(spec, seen, state, Settings(**settings), sources)


def decided(spec, seen, state=FRESH, sources=SOURCES):
    return run(spec, seen, state, sources)[0]


def asking(name="test", *, exact=True, replicas=None, missing="", **totals):
    """A source that asks for these totals: a container and its amounts."""
    places = {(container, resource): amount for container, each in totals.items() for resource, amount in each.items()}
    step = Step("recommend", name, None, None, f"The source {name} asks.")
    proposal = SizeProposal(name, (step,), places, measured=exact, exact=exact, replicas=replicas, missing=missing)
    return lambda _: proposal


def context(spec, seen):
    """The context that every source gets."""
    looks = []
    decided(spec, seen, sources=[looks.append])
    return looks[0]


def point(decision):
    """The number of replicas and the requests of each container."""
    return decision.desired, {size.container: dict(size.requests) for size in decision.desired_sizes}


def one(decision, container="app"):
    """The number of replicas and the requests of one container."""
    replicas, requests = point(decision)
    return replicas, requests[container]


def limits_of(decision, container="app"):
    return next(dict(size.limits) for size in decision.desired_sizes if size.container == container)


def blocked(decision):
    return [one["reason"] for one in decision.reported["lastBlockedScaling"]]


def sentences(decision, rule):
    return [step.sentence for step in decision.steps if step.rule == rule]
