"""Container samples folded into histograms, and the sizes read from them."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from hypot.core.amount import MOST
from hypot.core.instant import read_time
from hypot.core.usage.layout import CPU_LAYOUT
from hypot.kinds.vpa.knobs import MIB, Knobs
from hypot.policy.usage.usage import Usage

HOUR, DAY = 3600.0, 86400.0
START = 1_700_000_000.0
OWNER = ("shop", "web")
BOTH = ("cpu", "memory")
GB = 10**9


def one(knobs=None, pod="web-1", usage=None):
    """A bank with one container in it."""
    usage = usage or Usage()
    aggregate = usage.declare(OWNER, "app", knobs or Knobs(), START)
    return usage, aggregate, usage.instance(aggregate, pod)


def days(count, usage, number, cpu=1000, memory=GB):
    """A sample every hour."""
    usage.observe([(number, cpu, memory, START + hour * HOUR) for hour in range(24 * count + 1)])


def target(usage, knobs=None, container="app"):
    (found,) = [b for b in usage.view(OWNER).estimate(knobs or Knobs(), [container], {}) if b.container == container]
    return found.target


def test_the_same_container_is_one_row():
    """Repeated declarations share the row; another name, owner or pod gets its own."""
    usage, aggregate, number = one()
    assert one(usage=usage)[1:] == (aggregate, number)
    others = {usage.declare(OWNER, "proxy", Knobs(), START), usage.declare("other", "app", Knobs(), START)}
    assert len({aggregate, *others}) == 3
    assert len({number, usage.instance(aggregate, "web-2"), usage.instance(min(others), "web-1")}) == 3
    assert usage.aggregate(OWNER, "app") == aggregate


def test_what_was_never_declared():
    """It has an empty view and no checkpoint."""
    usage = Usage()
    assert usage.view(OWNER).containers() == ()
    assert usage.view(OWNER).estimate(Knobs(), ["app"], {}) == ()
    with pytest.raises(ValueError, match="declare it first"):
        usage.save(OWNER, "app", START)


def test_an_impossible_half_life_takes_no_row():
    """A failed declaration leaves no rows."""
    usage = Usage()
    for knobs in (Knobs(cpu_half_life=0), Knobs(memory_half_life=-1)):
        with pytest.raises(ValueError, match="half-life"):
            usage.declare(OWNER, "app", knobs, START)
    assert (len(usage.cpu), len(usage.memory), len(usage.aggregates)) == (0, 0, 0)


def test_cpu_must_be_strictly_newer_memory_not_older():
    """This holds per instance and per resource."""
    usage, aggregate, number = one()
    taken = [usage.observe([(number, 1, 1, at)]) for at in (10.0, 10.0, 9.0, 11.0)]
    assert [fold.cpu.tolist() for fold in taken] == [[True], [False], [False], [True]]
    assert [fold.memory.tolist() for fold in taken] == [[True], [True], [False], [True]]
    other = usage.instance(aggregate, "web-2")
    assert usage.observe([(other, 1, 1, 5.0)]).cpu.tolist() == [True]
    assert usage.aggregates["samples"][aggregate] == 3
    assert usage.aggregates["first"][aggregate] == 5


@pytest.mark.parametrize(
    ("cpu", "memory", "at"), [(None, None, START), (-1, -1, START), (nan, nan, START), (1, 1, nan), (1, 1, inf)]
)
def test_invalid_samples(cpu, memory, at):
    """They change nothing."""
    usage, aggregate, number = one()
    folded = usage.observe([(number, cpu, memory, at)])
    assert not folded.cpu.any()
    assert not folded.memory.any()
    assert usage.cpu.is_empty(aggregate).all()
    assert usage.memory.is_empty(aggregate).all()
    assert usage.instances["last_memory"][number] == -inf


def test_nothing_to_fold():
    """An empty list of samples is accepted."""
    usage, _, _ = one()
    assert usage.observe([]).cpu.tolist() == []


def test_many_samples_of_one_instance_in_any_order():
    """The result is the same as one sample after the other."""
    usage, aggregate, number = one()
    samples = [(number, 100 + i, GB * (1 + i % 7), START + 5 * HOUR * i) for i in range(20)]
    usage.observe(samples[::-1])
    other, _, _ = one()
    for sample in samples:
        other.observe([sample])
    for bank, wanted in ((usage.cpu, other.cpu), (usage.memory, other.memory)):
        assert bank.weights[aggregate] == pytest.approx(wanted.weights[0])
    assert usage.instances["window_end"][number] == START + 4 * DAY


def test_a_released_instance_takes_no_samples():
    """Its number may be reused soon."""
    usage, aggregate, number = one()
    usage.retain({"web-2"})
    assert not usage.observe([(number, 1, 1, START)]).cpu.any()
    assert not usage.oom(number, START, GB)
    assert usage.instance(aggregate, "web-9") == number
    assert usage.observe([(number, 1, 1, START)]).cpu.all()


def test_pods_come_and_go():
    """Their usage stays known, and the windows of the remaining pods continue."""
    usage, aggregate, number = one()
    proxy = usage.instance(usage.declare(OWNER, "proxy", Knobs(), START), "web-1")
    kept = usage.instance(aggregate, "web-2")
    usage.observe([(n, 500, GB, START) for n in (number, proxy, kept)])
    usage.retain(["web-2"])
    assert usage.instances["aggregate"][[number, proxy, kept]].tolist() == [-1, -1, aggregate]
    assert usage.instances["window_end"][kept] == START + DAY
    assert target(usage)["cpu"] > 500
    assert usage.view(OWNER).containers() == ("app", "proxy")


def test_an_owner_is_forgotten():
    """With its instances; its rows are reused, empty."""
    usage, aggregate, number = one()
    usage.observe([(number, 500, GB, START)])
    usage.forget(OWNER)
    assert usage.view(OWNER).containers() == ()
    assert usage.declare("other", "app", Knobs(), START) == aggregate
    assert usage.view("other").estimate(Knobs(), ["app"], {}) == ()
    assert usage.instances["aggregate"][number] == -1


def test_what_was_never_measured_is_not_recommended():
    """No size is lowered because nothing is known."""
    usage, _, number = one()
    view = usage.view(OWNER)
    assert view.estimate(Knobs(), ["app"], {}) == ()
    usage.observe([(number, 500, None, START)])
    (bounds,) = view.estimate(Knobs(), ["app"], {})
    assert list(bounds.target) == list(bounds.lower) == list(bounds.upper) == ["cpu"]


def test_one_sample_makes_a_target_without_bounds():
    """The target is the end of its bucket plus the margin; lower is the minimum, upper is unbounded."""
    usage, _, number = one()
    usage.observe([(number, 1000, GB, START)])
    (bounds,) = usage.view(OWNER).estimate(Knobs(), ["app"], {"app": BOTH})
    end = int(1000 * CPU_LAYOUT.ends[CPU_LAYOUT.buckets(1.0)])
    assert bounds.target["cpu"] == end + int(end * 0.15)
    assert bounds.lower == {"cpu": 25, "memory": 250 * MIB}
    assert bounds.upper == {"cpu": MOST, "memory": MOST}
    assert bounds.uncapped == bounds.target


def test_bounds_come_closer_with_history():
    """A week of samples every hour counts as a sixtieth of a week."""
    usage, _, number = one()
    days(7, usage, number)
    (bounds,) = usage.view(OWNER).estimate(Knobs(), ["app"], {})
    sure = (7 * 24 + 1) / 1440
    assert bounds.upper["cpu"] == int(bounds.target["cpu"] * (1 + 1 / sure))
    assert bounds.lower["memory"] == int(bounds.target["memory"] * (1 + 0.001 / sure) ** -2)


def test_containers_share_the_minimum_of_a_pod():
    """All requested containers count, known or not, each once."""
    usage, _, number = one()
    usage.observe([(number, 1, 1, START)])
    view = usage.view(OWNER)
    (alone,) = view.estimate(Knobs(), ["app", "app"], {})
    (shared,) = view.estimate(Knobs(), ["proxy", "app"], {})
    assert alone.target == {"cpu": 25, "memory": 250 * MIB}
    assert shared.target == {"cpu": 12, "memory": 125 * MIB}


def test_each_container_has_its_own_knobs():
    """Sorted by name, only controlled resources."""
    usage, _, number = one()
    proxy = usage.instance(usage.declare(OWNER, "a-proxy", Knobs(), START), "web-1")
    usage.observe([(number, 1000, GB, START), (proxy, 1000, GB, START)])
    knobs = {"app": Knobs(), "a-proxy": Knobs(safety_margin=1.0, round_cpu=1000)}
    found = usage.view(OWNER).estimate(knobs, ["app", "a-proxy"], {"app": ["memory"], "a-proxy": []})
    assert [(b.container, sorted(b.target)) for b in found] == [("a-proxy", []), ("app", ["memory"])]
    proxy_bounds, app_bounds = usage.view(OWNER).estimate(knobs, ["app", "a-proxy"], {})
    assert proxy_bounds.target["cpu"] == 3000
    assert proxy_bounds.target["memory"] == pytest.approx(app_bounds.target["memory"] * 2 / 1.15, rel=1e-6)


def test_percentiles_and_intervals_are_knobs():
    """The median of a day ignores one busy hour, the maximum does not."""
    usage, _, number = one()
    usage.observe([(number, 4000 if hour == 5 else 100, GB, START + hour * HOUR) for hour in range(24)])
    calm = target(usage, Knobs(target_cpu_percentile=0.5))
    wild = target(usage, Knobs(target_cpu_percentile=1.0))
    assert calm["cpu"] < 150
    assert wild["cpu"] > 4000
    (short,) = usage.view(OWNER).estimate(Knobs(confidence_interval_cpu=HOUR), ["app"], {})
    (long,) = usage.view(OWNER).estimate(Knobs(confidence_interval_cpu=30 * DAY), ["app"], {})
    assert short.upper["cpu"] < long.upper["cpu"]
    assert short.upper["memory"] == long.upper["memory"]


def test_bulk_estimates_equal_single_estimates():
    """Each row uses the knobs that it was declared with."""
    usage = Usage()
    knobs = [Knobs(), Knobs(safety_margin=0.5, target_memory_percentile=0.99, round_cpu=7)]
    owners = [f"web-{i}" for i in range(20)]
    rows = [usage.declare(owner, "app", knobs[i % 2], START) for i, owner in enumerate(owners)]
    random = np.random.default_rng(1)
    numbers = np.array([usage.instance(row, "web-1") for row in rows])
    for hour in range(0, 90, 5):
        usage.fold(numbers, START + hour * HOUR, random.lognormal(6, 2, 20), random.lognormal(21, 2, 20))
    many = usage.estimates(np.array(rows), sharing=1)
    for i, owner in enumerate(owners):
        (bounds,) = usage.view(owner).estimate(knobs[i % 2], ["app"], {})
        single = [bounds.lower, bounds.target, bounds.upper]
        assert many.cpu[:, i].tolist() == pytest.approx([each["cpu"] for each in single], abs=1)
        assert many.memory[:, i].tolist() == pytest.approx([each["memory"] for each in single], abs=1)


def test_views_see_what_comes_later():
    """Even after the bank has been enlarged."""
    usage, _, number = one()
    view = usage.view(OWNER)
    for i in range(100):
        usage.declare(("shop", f"other-{i}"), "app", Knobs(), START)
    usage.observe([(number, 700, GB, START)])
    assert view.estimate(Knobs(), ["app"], {})[0].target == target(usage)


def test_a_shorter_half_life_forgets_sooner():
    """It applies from the time of its declaration."""
    usage, aggregate, number = one()
    days(7, usage, number, cpu=4000)
    now = START + 7 * DAY
    usage.declare(OWNER, "app", replace(Knobs(), cpu_half_life=HOUR), now)
    assert target(usage)["cpu"] > 4000
    assert usage.cpu.half_life[aggregate] == HOUR
    usage.observe([(number, 100, GB, now + minute * 60.0) for minute in range(1, 600)])
    assert target(usage)["cpu"] < 150
    assert target(usage)["memory"] > GB


def test_an_oom_kill_asks_for_more():
    """More than was requested and used; a second report changes nothing."""
    usage, aggregate, number = one()
    usage.observe([(number, 100, GB, START)])
    for _ in range(2):
        assert usage.oom(number, START + HOUR, 2 * GB)
        assert usage.instances["oom_peak"][number] == 2.4 * GB
        assert usage.memory.total[aggregate] == pytest.approx(usage.memory.weights[aggregate].max())
    assert target(usage)["memory"] > 2.4 * GB
    assert not usage.oom(number, nan, 2 * GB)


STATUS = {"version": "v3", "totalSamplesCount": 3, "cpuHistogram": {"bucketWeights": {"5": 1}, "totalWeight": 1.5}}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (None, "no status"),
        ({}, "version None"),
        ({**STATUS, "version": "v2"}, "only 'v3'"),
        ({**STATUS, "totalSamplesCount": -1}, "totalSamplesCount"),
        ({**STATUS, "totalSamplesCount": "3"}, "totalSamplesCount"),
        ({**STATUS, "firstSampleStart": "yesterday"}, "firstSampleStart: 'yesterday' is not a time"),
        ({**STATUS, "memoryHistogram": []}, "memoryHistogram: not a histogram"),
        ({**STATUS, "memoryHistogram": {"totalWeight": "1"}}, "memoryHistogram.totalWeight"),
        ({**STATUS, "memoryHistogram": {"totalWeight": True}}, "memoryHistogram.totalWeight"),
        ({**STATUS, "memoryHistogram": {"totalWeight": -1}}, "total weight of -1"),
        ({**STATUS, "memoryHistogram": {"bucketWeights": [1]}}, "bucketWeights: not a mapping"),
        ({**STATUS, "memoryHistogram": {"bucketWeights": {"x": 1}}}, "'x' is not the number"),
        ({**STATUS, "memoryHistogram": {"bucketWeights": {"1": 1.5}}}, "bucketWeights.1: 1.5 is not"),
        ({**STATUS, "memoryHistogram": {"bucketWeights": {"176": 1}}}, "no bucket 176"),
        ({**STATUS, "memoryHistogram": {"referenceTimestamp": 7}}, "referenceTimestamp: 7"),
    ],
)
def test_checkpoints_that_cannot_be_loaded(status, message):
    """The error says where and why, and both histograms stay unchanged."""
    usage, aggregate, _ = one()
    with pytest.raises(ValueError, match=message):
        usage.load(OWNER, "app", status)
    assert usage.cpu.is_empty(aggregate).all()
    assert usage.aggregates["samples"][aggregate] == 0


def test_a_checkpoint_survives_a_restart():
    """A new process recommends the same as the old process, except for the unfinished window."""
    usage, _, number = one()
    days(3, usage, number)
    status = usage.save(OWNER, "app", START + 3 * DAY + HOUR)
    assert status["lastUpdateTime"] == "2023-11-17T23:13:20Z"
    assert read_time(status["cpuHistogram"]["referenceTimestamp"]) % DAY == 0
    later, aggregate, again = one()
    later.load(OWNER, "app", status)
    assert target(later) == target(usage)
    assert later.memory.total[aggregate] < usage.memory.total[0]
    assert later.save(OWNER, "app", START + 3 * DAY + HOUR) == status
    later.observe([(again, 1000, GB, START + 3 * DAY)])
    assert later.aggregates["samples"][aggregate] == 3 * 24 + 2
    with pytest.raises(ValueError, match="loaded before"):
        later.load(OWNER, "app", status)


def test_saving_changes_nothing():
    """The unfinished peak is left out of the copy only."""
    usage, aggregate, number = one()
    usage.observe([(number, 1000, GB, START)])
    before = usage.memory.weights[aggregate].copy()
    status = usage.save(OWNER, "app", START)
    assert status["memoryHistogram"]["bucketWeights"] == {}
    assert (usage.memory.weights[aggregate] == before).all()


def test_an_empty_checkpoint():
    """Nothing is known, and null says so."""
    usage, _, _ = one()
    status = usage.save(OWNER, "app", START)
    assert (status["firstSampleStart"], status["totalSamplesCount"]) == (None, 0)
    assert status["cpuHistogram"] == {"referenceTimestamp": None, "bucketWeights": {}, "totalWeight": 0}
    later, aggregate, _ = one()
    later.load(OWNER, "app", status)
    assert later.cpu.is_empty(aggregate).all()
    assert later.view(OWNER).estimate(Knobs(), ["app"], {}) == ()


def test_expiry_names_what_is_gone():
    """Loaded rows stay while their owner exists, and so do rows with a pod."""
    usage, _, number = one()
    usage.observe([(number, 1, 1, START)])
    usage.declare(OWNER, "loaded", Knobs(), START)
    usage.load(OWNER, "loaded", STATUS)
    usage.declare(OWNER, "idle", Knobs(), START)
    usage.instance(usage.declare(OWNER, "waiting", Knobs(), START), "web-1")
    assert usage.expire(START) == ((OWNER, "idle"),)
    assert usage.expire(START + 8 * DAY - 1) == ()
    assert usage.expire(START + 8 * DAY) == ()
    assert set(usage.expire(START + 9 * DAY)) == {(OWNER, "app"), (OWNER, "waiting")}
    assert usage.view(OWNER).containers() == ("loaded",)
