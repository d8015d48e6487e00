"""Replay executes plans as the controller does.

Two copies of one simulated world run in parallel. In one, `replay.numbers.plan` executes a decision on groups of pods.
In the other, `policy.plan` observes the world as the controller observes a cluster, and the world does what it asks
for. After every tick both worlds must show the same pods, and both plans must be under way or over.

The simulated world cannot show everything that the controller meets, so these are not compared here:

- Ways to resize other than InPlaceOrRecreate: replay has no rolling update, and evicts wherever it may.
- StatefulSets, pods without a controller, several containers, sidecars, and pods with pod-level resources.
- Nodes by their allocatable: in the simulated world a pod that is too large for a node has a node of its own. The
  nodes that the world shows are only how much each pod can get, so they are hidden from the controller here.
- A resize that its node refuses for good, or that fails there: in the simulated world it waits. What the API server
  refuses, because the QoS class would change, is compared.
- Kubernetes 1.33, which lowers a memory limit only with a restart. Older versions are worlds that cannot resize.
- A webhook next to the template: in the simulated world the size that is recorded for new pods is the template's.
- The creation time of a pod that waited for a node: the simulated world only knows since when it has a node.
- What the controller adds to a plan: holds, times at which an object allows nothing, evictions one by one until the
  webhook is proven, and writes that fail.
"""

from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from hypot.policy.model.current_size import current_size
from hypot.policy.model.decision import Decision, Name
from hypot.policy.model.size import Size
from hypot.policy.plan.pursue import EvictPod, RecordSize, ResizePod, ScaleTo, begin, outgrows, pursue
from hypot.replay.engine.acting import isolate, plain, set_template
from hypot.replay.numbers.plan import begin_plan, is_bound, no_plan, pursue_plan
from hypot.replay.world.cohorts import MORTAL
from hypot.replay.world.lifecycle import crash, evict, resize, scale_to
from hypot.replay.world.parameters import Heap, Nodes, Pods, ResizeParameters, World
from property.replay_worlds import GIB, MIB, Place

# The Kubernetes versions of a world that can resize pods in place, and of a world that cannot.
VERSIONS = {True: (1, 36), False: (1, 32)}
NAME = Name("autoscaling.k8s.io/v1alpha1", "Hvpa", "shop", "web")
LOOKS = 30

often = settings(
    max_examples=30,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large),
)


class Start(NamedTuple):
    """A workload before anything is decided."""

    replicas: int
    cpu: int
    memory: int
    # A factor of each request; None without a limit.
    cpu_limit: float | None
    memory_limit: float | None
    restarts: frozenset[str]

    def place(self, world):
        limits = [
            None if times is None else int(amount * times)
            for amount, times in ((self.cpu, self.cpu_limit), (self.memory, self.memory_limit))
        ]
        return Place(
            world,
            replicas=self.replicas,
            cpu=self.cpu,
            memory=self.memory,
            cpu_limit=limits[0],
            memory_limit=limits[1],
            restarts=self.restarts,
        )


class Move(NamedTuple):
    """A decision at a step: how many replicas more or fewer, and the factors of the sizes."""

    at: int
    replicas: int
    cpu: float
    memory: float
    # How much more limits grow than requests.
    gap: float = 1.0
    catches_up: bool = False

    def decision(self, seen, resources):
        """The decision of an Hvpa: by the largest pod, and of the resources that it controls."""
        had = current_size(seen, seen.scale.replicas)[0].size.only(resources)
        times = {"cpu": self.cpu, "memory": self.memory}
        requests = {resource: int(amount * times[resource]) for resource, amount in had.requests.items()}
        limits = {resource: int(amount * times[resource] * self.gap) for resource, amount in had.limits.items()}
        limits = {resource: max(amount, requests[resource]) for resource, amount in limits.items()}
        before = seen.scale.replicas
        explained = (NAME, NAME, seen.now, before, max(1, before + self.replicas), "", (), (), ())
        after = Size(had.container, requests, limits)
        return Decision(*explained, sizes=(had,), desired_sizes=(after,), catches_up=self.catches_up)


class Mishap(NamedTuple):
    """Something that happens to the pods of one group, or to the count, at a step."""

    at: int
    what: str
    which: int

    def happen(self, place):
        c, s, p = place.c, place.s, place.p
        if self.what == "scaled":
            scale_to(c, s, p, 1 + self.which, place.now)
            return
        mortal = place.groups(*MORTAL)
        if mortal:
            crash(c, s, p, mortal[self.which % len(mortal)], place.now)


class ByReplay:
    """The plan on groups of pods."""

    def __init__(self, place, *, in_place):
        self.place, self.in_place, self.plan = place, in_place, no_plan()

    @property
    def is_active(self):
        return bool(self.plan.active[0])

    def is_held(self, decision):
        cpu, memory, *_ = plain(decision.desired_sizes[0])
        return is_bound(self.plan, decision.desired if decision.rescales else 0, cpu, memory)

    def begin(self, decision):
        place = self.place
        here = (place.c, place.s, place.p, self.in_place)
        had = self._whole(decision.sizes[0])[:2]
        size = self._whole(decision.desired_sizes[0])
        begin_plan(self.plan, *here, decision.desired, *size, *had, decision.resizes, place.now)

    def pursue(self):
        place = self.place
        pursue_plan(self.plan, place.c, place.s, place.p, self.in_place, place.now)

    def _whole(self, size):
        """The size with missing resources as all pods have them."""
        return plain(completed(size, seen_in(self.place)))


class ByController:
    """The plan on observed pods."""

    def __init__(self, place, *, in_place):
        self.place, self.kubernetes, self.plan = place, VERSIONS[in_place], None

    @property
    def is_active(self):
        return self.plan is not None

    def is_held(self, decision):
        return self.plan is not None and not outgrows(self.plan, decision)

    def begin(self, decision):
        place = self.place
        self._do(begin(decision, seen_in(place), "InPlaceOrRecreate", self.kubernetes, place.now))

    def pursue(self):
        place = self.place
        self._do(pursue(self.plan, seen_in(place), self.kubernetes, place.now))

    def _do(self, progress):
        self.plan = progress.plan
        for (kind, *_), run in groupby(progress.actions, self._key_by(self._groups())):
            self._act(kind, list(run))

    def _groups(self):
        """The first pod of the group of each pod: neighbours are changed together."""
        names = [self.place.scene.observer.names(k) for k in range(self.place.c.used[0])]
        return {name: group[0] for group in names for name in group}

    def _key_by(self, groups):
        return lambda action: (type(action), groups[action.pod] if hasattr(action, "pod") else action)

    def _act(self, kind, run):
        place = self.place
        here, now, first = (place.c, place.s, place.p), place.now, run[0]
        if kind is ScaleTo:
            assert first.expected == place.s.asked[0]
            scale_to(*here, first.replicas, now)
        elif kind is RecordSize:
            set_template(place.s, plain(completed(first.sizes[0], seen_in(place))))
        else:
            serial, number = (int(part) for part in first.pod.rsplit("-", 2)[1:])
            (k,) = isolate(place.c, place.p, serial, number, number + len(run) - 1)
            assert kind in {ResizePod, EvictPod}
            if kind is EvictPod:
                evict(*here, k, len(run), now)
            else:
                resize(*here, k, *plain(first.sizes[0]), now)


def seen_in(place):
    """The observation of the world, without its made-up nodes; the template has the size of new pods."""
    seen = place.scene.observer.seen(place.i - 1, place.now)
    made = place.scene.observer._sized(*place.s.template)
    return replace(seen, nodes={}, template=(made,))


def completed(size, seen):
    """The size with missing resources as the template has them."""
    has = current_size(replace(seen, pods=()), 1)[0].size
    return Size(size.container, {**has.requests, **size.requests}, {**has.limits, **size.limits})


def shown(place):
    """Everything that both worlds must share: pods with their states and sizes, the count and the template."""
    seen = seen_in(place)
    return seen.scale, seen.template, sorted(seen.pods, key=lambda pod: pod.name), place.s.nodes[0]


class Case(NamedTuple):
    """A world, what an Hvpa controls in it, its decisions, and other events."""

    world: World
    start: Start
    resources: tuple[str, ...]
    moves: list[Move]
    mishaps: list[Mishap]


def assert_agreement(case):
    in_place = case.world.resize.in_place
    both = [by(case.start.place(case.world), in_place=in_place) for by in (ByReplay, ByController)]
    moves = {move.at: move for move in case.moves}
    for look in range(LOOKS):
        for one in both:
            one.place.tick()
            for mishap in case.mishaps:
                if mishap.at == look:
                    mishap.happen(one.place)
        act(both, moves.get(look), case.resources)
        replayed, controlled = both
        assert shown(replayed.place) == shown(controlled.place), look
        assert replayed.is_active == controlled.is_active, look


def act(both, move, resources):
    """A decision begins a plan, unless a running plan gives as much."""
    if move is None:
        for one in both:
            if one.is_active:
                one.pursue()
        return
    decision = move.decision(seen_in(both[0].place), resources)
    held = [one.is_held(decision) for one in both]
    assert held[0] == held[1]
    for one in both:
        if held[0]:
            one.pursue()
        elif decision.rescales:
            one.begin(decision)


def world(tick, start, create, stop, resize_in_place, takes, room, nodes, provisioning):
    return World(
        tick=tick,
        memory=Heap(base=0, per_request=0),
        resize=ResizeParameters(in_place=resize_in_place, takes=takes, room=room),
        pods=Pods(start=start, create=min(start, create), stop=stop),
        nodes=Nodes(start=nodes, cpu=4.0, memory=8 * GIB, provisioning=provisioning),
    )


worlds = st.builds(
    world,
    st.sampled_from([15.0, 15.0, 60.0, 300.0]),
    st.sampled_from([0.0, 30.0, 30.0, 100.0, 400.0]),
    st.sampled_from([0.0, 3.0, 20.0]),
    st.sampled_from([0.0, 30.0, 100.0]),
    st.sampled_from([True, True, True, False]),
    st.sampled_from([0.0, 2.0, 40.0]),
    st.sampled_from([None, None, 0.0, 0.3]),
    st.sampled_from([None, None, 1, 3]),
    st.sampled_from([30.0, 300.0]),
)
factors = st.sampled_from([None, 1.0, 1.2])
resources = st.sampled_from([("cpu", "memory"), ("cpu", "memory"), ("cpu",), ("memory",)])
starts = st.builds(
    Start,
    st.integers(1, 9),
    st.sampled_from([200, 500, 1000]),
    st.sampled_from([512 * MIB, GIB]),
    factors,
    factors,
    st.sampled_from(
        [frozenset(), frozenset(), frozenset({"cpu"}), frozenset({"memory"}), frozenset({"cpu", "memory"})]
    ),
)
times = st.sampled_from([0.5, 0.8, 1.0, 1.0, 1.5, 2.0])
moves = st.lists(
    st.builds(
        Move,
        st.integers(0, LOOKS // 2),
        st.sampled_from([-5, -2, -1, 0, 0, 1, 2, 5]),
        times,
        times,
        st.sampled_from([1.0, 1.0, 1.0, 1.2, 0.5]),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)
mishaps = st.lists(
    st.builds(Mishap, st.integers(0, LOOKS), st.sampled_from(["killed", "killed", "scaled"]), st.integers(0, 5)),
    max_size=2,
)
cases = st.builds(Case, worlds, starts, resources, moves, mishaps)


# More replicas, each with less cpu: they need more memory than those of the plan, but memory is not controlled.
ONLY_CPU = Case(
    world(60.0, 100.0, 20.0, 100.0, True, 40.0, None, 1, 30.0),  # noqa: FBT003
    Start(8, 200, GIB, 1.0, 1.0, frozenset({"cpu"})),
    ("cpu",),
    [Move(4, 1, 1.0, 2.0, 1.0, catches_up=True), Move(5, 1, 0.8, 1.0)],
    [],
)

# Pods wait for a node when they are to become larger. They come up as created, and others would do no better.
NO_NODE_YET = Case(
    world(15.0, 30.0, 3.0, 30.0, False, 2.0, None, 1, 120.0),  # noqa: FBT003
    Start(3, 1000, GIB, 1.2, 1.2, frozenset()),
    ("cpu", "memory"),
    [Move(0, 4, 1.0, 1.0), Move(1, 0, 2.0, 1.0)],
    [],
)

# Pods that are OOM-killed before they are ready again: they are evicted, and the budget does not protect them.
KILLED_AGAIN = Case(
    world(15.0, 30.0, 3.0, 30.0, True, 2.0, None, None, 30.0),  # noqa: FBT003
    Start(4, 1000, GIB, 1.2, 1.2, frozenset()),
    ("cpu", "memory"),
    [Move(2, 0, 1.0, 2.0)],
    [Mishap(0, "killed", 0), Mishap(2, "killed", 0)],
)


class TestPlans:
    """The plans of the controller and of replay."""

    @often
    @given(cases)
    @example(ONLY_CPU)
    @example(NO_NODE_YET)
    @example(KILLED_AGAIN)
    def test_both_lead_to_the_same_world(self, case):
        """Pods, sizes, the template, and whether the plan continues are the same after every tick."""
        assert_agreement(case)
