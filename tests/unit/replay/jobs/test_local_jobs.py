"""Many replays at once in processes, and how their results are collected."""

import multiprocessing
import time
from dataclasses import replace

import numpy as np
import pytest

from hypot.kinds.hpa import HPA
from hypot.policy.model.settings import Settings
from hypot.replay.jobs import job_queue, local_jobs, work
from hypot.replay.jobs.comparison import ReplayJob, compared, do
from hypot.replay.jobs.job_queue import JobQueue, TraceJobs
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Demand, Prices, Scoring, World

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
START = Start("web", 2, "web", 1000, 2**30, None, None)
ROWS = 41
# A world whose jobs have no more ticks than their traces.
AT_ONCE = World(demand=Demand(lead_in=0.0))


def policy(name, target):
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}
    spec = {"scaleTargetRef": TARGET, "maxReplicas": 20, "metrics": [{"type": "Resource", "resource": cpu}]}
    return Policy(name, (HPA.from_dict({"metadata": {"name": name}, "spec": spec}),), START)


def trace(number):
    times = 15.0 * np.arange(ROWS)
    return Trace(f"w{number}", times, 100.0 + number + 50.0 * np.sin(times / 300.0), None, "rps", "here")


def jobs(count):
    tried = policy("web", 70)
    return [ReplayJob(tried, trace(number), AT_ONCE, Settings(), keep=False) for number in range(count)]


class Counted:
    """Hands out jobs and counts them."""

    def __init__(self, given):
        self.given, self.taken = given, 0

    def __iter__(self):
        for job in self.given:
            self.taken += 1
            yield job


@pytest.fixture
def _two(monkeypatch):
    """Two processes, whatever the machine, even for few ticks."""
    monkeypatch.setattr(work.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(work, "WORTH_A_PROCESS", 0)


@pytest.mark.usefixtures("_two")
@pytest.mark.parametrize(("rows", "most"), [(0, 4), (6 * ROWS, 6), (10**9, 8)], ids=["fewest", "rows", "most"])
def test_only_some_jobs_are_in_hand(monkeypatch, rows, most):
    """Enough jobs to keep all processes busy, more if their rows fit, up to a maximum."""
    monkeypatch.setattr(local_jobs, "ROWS_IN_HAND", rows)
    monkeypatch.setattr(local_jobs, "MOST_IN_HAND", 4)
    coming, explained, seen = Counted(jobs(20)), [], 0
    found = {}
    for place, judged in work.work(coming, 20 * ROWS, explained.append):
        seen = max(seen, coming.taken - len(found))
        found[place] = judged
    assert found == {place: do(job) for place, job in enumerate(coming.given)}
    assert seen == most
    assert sum(explained) == 20 * (ROWS - 1)


@pytest.mark.usefixtures("_two")
@pytest.mark.parametrize("shared", [0, local_jobs.SHARED_FACTOR], ids=["by pipe", "by shared memory"])
def test_short_jobs_go_together(monkeypatch, shared):
    """With several policies per trace and several jobs per batch, results are the same and all ticks are reported."""
    monkeypatch.setattr(local_jobs, "SHARED_FACTOR", shared)
    policies = [policy("hot", 90), policy("mild", 70), policy("cold", 50)]
    made, explained = list(JobQueue(Settings()).jobs(TraceJobs(trace(i), policies, AT_ONCE) for i in range(20))), []
    assert max(map(len, local_jobs._batches(made, 4 * ROWS))) == 4
    found = dict(work.work(iter(made), 32 * 4 * ROWS, explained.append))
    assert found == {place: do(job) for place, job in enumerate(made)}
    assert sum(explained) == 60 * (ROWS - 1)


def test_jobs_go_together_by_their_rows_where_these_are_more():
    """A trace that is finer than the ticks costs memory, not time."""
    fine = [job._replace(world=replace(job.world, tick=600.0)) for job in jobs(12)]
    assert [len(batch) for batch in local_jobs._batches(fine, 4 * ROWS)] == [4, 4, 4]


def test_one_process_takes_one_job_at_a_time(monkeypatch):
    """Short work is done in this process, one job at a time on demand."""
    monkeypatch.setattr(work.os, "cpu_count", lambda: 2)
    coming = Counted(jobs(5))
    done = work.work(coming, 5 * ROWS)
    assert next(done)[0] == 0
    assert coming.taken == 2
    assert [place for place, _ in done] == [1, 2, 3, 4]


def test_no_jobs_at_all():
    """Without jobs there are no results."""
    assert list(work.work(iter([]), 10**9)) == []


@pytest.mark.usefixtures("_two")
def test_an_error_while_jobs_are_made_ends_all():
    """The error is raised unchanged, and no process is left."""

    def coming():
        yield from jobs(6)
        raise LookupError("no more")

    with pytest.raises(LookupError, match="no more"):
        list(work.work(coming(), 10**9))
    assert nobody_is_left()


def nobody_is_left():
    """Whether no process is left, after a moment: another thread may still be handling the end of one."""
    for _ in range(100):
        if not multiprocessing.active_children():
            return True
        time.sleep(0.1)
    return False


@pytest.mark.usefixtures("_two")
def test_a_killed_process_is_reported():
    """The usual cause is too little memory."""
    coming = work.work(iter(jobs(300)), 300 * ROWS)
    next(coming)
    for child in multiprocessing.active_children():
        child.kill()
    with pytest.raises(job_queue.JobsError, match="a worker process was killed"):
        list(coming)


def test_a_queue_collects_results_in_any_order():
    """Comparisons are in the order of the traces, then of their own policies; shared results are held once."""
    policies, dear = [policy("hot", 90), policy("cold", 50)], replace(AT_ONCE, prices=Prices(cpu=1.0))
    given = [TraceJobs(trace(0), policies, AT_ONCE), TraceJobs(trace(1), policies[1:], dear)]
    given.append(TraceJobs(trace(2), policies, AT_ONCE))
    queue = JobQueue(Settings())
    made = list(queue.jobs(iter(given)))
    asked = [(job.trace.workload, job.policy.name, job.world.prices.cpu) for job in made[1:4]]
    assert asked == [("w0", "cold", AT_ONCE.prices.cpu), ("w1", "cold", 1.0), ("w2", "hot", AT_ONCE.prices.cpu)]
    for place in (4, 1, 0, 3, 2):
        queue.enter(place, do(made[place]))
    wanted = [
        compared(one.trace, [do(job) for job in made if job.trace is one.trace], one.policies, one.world)
        for one in given
    ]
    found = queue.comparisons()
    assert found == wanted
    assert found[0].judged[0].static is found[0].judged[1].static


@pytest.mark.usefixtures("_two")
def test_each_trace_has_policies_of_its_own(monkeypatch):
    """More jobs than are remembered give the same results as in one process."""
    monkeypatch.setattr(local_jobs, "HEADS", 2)
    given = [TraceJobs(trace(i), [policy("hot", 80 + i), policy("cold", 40 + i)], AT_ONCE) for i in range(8)]
    made = list(JobQueue(Settings()).jobs(given))
    assert dict(work.work(iter(made), 16 * ROWS)) == {place: do(job) for place, job in enumerate(made)}


def test_brief_windows_have_the_same_quality_cost_and_price():
    """And nothing else; the whole has all scores."""
    world = replace(AT_ONCE, scoring=Scoring(windows=2, tune=0.25))
    whole, brief = (do(ReplayJob(policy("web", 70), trace(0), world, Settings(), brief=one)) for one in (False, True))
    assert brief.scores == whole.scores
    for short, full in zip((*brief.windows, brief.tuning), (*whole.windows, whole.tuning), strict=True):
        known = {name: value for name, value in short.to_dict().items() if value is not None}
        assert {"cost", "price", "late", "lost", "budget"} <= known.keys()
        assert "lower_bound" not in known
        assert known == {name: getattr(full, name) for name in known}
