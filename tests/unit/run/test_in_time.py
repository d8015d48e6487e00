"""What a reconcile has no time for is left to the next one, with fair turns; and writes that scale come first."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.run.in_time import in_turns, write_in_time
from hypot.run.reconcile import CHILDREN_BY, SCALED_BY, STATUSES_BY
from unit.policy.sizes_world import NAMESPACE, TARGET, hvpa, node, vpa
from unit.run.reconcile.test_many import named
from unit.run.run_world import KINDS, World, all_kinds, hpa, web, wpa

OBJECTS = {"hypot.dev/recommendations": "objects"}


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("", ""),
        ("a1", "a1"),
        ("a1 a2 a3", "a1 a2 a3"),
        ("a1 a2 a3 b1", "a1 b1 a2 a3"),
        ("a1 a2 b1 b2 c1", "a1 b1 c1 a2 b2"),
        ("b1 a1 a2 b2", "b1 a1 a2 b2"),
    ],
)
def test_turns(items, expected):
    """The order of each tenant stays."""
    assert in_turns(items.split(), lambda item: item[0]) == expected.split()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers()), max_size=30))
def test_nobody_waits_for_all_items_of_another(items):
    """At any time, a tenant that still waits had as many turns as any other, or one less."""
    ordered = in_turns(items, lambda item: item[0])
    assert Counter(ordered) == Counter(items)
    left = Counter(tenant for tenant, _ in items)
    taken: Counter[str] = Counter()
    for tenant, _ in ordered:
        taken[tenant] += 1
        left[tenant] -= 1
        assert all(max(taken.values()) - taken[other] <= 1 for other in left if left[other])


@pytest.mark.asyncio
@given(count=st.integers(0, 40), most=st.integers(0, 40), at_once=st.integers(1, 8))
async def test_nothing_is_begun_after_time(count, most, at_once):
    """The first ones are written, in order, and each once."""
    begun = []

    async def write(item):
        begun.append(item)
        await asyncio.sleep(0)
        return item

    done = await write_in_time(range(count), write, at_once, lambda: len(begun) < most)
    assert begun == list(range(min(count, most)))
    assert sorted(done) == begun


# In a reconcile.

KIND = {
    "HorizontalPodAutoscaler": lambda name: hpa(name, target={**TARGET, "name": name}),
    "WatermarkPodAutoscaler": lambda name: wpa(name, target={**TARGET, "name": name}),
    "VerticalPodAutoscaler": lambda name: vpa("Recreate", name=name, target={**TARGET, "name": name}),
    "Hvpa": lambda name: hvpa(name=name, targetRef={**TARGET, "name": name}),
}


@pytest.fixture(autouse=True)
def _one_write_at_a_time(monkeypatch):
    for name in ("report.reporter.AT_ONCE", "reconcile.AT_ONCE", "reconcile.CHILDREN_AT_ONCE"):
        monkeypatch.setattr(f"hypot.run.{name}", 1)


def slow(world, seconds, *ends):
    """Writes to such paths take so long, one after the other."""

    def pass_time(call):
        if call.writes and call.path.endswith(ends):
            world.passes(seconds)

    world.cluster.faults = pass_time


def objects_of(world, end):
    """The objects that the last reconcile wrote to, in order."""
    return [call.path.split("/")[-2] for call in world.writes(end)]


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", KIND)
async def test_many_new_objects_are_reported_in_several_reconciles(kind):
    """Each reconcile writes as many statuses as it has time for, no object twice, and none is lost."""
    names = [f"web-{index:02}" for index in range(40)]
    async with World(*[KIND[kind](name) for name in names], kinds=all_kinds(**{kind: "act"})) as world:
        slow(world, STATUSES_BY / 16, "/status")
        written = []
        for count in (16, 16, 8, 0):
            await world.reconcile()
            assert len(objects_of(world, "/status")) == count
            written += objects_of(world, "/status")
        assert written == names


@pytest.mark.asyncio
async def test_statuses_delay_no_scaling():
    """All are scaled in the first reconcile; the statuses follow, and no later one comes before them."""
    async with World(*[thing for index in range(30) for thing in named(f"web-{index:02}")]) as world:
        slow(world, STATUSES_BY / 16, "/status")
        world.queue("80")
        await world.reconcile()
        assert len(world.writes("/scale")) == 30
        first = objects_of(world, "/status")
        assert len(first) == 16
        world.queue("40")
        await world.reconcile()
        second = objects_of(world, "/status")
        assert not set(second[: 30 - len(first)]) & set(first)


@pytest.mark.asyncio
async def test_statuses_of_one_tenant_delay_nobody():
    """The status of another tenant's only object is written in the first reconcile."""
    tenants = [thing for index in range(30) for thing in named(f"a-{index:02}")]
    async with World(*tenants, *named("zoo", "zoo")) as world:
        slow(world, STATUSES_BY / 4, "/status")
        await world.reconcile()
        assert "zoo" in objects_of(world, "/status")


@pytest.mark.asyncio
async def test_scaling_stops_before_a_probe_fails():
    """What had no turn is scaled first in the next reconcile, and not reported before."""
    async with World(*[thing for index in range(30) for thing in named(f"web-{index:02}")]) as world:
        slow(world, SCALED_BY / 20, "/scale")
        world.queue("80")
        outcomes = (await world.reconcile()).outcomes
        first = objects_of(world, "/scale")
        assert len(first) == 20
        assert {one.key[2] for one in outcomes if "no time" in one.refusal} | set(first) == {
            one.key[2] for one in outcomes
        }
        assert set(objects_of(world, "/status")) <= set(first)
        world.queue("80")
        await world.reconcile()
        assert set(objects_of(world, "/scale")) >= {f"web-{index:02}" for index in range(30)} - set(first)


@pytest.mark.asyncio
async def test_children_are_created_in_several_reconciles():
    """As many as there is time for; the next reconcile continues."""
    metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
    metric["resource"]["target"]["averageUtilization"] = 50
    counted = {"deploy": True, "template": {"spec": {"minReplicas": 1, "maxReplicas": 4, "metrics": [metric]}}}
    parents = [
        hvpa(name=f"web-{i}", annotations=OBJECTS, hpa=counted, targetRef={**TARGET, "name": f"web-{i}"})
        for i in range(10)
    ]
    async with World(*web(1), *parents, node()) as world:
        slow(world, CHILDREN_BY / 7, "podautoscalers")
        made = []
        for _ in range(3):
            await world.reconcile()
            made.append(len([call for call in world.writes("podautoscalers") if call.method == "POST"]))
        assert made == [7, 7, 6]
        assert len(world.cluster.objects(KINDS["HorizontalPodAutoscaler"])) == 10
        assert {each["metadata"]["namespace"] for each in world.cluster.objects(KINDS["VerticalPodAutoscaler"])} == {
            NAMESPACE
        }
