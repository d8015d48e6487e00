"""The API server and hypot give the same verdict on HorizontalPodAutoscalers."""

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from cluster.fuzz.manifest_cases import BY_RULE, REGRESSIONS
from cluster.fuzz.manifest_texts import texts
from cluster.fuzz.manifests import Object, manifests, sound, sound_v1
from cluster.fuzz.many import fuzzing
from cluster.fuzz.one_by_one import EVERYTHING, one_by_one
from cluster.fuzz.verdicts import KUBERNETES, Verdict, as_json, disagreement, of_hypot, of_server, post, shown_in_v2
from cluster.plane.api import Answer, Api
from hypot.kinds.problem import Problem
from hypot.kinds.text.load import LoadError, load
from hypot.lint import check as check_all
from hypot.lint.rule import HPA_ONLY
from hypot.lint.rules.own.fields import FIELDS
from hypot.lint.rules.own.objects import OBJECTS

RULES = {rule.id for rule in (*OBJECTS.rules, *FIELDS.rules) if set(HPA_ONLY) <= set(rule.kinds)}
# About the request, not about the manifest: the name of another namespace is a valid name.
NOT_HERE = "the namespace of the provided object does not match the namespace sent on the request"
NEEDS_TWO_CHANGES = {"zero-needs-outside-metric"}
CASES = [pytest.param(rule, data, id=f"{rule}-{i}") for rule, those in BY_RULE.items() for i, data in enumerate(those)]


def judged(api: Api, namespace: str, data: Mapping[str, Any]) -> tuple[Verdict, tuple[Problem, ...]]:
    """The verdict on a manifest, which is the same for both."""
    version = str(data["apiVersion"]).rpartition("/")[2]
    answer = post(api, namespace, as_json(data), version=version)
    ours, problems = of_hypot(data)
    theirs = of_server(answer)
    if version == "v1" and theirs.kind == "accepted":
        theirs = shown_in_v2(api, namespace, data)
    compare(data, answer, theirs, ours, problems)
    return theirs, problems


def compare(sent: Any, answer: Answer, theirs: Verdict, ours: Verdict, problems: tuple[Problem, ...]) -> None:
    assert theirs == ours, disagreement(sent, answer, theirs, ours, problems)


def test_every_rule_has_its_manifests() -> None:
    """There are manifests for the API server's rules in `hypot lint`, and for no other rules."""
    assert BY_RULE.keys() == RULES


@pytest.mark.parametrize(("rule", "data"), CASES)
def test_a_broken_rule_is_the_servers_rule(api: Api, namespace: str, rule: str, data: Object) -> None:
    """The server refuses what breaks a rule, at the same field and for the same reason."""
    theirs, problems = judged(api, namespace, data)
    assert theirs.kind != "accepted"
    assert rule in {problem.rule for problem in problems}


@pytest.mark.parametrize("data", REGRESSIONS.values(), ids=REGRESSIONS)
def test_a_settled_disagreement_stays_settled(api: Api, namespace: str, data: Object) -> None:
    """Both still agree on manifests that they once disagreed about."""
    judged(api, namespace, data)


def test_one_change_at_a_time(api: Api, namespace: str, report: Callable[[str], None]) -> None:
    """Both agree on each value, valid or not, at each place of a manifest with every field; every rule is covered."""
    seen: Counter[str] = Counter()
    for data in one_by_one():
        theirs, problems = judged(api, namespace, data)
        seen.update([theirs.kind, *{problem.rule for problem in problems}])
    report(reported("manifests, one change at a time", seen))
    assert RULES - seen.keys() == NEEDS_TWO_CHANGES


def test_random_manifests(api: Api, namespace: str, report: Callable[[str], None]) -> None:
    """Both accept the same spec, cannot decode it, or refuse it for the same reasons at the same fields."""
    seen: Counter[str] = Counter()

    @fuzzing()
    @given(manifests(sound()))
    def check(data: Object) -> None:
        theirs, problems = judged(api, namespace, data)
        seen.update([theirs.kind, *{problem.rule for problem in problems}])

    check()
    report(reported("manifests", seen))
    assert min(seen["accepted"], seen["invalid"], seen["unreadable"]) >= 30


def test_random_manifests_of_version_1(api: Api, namespace: str, report: Callable[[str], None]) -> None:
    """The same for autoscaling/v1; what it accepts is read in v2."""
    seen: Counter[str] = Counter()

    @fuzzing(1 / 5)
    @given(manifests(sound_v1()))
    def check(data: Object) -> None:
        theirs, _ = judged(api, namespace, data)
        seen[theirs.kind] += 1

    check()
    report(reported("manifests of version 1", seen))
    assert min(seen["accepted"], seen["invalid"], seen["unreadable"]) >= 5


def test_random_manifests_in_yaml(api: Api, namespace: str, tmp_path: Path, report: Callable[[str], None]) -> None:
    """Both agree on manifests as YAML text, which each reads itself."""
    seen: Counter[str] = Counter()
    files = (tmp_path / f"{i}.yaml" for i in count())

    @fuzzing(1 / 2)
    @given(texts(manifests(sound())))
    def check(text: str) -> None:
        answer = post(api, namespace, text.encode(), content="application/yaml")
        if NOT_HERE in str(answer.body.get("message")):
            return
        ours, problems = of_text(text, next(files))
        theirs = of_server(answer)
        compare(text, answer, theirs, ours, problems)
        seen[theirs.kind] += 1

    check()
    report(reported("manifests in YAML", seen))
    assert min(seen["accepted"], seen["invalid"], seen["unreadable"]) >= 5


def of_text(text: str, file: Path) -> tuple[Verdict, tuple[Problem, ...]]:
    """The verdict of hypot on a file."""
    file.write_text(text, encoding="utf-8")
    try:
        (loaded,) = load([str(file)])
    except LoadError as error:
        return Verdict("unreadable"), (Problem("load", "Decode", (), str(error)),)
    finally:
        file.unlink()
    return of_hypot(loaded.data)


def reported(what: str, seen: Counter[str]) -> str:
    """How often the server gave each verdict."""
    message = {"accepted": "accepted", "invalid": "refused", "unreadable": "undecodable"}
    return f"{what}: {', '.join(f'{seen[kind]} {word}' for kind, word in message.items())}"


def test_a_field_of_the_next_version_is_taken(api: Api, namespace: str) -> None:
    """The only known difference in a status: conditions have a generation from 1.37 on; hypot accepts it earlier."""
    data = {**copy.deepcopy(EVERYTHING), "status": {"conditions": [{"observedGeneration": 1}]}}
    assert of_server(post(api, namespace, as_json(data))).kind == "unreadable"
    assert of_hypot(data)[0].kind == "accepted"


@pytest.mark.parametrize("version", ["v2beta1", "v2beta2", "v3"])
def test_a_version_that_is_not_served_is_refused(api: Api, namespace: str, version: str) -> None:
    """Both the server and `hypot lint` refuse it."""
    data = {**BY_RULE["max-replicas"][0], "apiVersion": f"autoscaling/{version}"}
    assert of_server(post(api, namespace, as_json(data))).kind == "unreadable"
    assert "api-version-not-served" in {finding.rule for finding in check_all(data, kubernetes=KUBERNETES).errors}
