"""What the log says of a reconcile: actions each time, everything else once for each change."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from builders import NOW
from fake_objects import refusal
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.run.outcome import Reconciled
from hypot.run.report.gauges import MOST_SERIES
from hypot.run.report.log import DecisionLog
from unit.policy.sizes_world import hvpa, node, vpa
from unit.policy.tortoise.tortoise_world import BY_CPU
from unit.run.act.test_edited_hpas import tortoise
from unit.run.outcomes import crowded, representative
from unit.run.run_world import World, all_kinds, web, wpa

pytestmark = pytest.mark.asyncio
OUTCOMES = representative()
MOVED = State(last_scale=NOW - 1)
ONLY_VPA = all_kinds(VerticalPodAutoscaler="act")


async def lines(decision_log, *outcomes):
    """What is logged of a reconcile with these outcomes."""
    with capture_logs() as logs:
        await decision_log.report(Reconciled(outcomes))
    return logs


async def message(decision_log, *outcomes):
    return [each["event"] for each in (await lines(decision_log, *outcomes))[1:]]


def larger(outcome, factor):
    """The same outcome with desired sizes multiplied by a factor."""
    sizes = tuple(
        Size(each.container, {resource: int(amount * factor) for resource, amount in each.requests.items()})
        for each in outcome.decision.desired_sizes
    )
    return replace(outcome, decision=outcome.decision._replace(desired_sizes=sizes))


async def test_what_was_refused_is_not_logged_as_done():
    """A pod that may not be evicted stays for weeks: one line, and no reconcile counts as a move."""
    async with World(*web(3), vpa("Recreate"), node(), kinds=ONLY_VPA) as world:
        world.app.sizes_new_pods = False
        decision_log, said, moved = DecisionLog(), [], []
        for _ in range(4):
            world.uses("3")
            first, *others = await lines(decision_log, *(await world.reconcile()).outcomes)
            moved.append(first["moved"])
            said += others
        assert moved == [0, 0, 0, 0]
        assert [(each["event"], each["refusal"]) for each in said if "refusal" in each] == [
            ("not done", "1 pod keeps its size")
        ]
        assert not [each for each in said if each["event"] == "decided"]


async def test_a_refused_write_is_logged_once_until_it_is_done():
    """The line has the reason and the refusal; after a successful write the next refusal is logged again."""
    async with World(*web(4), wpa()) as world:
        world.cluster.faults = lambda call: refusal(403, "no") if call.path.endswith("/scale") and call.writes else None
        decision_log, said = DecisionLog(), []
        for _ in range(3):
            world.queue("80")
            said += (await lines(decision_log, *(await world.reconcile()).outcomes))[1:]
        assert [(each["event"], each["before"], each["after"]) for each in said] == [("not done", 4, 8)]
        assert "403" in said[0]["refusal"]
        world.cluster.faults = None
        world.queue("80")
        assert await message(decision_log, *(await world.reconcile()).outcomes) == ["decided"]


async def test_a_write_without_an_answer_was_perhaps_done():
    """The result is unknown, and the log says so."""
    assert await message(DecisionLog(), replace(OUTCOMES["wpa refused"], unsure=True)) == ["perhaps done"]


async def test_a_step_of_a_plan_that_is_refused_is_not_the_whole_of_it():
    """The steps before it were done."""
    async with World(*web(1), hvpa(), node()) as world:
        world.uses("3")
        first = await world.outcome("Hvpa")
    stuck = replace(first, before=first.state, refusal="409 conflict")
    assert first.state.plan is not None
    assert await message(DecisionLog(), stuck) == ["not all done"]


async def test_a_dry_run_would_decide_and_says_so_once():
    """Nothing moves, so each reconcile decides the same."""
    async with World(*web(4), wpa(), dry_run=True) as world:
        said, moved = [], []
        decision_log = DecisionLog(dry_run=True)
        for metric in ("80", "80", "160"):
            world.queue(metric)
            first, *others = await lines(decision_log, *(await world.reconcile()).outcomes)
            moved.append(first["moved"])
            said += [(each["event"], each["after"]) for each in others if "object" in each]
        assert moved == [0, 0, 0]
        assert said == [("would decide", 8), ("would decide", 16)]


async def test_a_dry_run_would_evict_though_it_has_no_webhook():
    """The controller that would act has a webhook."""
    async with World(*web(6), vpa("Recreate"), node(cpu="96"), kinds=ONLY_VPA, dry_run=True) as world:
        world.app.sizes_new_pods = False
        world.uses("3", "3Gi")
        outcome = await world.outcome("VerticalPodAutoscaler")
        assert "WebhookUnavailable" not in {hold.reason for hold in outcome.holds}
        assert await message(DecisionLog(dry_run=True), outcome) == ["would decide"]


async def test_an_object_of_its_own_dry_run_would_decide():
    """Other objects are moved."""
    decision_log = DecisionLog()
    assert await message(decision_log, OUTCOMES["wpa tried"]) == ["would decide"]
    assert await message(decision_log, OUTCOMES["wpa tried"]) == []


async def test_recommend_mode_logs_nothing_of_pods():
    """Its status has the recommendation, and no pod was to be changed."""
    assert await message(DecisionLog(), replace(OUTCOMES["vpa resizes"], acting="recommend")) == []


async def test_sizes_are_logged_before_and_after():
    """A decision on the size alone has the same count before and after."""
    (_, said) = await lines(DecisionLog(), OUTCOMES["hvpa moves"])
    assert (said["event"], said["sizes"]) == ("decided", "app: cpu 400m to 1334m")
    (_, said) = await lines(DecisionLog(), OUTCOMES["vpa resizes"])
    assert (said["before"], said["after"], said["sizes"]) == (3, 3, "app: cpu 1 to 2")
    (_, said) = await lines(DecisionLog(), OUTCOMES["wpa moves"])
    assert "sizes" not in said


async def test_limits_alone_are_logged_as_such():
    """Unchanged requests are not named."""
    decision = OUTCOMES["hvpa moves"].decision
    gets = tuple(size._replace(limits={"cpu": 5000}) for size in decision.sizes)
    outcome = replace(OUTCOMES["hvpa moves"], decision=decision._replace(desired_sizes=gets))
    assert (await lines(DecisionLog(), outcome))[1]["sizes"] == "app: only its limits"


async def test_a_size_is_logged_again_where_it_differs_enough():
    """The difference is to the last logged size, so that small steps add up."""
    observed = replace(OUTCOMES["hvpa moves"], acting="observe")
    decision_log = DecisionLog()
    assert await message(decision_log, observed) == ["would decide"]
    said = [await message(decision_log, larger(observed, factor)) for factor in (1.04, 0.93, 1.08, 1.12, 1.16, 1.0)]
    assert said == [[], [], [], ["would decide"], [], ["would decide"]]


async def test_series_that_do_not_fit_are_logged_once():
    """A line for what is newly dropped; a reason that comes and goes adds none, and a new object has its own."""
    decision_log = DecisionLog()
    four, five, six = crowded(5, 0, MOVED), crowded(5, 2, MOVED), crowded(6, 0, MOVED)
    first = await lines(decision_log, four)
    (line,) = [each for each in first if each["event"] == "series dropped"]
    assert (line["dropped"], line["most"]) == (["metric metric-4{map[]}"], MOST_SERIES)
    said = [await message(decision_log, each) for each in (four, five, four, five, six, six)]
    assert [each.count("series dropped") for each in said] == [0, 1, 0, 0, 1, 0]
    assert "series dropped" not in await message(decision_log)
    assert "series dropped" in await message(decision_log, four)


async def test_no_series_are_dropped_where_objects_have_none():
    """With `objectMetrics: false` nothing is missing."""
    assert "series dropped" not in await message(DecisionLog(object_metrics=False), crowded(15, 0))


async def test_an_edit_of_the_hpa_alone_is_an_action():
    """It counts as a move, with the reason; refused, it is logged once, and so is one that is not to be done."""
    one = OUTCOMES["tortoise edits"]
    assert not one.decision.moves
    first, line = await lines(DecisionLog(), one)
    assert (first["moved"], line["event"], line["why"]) == (1, "decided", "the HPA gets 3 to 6 replicas")
    trying = DecisionLog(dry_run=True)
    assert await message(trying, one) == ["would decide"]
    assert await message(trying, one) == []
    other = one.decision._replace(hpa=one.decision.hpa.bounded(4, 8))
    assert await message(trying, replace(one, decision=other)) == ["would decide"]
    assert await message(trying, OUTCOMES["tortoise gathers"]) == []


async def test_an_hpa_that_cannot_be_written():
    """One line with the refusal, and no reconcile counts as a move until it is written."""
    async with World(*web(4), tortoise(autoscalingPolicy=BY_CPU), node()) as world:
        world.cluster.faults = lambda call: (
            refusal(403, "no") if call.writes and "horizontalpodautoscalers" in call.path else None
        )
        decision_log, said = DecisionLog(), []
        for _ in range(3):
            world.uses("500m")
            said += await lines(decision_log, *(await world.reconcile()).outcomes)
        assert [each["moved"] for each in said if each["event"] == "reconciled"] == [0, 0, 0]
        [refused] = [each for each in said if each["event"] == "not done"]
        assert "403" in refused["refusal"]
        assert world.events("FailedUpdateHPA")
        world.cluster.faults = None
        world.uses("500m")
        assert await message(decision_log, *(await world.reconcile()).outcomes) == ["decided"]
        world.uses("500m")
        assert await message(decision_log, *(await world.reconcile()).outcomes) == []
