"""What a rule learns of its scrapes: from counters of named pods to costs, changes and what is shown."""

import pytest
from structlog.testing import capture_logs

from hypot.metricsapi.ages import Ages
from hypot.metricsapi.body.request_classes import ScrapedRequests
from hypot.metricsapi.body.totals import Scraped
from hypot.metricsapi.costs import learner
from hypot.metricsapi.costs.families import CHANGE, COST, OBSERVATIONS, WEIGHT, samples_of
from hypot.metricsapi.costs.learner import CostLearner, row_of
from hypot.metricsapi.served_pods import PodOwner
from unit.metricsapi.pods_world import AHEAD, NAMESPACE, add, only, plan_with, pod, rule, targets_of

LEARNS = {"counter": "requests_total", "names": ["rps"], "learnCost": {"by": ["verb"]}}
WEB = PodOwner("apps/v1", "Deployment", NAMESPACE, "web")
GET, LIST = 0.002, 0.02
# Requests a minute of GET and LIST, which vary each on its own.
MIXES = [(3000 + 100 * (i * 37 % 20), 200 + 40 * (i * 17 % 13)) for i in range(260)]


class Pod:
    """A pod whose counters follow known costs."""

    def __init__(self, targets, name="web-0", owner=WEB):
        (self.target,) = add(targets, pod(name, owner=owner))
        self.get = self.list = self.cpu = 0.0

    def minute(self, get, lists, factor=1.0):
        self.get, self.list = self.get + get, self.list + lists
        self.cpu += factor * (GET * get + LIST * lists) + 1.2

    def restart(self):
        self.get = self.list = self.cpu = 0.0

    def scraped(self, at):
        return Scraped(at, at + AHEAD, [self.get + self.list], 0, ScrapedRequests((self.get, self.list), self.cpu))


class World:
    def __init__(self, *pods, period=60.0):
        self.targets = targets_of(rule("web", LEARNS))
        self.pods = [Pod(self.targets, *each) for each in pods or [()]]
        self.learner = CostLearner(self.targets.plan, period, Ages())
        self.costs = self.learner.of_rule("web")
        self.costs.classes.names[:] = ["verb=GET", "verb=LIST"]
        self.minutes, self.found = 0, []

    def run(self, minutes, factor=lambda _: 1.0):
        for _ in range(minutes):
            self.minutes += 1
            for i, each in enumerate(self.pods):
                each.minute(*MIXES[(self.minutes + 7 * i) % len(MIXES)], factor(i))
                self.learner.scraped(each.target, each.scraped(60.0 * self.minutes))
            self.found += [(self.minutes, one) for one in self.learner.take_changes()]

    def shown(self, family):
        costs = self.costs
        samples = samples_of("web", costs.classes.names, costs.fit, costs.changed())
        return {labels: value for name, labels, value, _ in samples if name == family}


def test_costs_and_weights():
    """A LIST costs ten times as much as a GET; a request of the mix has the weight 1."""
    world = World(("web-0",), ("web-1",))
    world.run(60)
    costs = world.shown(COST)
    assert costs['rule="web",class="verb=GET"'] == pytest.approx(GET, rel=1e-3)
    assert costs['rule="web",class="verb=LIST"'] == pytest.approx(LIST, rel=1e-3)
    weights = list(world.shown(WEIGHT).values())
    assert weights[1] / weights[0] == pytest.approx(10, rel=1e-2)
    assert world.found == []


def test_halved_efficiency_is_one_event():
    """Cpu does half as much for two hours, then as much as before: one report of each, and costs stay what they are."""
    world = World(("web-0",), ("web-1",))
    world.run(120)
    world.run(120, lambda _: 2.0)
    assert list(world.shown(CHANGE).values()) == [pytest.approx(1.85, abs=0.15)]
    world.run(60)
    ((rose, one), (usual, other)) = world.found
    assert (one.workload, one.change.direction, other.change.direction) == (WEB, "rose", "usual")
    assert 120 <= rose <= 130
    assert 240 <= usual <= 255
    assert world.shown(CHANGE) == {}
    assert world.shown(COST)['rule="web",class="verb=LIST"'] == pytest.approx(LIST, rel=0.05)


def test_only_the_workload_that_changed_is_reported():
    """The other one of the rule is as before."""
    other = PodOwner("apps/v1", "StatefulSet", NAMESPACE, "db", "u-1")
    world = World(("web-0",), ("db-0", other))
    world.run(120)
    world.run(30, lambda i: 2.0 if i == 1 else 1.0)
    assert [(one.workload, one.change.direction) for _, one in world.found] == [(other, "rose")]


def test_another_mix_is_no_change():
    """From the third hour on most requests are LIST: a request of the mix costs more, a LIST costs the same."""
    world = World()
    world.run(120)
    for minute in range(60):
        (each,) = world.pods
        each.minute(300 + minute, 3000 + 50 * (minute % 7))
        world.learner.scraped(each.target, each.scraped(60.0 * (121 + minute)))
    assert list(world.learner.take_changes()) == []


def test_a_mix_that_was_never_seen_is_learned_first():
    """GET and LIST always came together, then LIST alone: that is no change, and now each has its own cost."""
    world = World()
    (each,) = world.pods
    for minute in range(1, 181):
        get, lists = MIXES[minute]
        each.minute(*((get, get / 10) if minute <= 120 else (get / 10, lists)))
        world.learner.scraped(each.target, each.scraped(60.0 * minute))
        if minute == 120:
            assert len(set(world.shown(COST).values())) == 1
    assert list(world.learner.take_changes()) == []
    assert world.shown(COST)['rule="web",class="verb=LIST"'] == pytest.approx(LIST, rel=0.02)


@pytest.mark.parametrize("event", ["restart", "replaced", "no counts", "late", "soon", "impossible"])
def test_what_gives_no_observation(event):
    """A restarted process, another pod, a body without cpu, bad distances, and too much cpu."""
    world = World()
    world.run(40)
    (each,) = world.pods
    known = world.costs._sums.rows
    at = {"late": 60.0 * 40 + 700, "soon": 60.0 * 40 + 5}.get(event, 60.0 * 41)
    if event == "restart":
        each.restart()
    if event == "replaced":
        (each.target,) = add(world.targets, pod("web-0", uid="other", owner=WEB))
    each.minute(100, 100, 1e6 if event == "impossible" else 1.0)
    scraped = each.scraped(at)
    world.learner.scraped(each.target, scraped._replace(requests=None) if event == "no counts" else scraped)
    assert world.costs._sums.rows == known


def test_a_pod_without_cpu_is_logged_once():
    """With what to do."""
    world = World()
    (each,) = world.pods
    with capture_logs() as logged:
        for at in (60.0, 120.0):
            world.learner.scraped(each.target, each.scraped(at)._replace(requests=None))
    assert [line["event"] for line in logged] == ["no cost is learned of a pod"]
    assert "process_cpu_seconds_total" in logged[0]["todo"]


def test_suggestions_are_logged_when_they_change():
    """Not at every scrape."""
    with capture_logs() as logged:
        World(("web-0",), ("web-1",)).run(200)
    lines = [line for line in logged if line["event"] == "other weights suggested"]
    assert len(lines) == 1
    assert lines[0]["classes"] == 2


def test_a_new_leader_learns_anew():
    """Until it has enough observations, it shows how many it has and suggests nothing."""
    world = World()
    world.run(8)
    assert 0 < world.shown(OBSERVATIONS)['rule="web"'] < 10
    assert world.shown(WEIGHT) == world.shown(COST) == {}


def test_new_rules_keep_what_was_learned():
    """If they mean the same; other classes start over."""
    world = World()
    world.run(60)
    same = CostLearner(plan_with(rule("web", {**LEARNS, "external": True})), 60.0, Ages())
    same.adopt(world.learner)
    assert same.of_rule("web") is world.costs
    other = CostLearner(plan_with(rule("web", {**LEARNS, "learnCost": {"by": ["code"]}})), 60.0, Ages())
    other.adopt(world.learner)
    assert other.of_rule("web") is not world.costs


def test_workloads_are_bounded_and_forgotten(monkeypatch):
    """Jobs come and go."""
    monkeypatch.setattr(learner, "MOST_WORKLOADS", 3)
    world = World(*[(f"job-{i}", None) for i in range(5)])
    world.run(60)
    assert len(world.costs.workloads) == 3
    world.minutes += 7 * 60
    world.pods = [Pod(world.targets, "late", None)]
    world.run(30)
    assert [each.name for each in world.costs.workloads] == ["late"]


def test_rows():
    """A class that is new in the second scrape had no requests before; one that is missing had decreased."""
    old = ScrapedRequests((5.0,), 1.0)
    assert row_of(60.0, old, ScrapedRequests((7.0, 3.0), 2.0)) == [60.0, 2.0, 3.0]
    assert row_of(60.0, ScrapedRequests((5.0, 3.0), 1.0), ScrapedRequests((7.0,), 2.0)) is None
    assert row_of(60.0, old, ScrapedRequests((7.0,), 0.5)) is None


def test_rules_that_do_not_learn():
    """Nothing is counted, and nothing is shown."""
    targets = targets_of(pods=[pod()])
    costs = CostLearner(targets.plan, 60.0, Ages())
    assert costs.counts(only(targets).rule) is None
    assert list(costs) == []
