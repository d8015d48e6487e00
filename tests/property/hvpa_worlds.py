"""Random Hvpas with valid intervals, workloads for them, and totals to ask for."""

from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from builders import hvpa_decided
from hypot.core.amount import to_milli
from hypot.kinds.hvpa import Hvpa, refusals
from hypot.kinds.vpa.fields import amounts_of, policy_of
from hypot.policy.hvpa.proposal import SizeProposal
from hypot.policy.model.decision import Step
from hypot.policy.model.seen import (
    Bounds,
    ClusterNode,
    Container,
    CountAdvice,
    Ended,
    Pod,
    PodSample,
    Recommendation,
    Scale,
    Seen,
)
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import Recount, State, Vertical
from property.picks import among, either, mostly, within
from property.worlds import NOW, any_state, any_world, failures

RESOURCES = ("cpu", "memory")
NAMES = ("app", "side")
# Memory is in whole kilobytes, cpu in millicores; both are small, so that borders are near.
UNIT = {"cpu": 1, "memory": 1000}
FREE = {"minChange": {"cpu": {"value": 0}, "memory": {"value": 0}}}
DIVISIONS = ("linear", "linear", "linearPerPod", None)

some = st.integers(1, 3000)
wanted_amounts = st.integers(1, 9000)
names = st.sampled_from([("app",), ("app",), NAMES])


def quantity(resource, amount):
    return f"{amount}m" if resource == "cpu" else amount * UNIT["memory"]


def per_resource(values):
    return st.fixed_dictionaries({r: values.map(lambda a, r=r: a * UNIT[r]) for r in RESOURCES})


more_each = st.lists(st.integers(1, 3), min_size=1, max_size=4)


@st.composite
def interval_rows(draw, divisions=DIVISIONS):
    """Rising counts, and sizes with rising totals."""
    rows, before = [], dict.fromkeys(RESOURCES, 0)
    for count in accumulate(draw(more_each)):
        sizes = {r: before[r] // count + 1 + draw(within(10, 1000)) for r in RESOURCES}
        before = {r: sizes[r] * count for r in RESOURCES}
        row = {"maxReplicas": count, "maxResources": {r: quantity(r, size) for r, size in sizes.items()}}
        division = draw(among(*divisions))
        rows.append({**row, "effectiveIntervalExtrapolation": division} if division else row)
    return rows


def changes(percent, value):
    """A percentage and an amount of each resource."""
    own = {
        r: st.fixed_dictionaries(
            {},
            optional={
                "percentage": st.integers(0, percent),
                "value": st.integers(0, value).map(lambda a, r=r: quantity(r, a)),
            },
        )
        for r in RESOURCES
    }
    return st.fixed_dictionaries({}, optional=own)


wide = st.fixed_dictionaries({r: st.fixed_dictionaries({"percentage": st.integers(5, 100)}) for r in RESOURCES})
overlapping = {"scalingIntervalsOverlap": changes(100, 9)}
gapped = {"baseResourcesPerReplica": changes(50, 9)}


def policies(bounds):
    """One policy for each container, or one for all."""
    made = [{"containerName": name, **own} for name, own in bounds.items()]
    return {"deploy": True, "template": {"spec": {"resourcePolicy": {"containerPolicies": made}}}}


leasts = st.sampled_from([{}, {"cpu": "5m", "memory": 5000}, {"memory": 9000}])
mosts = st.sampled_from([{}, {"cpu": "8", "memory": 8_000_000}, {"cpu": "4500m"}])
own_values = st.sampled_from([{}, {}, {"controlledValues": "RequestsOnly"}, {"mode": "Auto"}])


@st.composite
def bounds(draw):
    """At least a little, at most a lot, or no bounds."""
    least, most, values = draw(leasts), draw(mosts), draw(own_values)
    return {key: value for key, value in {"minAllowed": least, "maxAllowed": most, **values}.items() if value}


bounded = st.dictionaries(st.sampled_from([*NAMES, "*"]), bounds(), max_size=3).map(policies)


def lived(hvpa, container, word, resource):
    """The bound of a container, None where it has none."""
    policy = policy_of(hvpa.container_policies, container)
    return amounts_of(getattr(policy, word, None)).get(resource)


def manifest(rows, **spec):
    usual = {
        "targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "hpa": {"deploy": False},
        "scalingIntervals": rows,
        "scaleUp": FREE,
        "scaleDown": FREE,
    }
    return {"metadata": {"name": "web"}, "spec": {**usual, **spec}}


def hvpas(divisions=DIVISIONS, required=None, **optional):
    """Manifests where every change counts; optional fields are strategies."""
    more = st.fixed_dictionaries(required or {}, optional=optional)
    return st.builds(lambda rows, own: manifest(rows, **own), interval_rows(divisions), more)


def sound(data):
    """The Hvpa of a manifest without errors."""
    hvpa = Hvpa.from_dict(data)
    assume(not refusals(hvpa))
    return hvpa


class Fleet(NamedTuple):
    """So many pods, each with containers of this size."""

    replicas: int
    sizes: dict[str, dict[str, int]]

    def total(self, container, resource):
        return self.replicas * self.sizes[container].get(resource, 0)


@cache
def totals(of, values=wanted_amounts):
    return st.fixed_dictionaries({name: per_resource(values) for name in of})


@cache
def states(of):
    return st.builds(Fleet, st.integers(1, 12), st.fixed_dictionaries({name: per_resource(some) for name in of}))


@cache
def worlds_of(of):
    return st.tuples(states(of), totals(of))


@cache
def shares_of(of):
    return st.tuples(states(of), st.fixed_dictionaries({name: st.tuples(percents, percents) for name in of}))


@cache
def paths_of(of):
    return st.lists(totals(of, some), min_size=1, max_size=5)


percents = st.integers(0, 100)
worlds, shares, paths = names.flatmap(worlds_of), names.flatmap(shares_of), names.flatmap(paths_of)


def asking(wanted, name="test", *, exact=True):
    """A source that asks for these totals."""
    places = {(container, r): amount for container, own in wanted.items() for r, amount in own.items()}
    step = Step("recommend", name, None, None, f"{name} asks.")
    proposal = SizeProposal(name, (step,), places, measured=exact, exact=exact)
    return lambda _: proposal


def seen_of(state):
    containers = tuple(
        Container(name, {r: to_milli(r, amount) for r, amount in own.items()}) for name, own in state.sizes.items()
    )
    pods = tuple(Pod(f"web-{i}", containers=containers) for i in range(state.replicas))
    return Seen(NOW, Scale(state.replicas, state.replicas, "app=web"), pods)


def decided(hvpa, state, wanted):
    return hvpa_decided(hvpa, seen_of(state), State(), Settings(), [asking(wanted)])[0]


def after(decision):
    return Fleet(decision.desired, {size.container: dict(size.requests) for size in decision.desired_sizes})


def step(hvpa, state, wanted):
    """The fleet after one decision."""
    return after(decided(hvpa, state, wanted))


def rest(hvpa, state, wanted):
    """The same totals until nothing moves."""
    for _ in range(20):
        then = step(hvpa, state, wanted)
        if then == state:
            return state
        state = then
    raise AssertionError(f"never comes to rest: {state}")


def grown(hvpa, wanted):
    """At rest with these totals, from one pod that has almost nothing."""
    least = Fleet(1, {name: dict.fromkeys(own, 1) for name, own in wanted.items()})
    return rest(hvpa, least, wanted)


def shuffled(seen, order):
    """The same world with its lists in another order."""
    pods = [replace(pod, containers=tuple(order(pod.containers))) for pod in order(seen.pods)]
    return replace(seen, pods=tuple(pods))


# Manifests that users may write, and odd values for any place in them.

scale_types = st.fixed_dictionaries(
    {},
    optional={
        "updatePolicy": st.sampled_from(["Auto", "Off", "MaintenanceWindow"]).map(lambda mode: {"updateMode": mode}),
        "minChange": changes(100, 500),
        "stabilizationDuration": st.sampled_from(["0", "30s", "1h"]),
    },
)


def metric(kind, of, **target):
    """A metric of an HPA, as in its manifest."""
    key = kind[0].lower() + kind[1:]
    return {"type": kind, key: {**of, "target": target}}


metrics = st.lists(
    st.sampled_from(
        [
            metric("Resource", {"name": "cpu"}, type="Utilization", averageUtilization=80),
            metric("Resource", {"name": "memory"}, type="AverageValue", averageValue="1"),
            metric("External", {"metric": {"name": "queue"}}, type="Value", value="1"),
        ]
    ),
    max_size=2,
)
hpa_blocks = st.builds(
    lambda deploy, own: {"deploy": deploy, "template": {"spec": own}},
    st.booleans(),
    st.fixed_dictionaries({}, optional={"minReplicas": st.integers(1, 2), "metrics": metrics}),
)
windows = [{"begin": "070000+0000", "end": "090000+0000"}, {"begin": "220000+0100", "end": "010000+0100"}]
specs = st.fixed_dictionaries(
    {"maintenanceTimeWindow": st.sampled_from(windows)},
    optional={
        "hpa": hpa_blocks,
        "vpa": st.one_of(bounded, st.just({"deploy": False})),
        "scaleUp": scale_types,
        "scaleDown": scale_types,
        "scalingIntervalsOverlap": changes(100, 1),
        "baseResourcesPerReplica": changes(50, 9),
        "limitsRequestsGapScaleParams": changes(100, 500),
    },
)
annotations = st.sampled_from([{}, {}, {"hypot.dev/recommendations": "objects"}])
written = st.builds(
    lambda rows, spec, notes: {**manifest(rows, **spec), "metadata": {"name": "web", "annotations": notes}},
    interval_rows(("linear", "linearPerPod", "horizontalOnly", None)),
    specs,
    annotations,
)
strange_values = (None, 0, -1, 1.5, True, "", "x", "1e400", "-5m", "9" * 30, 10**30, float("inf"))
odd = st.sampled_from([*strange_values, [], {}, [None], {"cpu": None}, [{}]])


@st.composite
def junk(draw, data):
    """Put an odd value into one place of a manifest, in place."""
    here = data
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = draw(st.sampled_from(keys)) if keys else None
        below = here[key] if keys else None
        if keys and isinstance(below, dict | list) and below and draw(st.integers(0, 3)):
            here = below
            continue
        if isinstance(here, list):
            here.append(draw(odd)) if key is None else here.__setitem__(key, draw(odd))
        else:
            here[draw(st.sampled_from(["strange", *here]))] = draw(odd)
        return data


amounts = st.one_of(st.integers(0, 5000), st.integers(0, 10**14))
resources = st.fixed_dictionaries({}, optional={"cpu": amounts, "memory": amounts})
endings = st.one_of(st.none(), st.none(), st.builds(Ended, st.just("OOMKilled"), st.just(NOW - 100), st.just(NOW - 50)))


def containers(of, requests, limits):
    return st.builds(Container, of, requests, limits, st.one_of(st.none(), requests), ended=endings)


def recommendations(targets):
    bounds_of = st.lists(st.builds(Bounds, st.sampled_from(NAMES), targets), max_size=3).map(tuple)
    return st.builds(Recommendation, bounds_of, st.just("test"))


odd_boxes = st.lists(
    containers(st.sampled_from(NAMES), resources, resources), max_size=2, unique_by=lambda one: one.name
)
odd_nodes = st.dictionaries(
    st.just("n1"), st.builds(ClusterNode, st.just("n1"), resources, resources, st.booleans()), max_size=1
)
odd_sizes = st.one_of(st.none(), failures, recommendations(resources))
odd_counts = st.one_of(
    st.none(), failures, st.builds(CountAdvice, st.integers(0, 20), st.integers(0, 12), st.just("test"))
)


@st.composite
def odd_worlds(draw):
    """Any world, with everything that sizes depend on."""
    seen, boxes = draw(any_world), tuple(draw(odd_boxes))
    return replace(
        seen,
        pods=tuple(replace(pod, containers=boxes or pod.containers, node="n1") for pod in seen.pods),
        template=boxes,
        size_advice=draw(odd_sizes),
        count_advice=draw(odd_counts),
        nodes=draw(odd_nodes),
    )


milli = st.fixed_dictionaries({"cpu": some, "memory": some.map(lambda a: a * 1_000_000)})
likely_boxes = {name: containers(st.just(name), milli, st.sampled_from([{}, {"cpu": 4000}])) for name in NAMES}


@st.composite
def likely_worlds(draw):
    """A workload that runs, mostly with recommendations, sometimes at its limits."""
    of, count = draw(names), draw(within(1, 8))
    boxes = tuple(draw(likely_boxes[name]) for name in of)
    pods = tuple(Pod(f"web-{i}", containers=boxes, node="n1", ready="True") for i in range(count))
    usage = tuple((name, draw(milli)) for name in of)
    measured = {pod.name: PodSample(NOW - 10, 30.0, usage) for pod in pods}
    targets = draw(totals(of, some))
    advice = Recommendation(tuple(Bounds(name, own) for name, own in targets.items()), "test")
    return Seen(
        NOW,
        Scale(count, count, "app=web"),
        pods,
        measured if draw(either) else {},
        size_advice=advice if draw(mostly) else None,
        count_advice=CountAdvice(draw(within(1, 9)), count, "test"),
        nodes=draw(odd_nodes),
    )


any_hvpa_world = st.one_of(likely_worlds(), likely_worlds(), likely_worlds(), odd_worlds())
verticals = st.builds(
    Vertical,
    last_up=st.sampled_from([None, NOW - 40, NOW - 1000]),
    replicas=st.sampled_from([None, 1, 3, 5]),
    advice=totals(NAMES, some),
    recount=st.one_of(
        st.none(),
        st.builds(
            Recount,
            st.sampled_from([NOW - 10, NOW - 600, NOW - 100_000]),
            st.integers(1, 4),
            st.integers(1, 4),
            totals(NAMES, some),
        ),
    ),
    hot=st.sampled_from([{}, {"app/cpu": NOW - 100}, {"side/memory": NOW - 100, "app/memory": NOW - 10}]),
)
remembered = st.builds(lambda state, vertical: state._replace(vertical=vertical), any_state, verticals)
