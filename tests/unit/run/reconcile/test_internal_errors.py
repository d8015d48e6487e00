"""An error of hypot's own code stays with its object: at every stage, with a condition, a counter and one log line."""

from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from hypot.policy.families import FAMILIES
from hypot.run.internal_errors import AGAIN_AFTER
from unit.run.reconcile.test_many import named, replicas_of
from unit.run.run_world import World, web, wpa

pytestmark = pytest.mark.asyncio
WPA = "WatermarkPodAutoscaler"


def concerns(this, given):
    """Whether one of the arguments belongs to the object `web`."""
    keys = [getattr(each, "key", getattr(each, "name", each)) for each in given]
    return any(key == "web" or (isinstance(key, tuple) and key[-1:] == ("web",)) for key in (this, *keys))


def stumbling(whole):
    """The same function, with an error for the object `web` only."""

    def stumbles(*given, **more):
        if concerns(None, given):
            raise ZeroDivisionError("the secret of web")
        return whole(*given, **more)

    return stumbles


def stumbling_at(name, monkeypatch):
    owner, _, function = name.rpartition(".")
    if owner == "family":
        family = FAMILIES[WPA]
        monkeypatch.setitem(FAMILIES, WPA, replace(family, **{function: stumbling(getattr(family, function))}))
        return
    path = f"hypot.run.{owner}"
    parts = path.split(".")
    found = __import__(".".join(part for part in parts if part.islower()), fromlist=["_"])
    for part in [part for part in parts if not part.islower()]:
        found = getattr(found, part)
    monkeypatch.setattr(found, function, stumbling(getattr(found, function)))


async def reconcile(world, *pauses):
    """Reconcile with a queue that needs 8 replicas, after each of these seconds."""
    for seconds in pauses:
        world.queue("80")
        await world.reconcile(seconds)


def errors_in(logged):
    return [line for line in logged if line["event"] == "internal error"]


@pytest.mark.parametrize(
    ("stage", "function", "replicas", "reported"),
    [
        ("observe", "family.questions", 4, True),
        ("observe", "observe.observer.Observer._asks", 4, True),
        ("observe", "reconcile.Reconciler._acting", 4, False),
        ("decide", "family.decide", 4, True),
        ("decide", "judge.Judge._examined", 4, True),
        ("act", "act.execute.Executor.execute", 4, True),
        ("report", "report.reporter.reported_events", 8, True),
        ("report", "report.reporter.Reporter._last_report", 8, False),
        ("report", "reconcile.without_writes", 8, False),
        ("save", "judge.Judge.entry", 8, False),
    ],
)
async def test_an_error_stays_with_its_object(stage, function, replicas, reported, monkeypatch):
    """The others are scaled as usual; this one has a condition, unless no status of it can be written."""
    async with World(*web(4), *named("api"), wpa()) as world:
        stumbling_at(function, monkeypatch)
        with capture_logs() as logged:
            await reconcile(world, 15, 15, 15)
        assert (replicas_of(world, "api"), world.replicas) == (8, replicas)
        assert world.app.errors.total[stage] > 0
        assert [(line["object"], line["stage"]) for line in errors_in(logged)] == [(f"{WPA}/shop/web", stage)]
        assert "secret" not in str([{**line, "exc_info": None} for line in logged])
        if reported:
            condition = world.condition("AbleToScale")
            assert condition["reason"] == "DecisionFailed"
            assert condition["message"] == f"hypot could not {stage}: ZeroDivisionError"


async def test_it_is_over_when_it_is_over(monkeypatch):
    """That is logged, and the object is scaled again."""
    async with World(*web(4), wpa()) as world:
        stumbling_at("family.decide", monkeypatch)
        await reconcile(world, 15)
        monkeypatch.undo()
        with capture_logs() as logged:
            await reconcile(world, 15, 15)
        assert [line["event"] for line in logged if "internal" in line["event"]] == ["internal error is over"]
        assert world.replicas == 8


async def test_a_failed_report_is_tried_again_later(monkeypatch):
    """Meanwhile the status says that it failed."""
    async with World(*web(4), wpa()) as world:
        stumbling_at("report.reporter.reported_events", monkeypatch)
        await reconcile(world, 15)
        monkeypatch.undo()
        for seconds, failed in ((15, True), (AGAIN_AFTER, False)):
            await reconcile(world, seconds)
            assert (world.condition("AbleToScale").get("reason") == "DecisionFailed") is failed


async def test_many_objects_with_one_error_have_one_traceback(monkeypatch):
    """Each has its line."""
    family = FAMILIES[WPA]

    def stumbles(*_):
        raise ZeroDivisionError

    monkeypatch.setitem(FAMILIES, WPA, replace(family, decide=stumbles))
    async with World(*named("api"), *named("shop"), *web(4), wpa()) as world:
        with capture_logs() as logged:
            await world.reconcile()
        lines = errors_in(logged)
        assert (len(lines), sum(line["exc_info"] is not None for line in lines)) == (3, 1)
