"""A fleet on a real Dask cluster, compared with the same fleet in this process."""

import asyncio

import numpy as np
import pytest
from distributed import LocalCluster

from hypot.kinds.hpa import HPA
from hypot.policy.model.settings import Settings
from hypot.replay.jobs.comparison import ReplayJob, do
from hypot.replay.jobs.dask_jobs import spread
from hypot.replay.jobs.job_queue import JobsError
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Demand, World

# One cluster for all of these.
pytestmark = pytest.mark.xdist_group("dask")
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
SPEC = {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 20, "metrics": [CPU]}


@pytest.fixture(autouse=True)
def _loop():
    """Dask needs an event loop in this thread."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own, on loopback."""
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as made:
        yield made


def jobs(count, ticks=400):
    hpa = HPA.from_dict({"metadata": {"name": "web"}, "spec": SPEC})
    tried = Policy("web", (hpa,), Start("web", 2, "web", 1000, 2**30, None, None))
    world = World(demand=Demand(noise=0.1, lead_in=0.0))
    times = 15.0 * np.arange(ticks)
    rates = [100.0 + 80.0 * np.sin(times / (300.0 + i)) for i in range(count)]
    traces = [Trace(f"w{i}", times, rate, None, "rps", "here") for i, rate in enumerate(rates)]
    return [ReplayJob(tried, trace, world, Settings(), keep=False) for trace in traces]


def address(cluster):
    return cluster.scheduler_address.replace("tcp://", "dask://")


def test_the_same_to_the_last_bit(cluster):
    """Where a replay runs does not change its result; progress is reported in ticks."""
    given, explained = jobs(6), []
    away = dict(spread(iter(given), address(cluster), explained.append))
    assert away == {place: do(job) for place, job in enumerate(given)}
    assert sum(explained) == 6 * 399


def test_jobs_are_made_as_they_are_wanted(cluster, monkeypatch):
    """A fleet may be larger than the memory: only a few jobs are in progress at any time."""
    monkeypatch.setattr("hypot.replay.jobs.dask_jobs.IN_HAND", 1)
    made, done, most = 0, 0, 0

    def coming():
        nonlocal made
        for job in jobs(12):
            made += 1
            yield job

    for _ in spread(coming(), address(cluster)):
        most = max(most, made - done)
        done += 1
    assert done == 12
    assert most <= 3


def test_a_lost_worker_loses_no_result(cluster):
    """Another worker does the jobs that it had."""
    given = jobs(12, 800)
    found = {}
    for place, judged in spread(given, address(cluster)):
        if not found:
            known = cluster.scheduler.workers
            busy = [worker for worker in cluster.workers.values() if known[worker.worker_address].processing]
            busy[0].process.process.terminate()
        found[place] = judged
    assert found == {place: do(job) for place, job in enumerate(given)}


def test_a_missing_cluster_is_reported(monkeypatch):
    """The error says that no scheduler answers."""
    monkeypatch.setattr("hypot.replay.jobs.dask_jobs.PATIENCE", 0.5)
    with pytest.raises(JobsError, match="no Dask scheduler answers"):
        dict(spread(jobs(1), "dask://127.0.0.1:9"))


def test_a_scheduler_without_workers_is_reported(monkeypatch):
    """The error says how to start workers."""
    monkeypatch.setattr("hypot.replay.jobs.dask_jobs.PATIENCE", 1.0)
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(JobsError, match="has no workers; start some with: dask worker 127"),
    ):
        dict(spread(jobs(1), address(empty)))
