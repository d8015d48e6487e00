"""A made-up kind, added by one record in the catalogue and one in the families, works wherever kinds do."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import pytest
from click.testing import CliRunner

from hypot.cli.main import cli
from hypot.kinds.base import Kind, Ref, target_problems
from hypot.kinds.catalogue import CATALOGUE, KindInfo
from hypot.kinds.identity import Identity
from hypot.kinds.meta import MetricName
from hypot.kinds.node import INT32, node, wire
from hypot.kinds.problem import Problem
from hypot.lint import rule_list  # noqa: F401  its list of kinds is made on import, before the made-up kind exists
from hypot.policy.families import ABLE, DECODE, FAMILIES, Family
from hypot.policy.model.decision import Event, MoveReport
from hypot.policy.model.seen import Failure
from hypot.policy.observe.questions import Questions
from hypot.policy.stages.report import Findings, Refusal
from hypot.run.rights import cluster_rules, rights_for, said_by
from unit.policy.sizes_world import NAMESPACE, TARGET, made
from unit.run.run_world import World, all_kinds, web

SEVENTY = {"averageUtilization": 70}
GROUP, PLURAL = "scaling.example.com", "fixedpodautoscalers"


@node
class Fixed(Kind):
    """Keeps a workload at a number of replicas."""

    API_VERSION: ClassVar[str] = f"{GROUP}/v1"
    KIND: ClassVar[str] = "FixedPodAutoscaler"

    target: Ref | None = wire("scaleTargetRef", Ref)
    replicas: int | None = wire("replicas", INT32)

    min_replicas = property(lambda self: self.replicas)

    def rule_problems(self, kubernetes: tuple[int, int], gates: Mapping[str, bool] | None) -> Iterator[Problem]:
        del kubernetes, gates
        yield from target_problems(self.target, "scaleTargetRef")
        if self.replicas is None:
            yield Problem("min-replicas", "Required", ("spec", "replicas"), "say how many")


def decide(fixed, seen, state, _settings):
    findings = Findings(fixed, seen, state)
    if isinstance(seen.scale, Failure):
        findings.no_scale(seen.scale, "FailedGetScale")
        return findings.stays(None, {}), state
    findings.scale_read()
    current = seen.scale.replicas
    findings.step("recommend", "fixed", current, fixed.replicas, f"It is to have {fixed.replicas} replicas.")
    return findings.move(current, fixed.replicas, {"currentReplicas": current}, reason="the number is fixed"), state


def report(_fixed, move, _state, _settings, _effect):
    event = Event("Normal", "Scaled", f"New size: {move.desired}")
    return MoveReport(move.unwritten, (event,) if move.moves else (), {"desiredReplicas": move.desired})


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    family = Family(
        decide=decide,
        report=report,
        refused=lambda _fixed, _move, _state, message: Refusal(ABLE, "Failed", "Failed", message),
        questions=lambda _fixed, _settings: Questions(),
        longest_window=lambda _fixed, _settings: 0.0,
        is_off=lambda _fixed: False,
        is_undecidable=lambda problem: problem.kind in {DECODE, "Required"},
        undecidable=(ABLE, "False", "InvalidSpec"),
    )
    identity = Identity(Fixed.KIND, Fixed.API_VERSION)
    known = KindInfo(identity, __name__, Fixed.__name__, PLURAL, abbreviation="FPA", counts=True)
    monkeypatch.setitem(CATALOGUE, Fixed.KIND, known)
    monkeypatch.setitem(FAMILIES, Fixed.KIND, family)


def fixed(**spec):
    return made(Fixed.API_VERSION, Fixed.KIND, "web", {"scaleTargetRef": TARGET, "replicas": 5, **spec})


def asked(command, tmp_path, *objects):
    path = tmp_path / "given.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}), encoding="utf-8")
    return CliRunner().invoke(cli, [command, "-f", str(path)], catch_exceptions=False)


def test_it_is_decided(tmp_path):
    """Its own rule decides, and it is shown under its short name."""
    done = asked("decide", tmp_path, fixed(), *web(2))
    assert done.exit_code == 0
    assert "FPA → Deployment/web  ▲ 2 → 5  the number is fixed" in done.stdout
    assert "It is to have 5 replicas." in done.stdout


def test_it_is_held(tmp_path):
    """The annotation that pauses every kind pauses this kind too."""
    paused = fixed()
    paused["metadata"]["annotations"] = {"hypot.dev/paused": "true"}
    assert "2 → 2  hold" in asked("decide", tmp_path, paused, *web(2)).stdout


def test_an_undecidable_object_says_so(tmp_path):
    """Its family says which problems make it undecidable."""
    done = asked("decide", tmp_path, fixed(replicas=None), *web(2))
    assert "undecided: the object is not valid: spec.replicas: Required value: say how" in done.stdout


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        ({"replicas": None}, "min-replicas"),
        ({"replicas": "many"}, "type"),
        ({"scaleTargetRef": {**TARGET, "name": "wbe"}}, "target-missing"),
        ({"scaleTargetRef": {**TARGET, "kind": "deployment"}}, "target-kind"),
    ],
)
def test_it_is_linted(tmp_path, spec, rule):
    """Its own rules apply, and those for everything that points at a workload."""
    assert rule in asked("lint", tmp_path, fixed(**spec), *web(2)).stdout


def test_two_of_one_target_are_found(tmp_path):
    """Two autoscalers with one target are found, also when their kinds differ."""
    other = made(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "other",
        {"scaleTargetRef": TARGET, "minReplicas": 1, "maxReplicas": 9},
    )
    assert "two-autoscalers" in asked("lint", tmp_path, fixed(), other, *web(2)).stdout


@pytest.mark.asyncio
async def test_the_controller_acts_on_it():
    """It is watched, decided on, scaled and reported; nothing else names it."""
    path = f"/apis/{Fixed.API_VERSION}/namespaces/{NAMESPACE}/{PLURAL}"
    async with World(fixed(), *web(2), kinds=all_kinds(FixedPodAutoscaler="act")) as world:
        outcome = await world.outcome(Fixed.KIND)
        assert (outcome.decision.current, outcome.decision.desired) == (2, 5)
        assert world.replicas == 5
        status = world.at(f"{path}/web")["status"]
        assert (status["currentReplicas"], status["desiredReplicas"]) == (2, 5)


def test_it_is_allowed_what_it_needs():
    """It may be watched and reported on; while it is only observed its status may not be written."""
    config = World(kinds=all_kinds(FixedPodAutoscaler="act")).config
    said = said_by(cluster_rules(rights_for(config)))
    assert {(GROUP, PLURAL, "watch", ""), (GROUP, f"{PLURAL}/status", "patch", "")} <= said
    observed = said_by(cluster_rules(rights_for(World(kinds=all_kinds(FixedPodAutoscaler="observe")).config)))
    assert (GROUP, f"{PLURAL}/status", "patch", "") not in observed


def replayed(tmp_path, *arguments):
    """A replay of an hour of constant demand: this kind and an HPA."""
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", **SEVENTY}}}]
    bounded = {"scaleTargetRef": TARGET, "minReplicas": 2, "maxReplicas": 4, "metrics": metrics}
    hpa = made("autoscaling/v2", "HorizontalPodAutoscaler", "hpa", bounded)
    for one, policy in ((five := fixed(), "five"), (hpa, "hpa")):
        one["metadata"]["annotations"] = {"hypot.dev/policy": policy}
    manifests, demand = tmp_path / "given.json", tmp_path / "demand.csv"
    objects = {"apiVersion": "v1", "kind": "List", "items": [five, hpa, *web(2)]}
    manifests.write_text(json.dumps(objects), encoding="utf-8")
    demand.write_text("timestamp,value\n" + "".join(f"{60 * i},0.5\n" for i in range(61)), encoding="utf-8")
    given = ["replay", str(demand), "-f", str(manifests), *arguments, "-o", "json"]
    return CliRunner().invoke(cli, given, catch_exceptions=False)


def test_it_is_replayed(tmp_path):
    """Full decisions replay it, next to a kind decided by plain numbers; a path of its spec is a knob of a grid."""
    done = replayed(tmp_path, "--grid", "five.spec.replicas=3,5")
    assert done.exit_code == 0, done.output
    (workload,) = json.loads(done.stdout)["workloads"]
    pods = {name: scores["peak_pods"] for name, scores in workload["scores"].items()}
    assert pods == {"five replicas=3": 3, "five replicas=5": 5, "hpa": 2, "static peak": 2}


def test_a_metric_that_the_world_lacks_prevents_its_replay(tmp_path, monkeypatch):
    """The error gives the same advice as for any other kind."""
    asks = Questions(pods=(MetricName("queue"),))
    monkeypatch.setitem(FAMILIES, Fixed.KIND, replace(FAMILIES[Fixed.KIND], questions=lambda _fixed, _settings: asks))
    done = replayed(tmp_path)
    assert done.exit_code == 2
    assert "the world does not define the metric queue; write 'metrics: {names: {\"queue\": requests}}'" in done.output


def test_its_only_knobs_are_paths(tmp_path):
    """A grid says that its knobs are paths."""
    done = replayed(tmp_path, "--grid", "five.cpu=50,60")
    assert done.exit_code == 2
    assert "unknown knob cpu; the knobs are paths such as spec.a.0.b" in done.output
