"""What a constructor accepts, the API server accepts and stores; what it refuses, the server would refuse."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from cluster.crds import Unsaid, agree, beside, exactly, judged, serving
from cluster.fuzz import hpa_calls, size_calls
from cluster.fuzz.both_axes_cases import with_counts
from cluster.fuzz.calls import Call, refused, written
from cluster.fuzz.many import EXAMPLES, fuzzing
from cluster.fuzz.verdicts import KUBERNETES, as_json, disagreement, of_hypot, of_problems, of_server, post
from cluster.plane.api import Api
from cluster.test_crds import follows
from hypot import HPA, WPA, Hvpa, WorkloadAutoscaler
from hypot.kinds.base import Kind
from hypot.kinds.problem import Problem

ADDED = {**hpa_calls.ADDED, **size_calls.ADDED}
FOLLOWS = {WPA: follows, Hvpa: with_counts, WorkloadAutoscaler: follows}
# Nothing is sent: JSON has no such values, so only the constructor can refuse.
NOT_SENT = "not sent"
# A metric with two targets cannot be made, so the constructor says nothing about the rest of the object.
UNMADE = {"keyword"}


@pytest.fixture(scope="module")
def served(api: Api) -> Api:
    return serving(api)


def ruled(problems: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Without the rules that hypot adds on purpose."""
    return tuple(problem for problem in problems if problem.rule not in ADDED)


def verdict_on_hpa(api: Api, namespace: str, call: Call) -> str:
    """The verdict of the server on what is written; it is that of the constructor, with the same causes."""
    problems, manifest = refused(call), written(call)
    if manifest is None:
        assert problems, call
        return NOT_SENT
    answer = post(api, namespace, as_json(manifest))
    theirs = of_server(answer)
    if UNMADE & {problem.rule for problem in problems}:
        assert theirs.kind != "accepted", (call, answer)
        return theirs.kind
    ours = of_problems(ruled(problems))
    assert (theirs.kind, theirs.causes) == (ours.kind, ours.causes), (
        f"{call}\n{disagreement(manifest, answer, theirs, ours, problems)}"
    )
    if not problems:
        assert theirs.spec == call().effective(KUBERNETES).to_dict()["spec"], call
    return theirs.kind


def verdict_on_resource(api: Api, kind: type[Kind], call: Call) -> str:
    """The same for a custom resource: it is stored as it was written, because its definition has no defaults."""
    problems, manifest = refused(call), written(call)
    if manifest is None:
        assert problems, call
        return NOT_SENT
    unsaid: tuple[Unsaid, ...] = size_calls.UNSAID.get(kind, ())
    agree(api, kind, manifest, unsaid, FOLLOWS.get(kind, beside))
    said = [problem for problem in ruled(problems) if not any(one.covers(problem) for one in unsaid)]
    answer = judged(api, kind, manifest)
    assert answer.ok == (not said), (call, answer, problems)
    if answer.ok:
        assert exactly(answer.body["spec"]) == exactly(manifest["spec"]), call
    return "accepted" if answer.ok else "invalid"


def test_random_calls_of_hpa(api: Api, namespace: str, report: Callable[[str], None]) -> None:
    """Both accept the same object, and the server stores it as `effective` shows it, or both refuse it alike."""
    seen: Counter[str] = Counter()

    @fuzzing()
    @given(hpa_calls.hpas)
    def check(call: Call) -> None:
        seen[verdict_on_hpa(api, namespace, call)] += 1

    check()
    report(f"calls of HPA: {reported(seen)}")
    assert min(seen["accepted"], seen["invalid"], seen["unreadable"]) >= EXAMPLES // 30, seen


@pytest.mark.parametrize("kind", size_calls.KINDS)
def test_random_calls_of_custom_resources(served: Api, kind: type[Kind], report: Callable[[str], None]) -> None:
    """Both accept the same object, and the server stores it as it was written, or both refuse it."""
    seen: Counter[str] = Counter()

    @fuzzing(1 / 2)
    @given(size_calls.KINDS[kind])
    def check(call: Call) -> None:
        seen[verdict_on_resource(served, kind, call)] += 1

    check()
    report(f"calls of {kind.__name__}: {reported(seen)}")
    assert min(seen["accepted"], seen["invalid"]) > EXAMPLES // 20, seen


def reported(seen: Counter[str]) -> str:
    names: dict[str, str] = {"invalid": "refused", "unreadable": "undecodable"}
    return ", ".join(f"{number} {names.get(kind, kind)}" for kind, number in sorted(seen.items()))


@pytest.mark.parametrize("rule", ADDED)
def test_a_rule_that_hypot_adds_is_not_the_servers(served: Api, namespace: str, rule: str) -> None:
    """The constructor refuses for this rule alone, and the server accepts what would be written."""
    _, call = ADDED[rule]
    assert {problem.rule for problem in refused(call)} == {rule}
    manifest: Any = written(call)
    if call.make is HPA:
        answer = post(served, namespace, as_json(manifest))
        assert of_server(answer).kind == of_hypot(manifest)[0].kind == "accepted"
    else:
        assert judged(served, call.make, manifest).ok
