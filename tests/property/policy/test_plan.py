"""Plans in small clusters where everything takes time, and some things never happen."""

from dataclasses import dataclass, field, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.core.sizes.disruption import AT_ONCE
from hypot.policy.model.decision import Decision, Name
from hypot.policy.model.seen import Container, Owner, PendingResize, Pod, Scale, Seen
from hypot.policy.model.size import Size
from hypot.policy.plan.pursue import EvictPod, Plan, RecordSize, ResizePod, ScaleTo, SetTemplate, begin, pursue

NOW = 1_800_000_000.0
STEP = 15.0
MOST_STEPS = 260
RESOURCES = ("cpu", "memory")
NAME = Name("autoscaling.k8s.io/v1alpha1", "Hvpa", "shop", "web")

numeric = settings(max_examples=100, deadline=None)


@dataclass
class Member:
    """A pod: what it requests and has, and how its node treats it."""

    name: str
    uid: str
    spec: Size
    actual: Size
    started: float
    ready_at: float
    node: str
    asked_at: float = 0.0
    gone_at: float | None = None

    @property
    def least(self):
        """What it will have at least once every request is applied."""
        return {r: min(self.spec.requests[r], self.actual.requests[r]) for r in RESOURCES}


@dataclass
class Cluster:
    """A workload, its pods, and a clock."""

    replicas: int
    template: Size
    nodes: list
    kind: str = "ReplicaSet"
    webhook: bool = True
    start: float = 30.0
    takes: float = 15.0
    stop: float = 15.0
    restarts: bool = False
    now: float = NOW
    recorded: Size | None = None
    pods: list = field(default_factory=list)
    made: int = 0
    disrupted: bool = False

    def live(self):
        return [pod for pod in self.pods if pod.gone_at is None]

    def ready(self):
        return [pod for pod in self.live() if self.now >= pod.ready_at]

    def make(self, size, *, started, name=None):
        node = self.nodes[self.made % len(self.nodes)]
        uid = f"uid-{self.made}"
        name = name or f"web-{self.made}"
        self.made += 1
        self.pods.append(Member(name, uid, size, size, started, started + self.start, node))

    def tick(self):
        """Apply everything that is due within one step."""
        self.now += STEP
        for pod in self.live():
            self._settle(pod)
        self.pods = [pod for pod in self.pods if pod.gone_at is None or pod.gone_at > self.now]
        self.recount()

    def _settle(self, pod):
        if pod.spec == pod.actual:
            return
        grows = any(pod.spec.requests[r] > pod.actual.requests[r] for r in RESOURCES)
        delay = {"infeasible": 1e9, "full": 1e9, "busy": 120.0}.get(pod.node, 0.0) if grows else 0.0
        if self.now - pod.asked_at >= self.takes + delay:
            pod.actual = pod.spec
            if self.restarts:
                pod.ready_at = self.now + self.start

    def recount(self):
        """What the controller of the workload does about the number of pods."""
        live = self.live()
        for pod in self._first_to_go(live)[: max(0, len(live) - self.replicas)]:
            pod.gone_at = self.now + self.stop
        taken = {pod.name for pod in self.pods}
        for i in range(max(0, self.replicas - len(live))):
            names = [f"web-{i}" for i in range(self.replicas) if f"web-{i}" not in taken]
            ordinal = names[i] if self.kind == "StatefulSet" and i < len(names) else None
            if self.kind == "StatefulSet" and ordinal is None:
                return
            size = self.recorded if self.webhook and self.recorded else self.template
            self.make(size, started=self.now, name=ordinal)

    def _first_to_go(self, live):
        """Pods that are not ready, then the largest, the worst case; a StatefulSet has a fixed order."""
        if self.kind == "StatefulSet":
            return sorted(live, key=lambda pod: -int(pod.name.split("-")[1]))
        return sorted(live, key=lambda pod: (pod in self.ready(), -pod.least["cpu"], -pod.least["memory"], pod.name))

    def do(self, action):
        by_uid = {pod.uid: pod for pod in self.live()}
        if isinstance(action, ScaleTo):
            assert action.expected == self.replicas
            self.replicas = action.replicas
        elif isinstance(action, RecordSize):
            self.recorded = action.sizes[0]
        elif isinstance(action, SetTemplate):
            self.template, self.disrupted = action.sizes[0], True
            # As a rolling update, but all at once: only the plan is checked here.
            for pod in self.live():
                pod.spec = pod.actual = action.sizes[0]
                pod.started, pod.ready_at = self.now, self.now + self.start
        elif isinstance(action, ResizePod):
            self.disrupted |= self.restarts
            by_uid[action.uid].spec, by_uid[action.uid].asked_at = action.sizes[0], self.now
        else:
            self.disrupted = True
            by_uid[action.uid].gone_at = self.now + self.stop

    def seen(self):
        pods = tuple(self._pod(pod) for pod in self.pods)
        scale = Scale(self.replicas, len(self.live()), "app=web")
        return Seen(self.now, scale, pods, template=(_container(self.template, None, restarts=False),))

    def _pod(self, pod):
        waiting = pod.spec != pod.actual and self.now > pod.asked_at
        grows = any(pod.spec.requests[r] > pod.actual.requests[r] for r in RESOURCES)
        states = {"infeasible": "infeasible", "full": "deferred", "busy": "deferred"}
        state = states.get(pod.node, "in-progress") if grows else "in-progress"
        return Pod(
            pod.name,
            deleted=pod.gone_at is not None,
            ready="True" if self.now >= pod.ready_at else "False",
            ready_since=min(pod.ready_at, self.now),
            started=pod.started,
            containers=(_container(pod.spec, pod.actual, restarts=self.restarts),),
            owners=(Owner(self.kind, "web"),),
            uid=pod.uid,
            resize=PendingResize(state, pod.asked_at) if waiting else None,
        )

    def total(self):
        """What ready pods have at least."""
        return {r: sum(pod.least[r] for pod in self.ready()) for r in RESOURCES}


def _container(spec, actual, *, restarts):
    milli = [None if size is None else _milli(size) for size in (spec, actual)]
    given = (None, None) if milli[1] is None else milli[1]
    policy = frozenset(RESOURCES) if restarts else frozenset()
    return Container("app", *milli[0], *given, restarts_on_resize=policy)


def _milli(size):
    return tuple({r: a * (1 if r == "cpu" else 1000) for r, a in of.items()} for of in (size.requests, size.limits))


def decision(cluster, had, replicas, size):
    before = cluster.replicas
    reported = (NAME, NAME, cluster.now, before, replicas, "", (), (), ())
    return Decision(*reported, sizes=(had,), desired_sizes=(size,))


amounts = st.sampled_from([100, 200, 300, 500, 800])
sizes = st.builds(
    lambda cpu, memory, limit: Size("app", {"cpu": cpu, "memory": memory}, {"memory": 2 * memory} if limit else {}),
    amounts,
    amounts,
    st.booleans(),
)
booleans = st.booleans()
nodes = st.lists(st.sampled_from(["roomy", "roomy", "busy", "full", "infeasible"]), min_size=1, max_size=4)


@st.composite
def clusters(draw, node_lists=nodes, webhooks=booleans):
    cluster = Cluster(
        draw(st.integers(1, 9)),
        draw(sizes),
        draw(node_lists),
        draw(st.sampled_from(["ReplicaSet", "StatefulSet"])),
        draw(webhooks),
        draw(st.sampled_from([0.0, 20.0, 90.0])),
        draw(st.sampled_from([0.0, 15.0, 40.0])),
        draw(st.sampled_from([0.0, 30.0])),
        restarts=draw(st.booleans()),
    )
    had = draw(sizes)
    for _ in range(cluster.replicas):
        cluster.make(had, started=NOW - 3600.0)
    return cluster, had


def carried_out(cluster, wanted, mode, kubernetes, look=None, failures=()):
    """The end of a plan; in some steps every write fails, and before each step `look` may check it."""
    seen = cluster.seen()
    progress = begin(wanted, seen, mode, kubernetes, cluster.now)
    for step in range(MOST_STEPS):
        if look is not None:
            look(progress)
        for action in () if step in failures else progress.actions:
            cluster.do(action)
        plan = progress.plan
        if plan is None:
            return progress
        assert Plan.from_dict(plan.to_dict()) == plan
        cluster.tick()
        seen = cluster.seen()
        progress = pursue(plan, seen, kubernetes, cluster.now)
        assert pursue(plan, seen, kubernetes, cluster.now) == progress
    raise AssertionError("the plan never ends")


versions = st.sampled_from([(1, 32), (1, 33), (1, 36)])
modes = st.sampled_from(["InPlaceOrRecreate", "InPlace", "Template"])
lost = st.sets(st.integers(0, 30), max_size=4)


@numeric
@given(clusters(), st.integers(0, 12), sizes, versions, modes, lost)
def test_no_action_removes_too_much(world, replicas, size, kubernetes, mode, failures):
    """The total of ready pods is never below the lesser of before and after, except for restarts in turn."""
    cluster, had = world
    before = cluster.replicas
    floor = {r: min(before * had.requests[r], replicas * size.requests[r]) for r in RESOURCES}

    def look(progress):
        trial = replace(cluster, pods=[replace(pod) for pod in cluster.pods])
        was = trial.total()
        for action in progress.actions:
            trial.do(action)
        trial.recount()
        if not trial.disrupted:
            now = trial.total()
            assert all(now[r] >= min(floor[r], was[r]) for r in RESOURCES), (was, now, floor, progress)
            assert all(now[r] >= floor[r] for r in RESOURCES if was[r] >= floor[r])

    carried_out(cluster, decision(cluster, had, replicas, size), mode, kubernetes, look, failures)


@numeric
@given(clusters(), st.integers(0, 12), sizes, versions, modes, lost)
def test_few_are_away_at_once(world, replicas, size, kubernetes, mode, failures):
    """Evictions and restarts together stay within the limit, or one; evictions only where the mode allows."""
    cluster, had = world

    def look(progress):
        evicted = [action for action in progress.actions if isinstance(action, EvictPod)]
        assert not evicted or mode == "InPlaceOrRecreate"
        changed = evicted + [each for each in progress.actions if isinstance(each, ResizePod) and cluster.restarts]
        ready = {pod.uid for pod in cluster.ready()}
        going = {pod.uid for pod in cluster.ready() if cluster.restarts and pod.spec != pod.actual}
        going |= {action.uid for action in changed} & ready
        asked = max(cluster.replicas, replicas)
        if {action.uid for action in changed} & ready:
            assert asked - len(ready - going) <= max(1, int(AT_ONCE * asked))

    carried_out(cluster, decision(cluster, had, replicas, size), mode, kubernetes, look, failures)


@numeric
@given(clusters(st.just(["roomy"]), st.just(value=True)), st.integers(0, 12), sizes, versions, modes, lost)
def test_what_can_be_done_is_done(world, replicas, size, kubernetes, mode, failures):
    """Both axes end as decided, whatever the way to resize."""
    cluster, had = world
    kubernetes = kubernetes if mode == "InPlaceOrRecreate" else (1, 36)
    cluster.template = had if mode == "Template" else cluster.template
    progress = carried_out(cluster, decision(cluster, had, replicas, size), mode, kubernetes, failures=failures)
    if progress.actions and 0 in failures:
        # The only write of a change without a plan was lost: the next decision handles it.
        return
    cluster.tick()
    assert (progress.ended, cluster.replicas) == ("Done", replicas)
    assert all(pod.actual.requests == size.requests for pod in cluster.live())


@numeric
@given(clusters(), st.integers(0, 12), sizes, versions, modes)
def test_one_look_one_answer(world, replicas, size, kubernetes, mode):
    """A second look after the actions, before anything happened, asks for nothing again."""
    cluster, had = world
    wanted = decision(cluster, had, replicas, size)
    progress = begin(wanted, cluster.seen(), mode, kubernetes, cluster.now)
    for action in progress.actions:
        cluster.do(action)
    if progress.plan is not None and not any(isinstance(each, EvictPod) for each in progress.actions):
        again = pursue(progress.plan, cluster.seen(), kubernetes, cluster.now)
        repeated = set(map(_key, progress.actions)) & set(map(_key, again.actions))
        assert repeated <= {"RecordSize"}


def _key(action):
    return "RecordSize" if isinstance(action, RecordSize) else repr(action)
