"""The catalogue has exactly the rule ids that exist; the docs are made from it."""

import ast
import re
from pathlib import Path

import pytest

import hypot.kinds
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.hpa.rules import scale_problems
from hypot.kinds.metadata import metadata_update_problems
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.rules import update_problems as tortoise_update_problems
from hypot.kinds.vpa import VPA
from hypot.lint import check
from hypot.lint.rule_list import UnknownRule, all_rules, families, known_ids
from hypot.lint.rules.given import UNREADABLE
from hypot.lint.rules.own.objects import UPDATES
from unit.lint.lint_cases import OWN, OWN_KUBERNETES, tortoise, vpa

ROOT = Path(__file__).parents[3]
KINDS = Path(hypot.kinds.__path__[0])
# Calls that make a Problem, with its rule id as the first argument.
MAKERS = {"Problem", "_invalid", "_word_problems", "below", "too_many"}
# Ids that the kinds put together from a key.
COMPOSED = {"reference-kind", "reference-name", "labels", "annotations"}


def ids_in_code():
    """The rule ids in the source of the kinds that lint reads; a kind that is not in the catalogue yet is left out."""
    listed = {info.kind.__module__.split(".")[2] for info in CATALOGUE.values()}
    folders = {path.name for path in KINDS.iterdir() if (path / "fields.py").exists()}
    for path in KINDS.rglob("*.py"):
        if path.parent.name in folders - listed:
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in MAKERS:
                continue
            first = call.args[0] if call.args else None
            if isinstance(first, ast.Constant):
                yield first.value


# What constructors report about arguments that no manifest can have.
IN_PYTHON = {"keyword", "target-namespace"}


def update_problems():
    old = {"name": "web", "generation": 2, "resourceVersion": "7"}
    yield from metadata_update_problems({"name": "api", "generation": 1}, old)
    yield from scale_problems({"metadata": {"managedFields": [{"operation": "Replace"}]}})
    scaled = [{"containerName": "app", "policy": {"cpu": "Horizontal"}}]
    sized = [{"containerName": "app", "policy": {"cpu": "Vertical"}}]
    before, after = (
        Tortoise.from_dict(tortoise(autoscalingPolicy=each, deletionPolicy="NoDelete")) for each in (scaled, sized)
    )
    yield from tortoise_update_problems(after, before)
    emergency = Tortoise.from_dict(tortoise(updateMode="Emergency"))
    yield from tortoise_update_problems(emergency, Tortoise.from_dict(tortoise()))


def test_every_id_in_the_kinds_is_known():
    """A rule that a kind reports is in the catalogue."""
    assert set(ids_in_code()) - all_rules().keys() == IN_PYTHON


def test_every_known_id_can_be_reported():
    """Rules without code of their own are in the source of the kinds."""
    without_code = {rule.id for rule in all_rules().values() if rule.check is None}
    assert without_code - set(ids_in_code()) - COMPOSED == {UNREADABLE}


@pytest.mark.parametrize("rule", OWN)
def test_own_rule_is_found_with_the_message_of_the_docs(rule):
    """A manifest that breaks a kind's own rule is reported as the docs show it."""
    report = check(OWN[rule], kubernetes=OWN_KUBERNETES.get(rule, "1.37"))
    found = [(finding.message, finding.severity) for finding in report.findings if finding.rule == rule]
    assert found[:1] == [(all_rules()[rule].example, all_rules()[rule].severity)]


def test_update_rules_have_the_message_of_the_docs():
    """What only an update can break is reported by the functions for updates."""
    found = {p.rule: str(p).removeprefix(f"{p.field}: ") for p in update_problems()}
    assert found == {rule.id: rule.example for rule in UPDATES.rules}


def test_closed_gate_has_the_message_of_the_docs():
    """Lint does not know the gates of the VPA components; a caller that does gets the message."""
    in_place = VPA.from_dict(vpa(updatePolicy={"updateMode": "InPlace"}))
    (found,) = in_place.problems(gates={"InPlace": False})
    assert str(found).removeprefix(f"{found.field}: ") == all_rules()["vpa-gate"].example


def test_every_rule_has_a_violation():
    """Own rules, update rules, rules with code, and the rules for gates and for broken files are all rules."""
    with_code = {rule.id for rule in all_rules().values() if rule.check is not None}
    assert with_code | OWN.keys() | {rule.id for rule in UPDATES.rules} | {"vpa-gate", UNREADABLE} == all_rules().keys()


def test_ids_are_unique_and_texts_complete():
    """Ids are kebab case and unique, and no text is missing."""
    rules = [rule for family in families() for rule in family.rules]
    assert len(rules) == len(all_rules())
    for rule in rules:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.id)
        assert rule.title
        assert rule.why.endswith(".")
        assert rule.fix[0].islower()
        assert not rule.fix.endswith(".")
        assert rule.kinds


def test_unknown_ids_are_refused_with_a_suggestion():
    """The error for a mistyped id suggests a similar id."""
    with pytest.raises(UnknownRule, match="did you mean request-missing"):
        known_ids(["request-mising", "memory-alone"])
