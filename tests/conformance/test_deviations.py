"""The list of deliberate differences: every entry is well-formed and still needed."""

import importlib
from pathlib import Path

import pytest

from conformance.harness import (
    VARIABLE,
    absence_faults,
    absent_entries,
    deviation,
    entries,
    faults,
    function_of,
    holds,
    load_cases,
    vector_file,
    without_counterpart,
)

GIVEN = {"spec": {"metrics": [{"type": "External"}], "name": "web", "none": None}, "scale": {"replicas": 3}}


def entry_name(entry):
    return f"{entry.get('file')}: {entry.get('case') or ' and '.join(entry.get('when', ()))}"


@pytest.fixture(scope="module", autouse=True)
def _every_check_is_known():
    """Import all modules of this folder, so that each has declared its checks."""
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("test_*.py")):
        try:
            importlib.import_module(".".join(("conformance", *path.relative_to(folder).with_suffix("").parts)))
        except pytest.skip.Exception:
            continue


@pytest.mark.parametrize("entry", entries(), ids=entry_name)
def test_every_entry_is_well_formed(entry):
    """An entry says which cases it excuses and why."""
    assert faults(entry) == []


@pytest.mark.parametrize("entry", entries(), ids=entry_name)
def test_no_entry_is_stale(entry):
    """At least one case that the entry covers still gives a different result."""
    if not vector_file(entry["file"]).is_file():
        pytest.skip(f"{entry['file']} is not there; set {VARIABLE} to the folder that holds it")
    differing = list(deviation(entry).differing())
    if entry.get("unseen"):
        assert not differing, "a present case shows it now: drop the word unseen"
    else:
        assert differing, "no present case differs any more: remove the entry"


@pytest.mark.parametrize("entry", absent_entries(), ids=lambda entry: f"{entry['file']}: {entry['functions']}")
def test_every_function_without_a_counterpart_is_in_its_file(entry):
    """An entry is well-formed, and each of its functions has a case that it covers."""
    assert absence_faults(entry) == []
    if not vector_file(entry["file"]).is_file():
        pytest.skip(f"{entry['file']} is not there; set {VARIABLE} to the folder that holds it")
    covered = [case for case in load_cases(entry["file"]) if without_counterpart(entry).covers(entry["file"], case)]
    assert {function_of(case["given"]) for case in covered} == set(entry["functions"])


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"file": "a.json", "functions": [], "reason": "Because."},
        {"file": "a.json", "functions": "f", "reason": "Because."},
        {"file": "a.json", "functions": ["f"], "reason": "no sentence"},
        {"file": "a.json", "functions": ["f"], "reason": "Because.", "case": "x"},
        {"file": "a.json", "functions": ["f"], "reason": "Because.", "when": ["a = 3"]},
    ],
)
def test_a_malformed_entry_without_a_counterpart_is_told(entry):
    """An entry that could skip the wrong cases is not well-formed."""
    assert absence_faults(entry)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("spec.metrics is present", True),
        ("spec.metrics is absent", False),
        ("spec.recommender is absent", True),
        ("spec.none is absent", True),
        ("spec.metrics[0].type is present", True),
        ("spec.metrics[1].type is absent", True),
        ("spec.name.length is absent", True),
        ('spec.metrics[0].type == "External"', True),
        ('spec.metrics[0].type != "Resource"', True),
        ("spec.metrics[0].type < 3", False),
        ("scale.replicas == 3", True),
        ("scale.replicas > 3", False),
        ("scale.replicas >= 3", True),
        ("scale.replicas < 4", True),
        ("scale.replicas <= 2", False),
        ("scale.other != 3", False),
        ('spec.name contains "eb"', True),
        ('spec contains "name"', True),
        ('spec.metrics contains {"type": "External"}', True),
        ("scale.replicas contains 3", False),
        ("scale.replicas == @scale.replicas", True),
        ("scale.replicas < @scale.replicas", False),
        ("scale.replicas < @scale.other", False),
    ],
)
def test_conditions_read_as_they_are_written(condition, expected):
    """Paths, operators and JSON values mean what they say, and a missing value never raises."""
    assert holds(condition, GIVEN) is expected


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"file": "a.json", "reason": "Because."},
        {"file": "a.json", "reason": "Because.", "case": "x", "when": ["a is absent"]},
        {"file": "a.json", "reason": "no sentence", "case": "x"},
        {"file": "a.json", "reason": "Because.", "case": "x", "note": "y"},
        {"file": "a.json", "reason": "Because.", "case": 3},
        {"file": "a.json", "reason": "Because.", "when": []},
        {"file": "a.json", "reason": "Because.", "when": "a is absent"},
        {"file": "a.json", "reason": "Because.", "when": ["a = 3"]},
        {"file": "a.json", "reason": "Because.", "when": ["a == three"]},
        {"reason": "Because.", "case": "x"},
    ],
)
def test_a_malformed_entry_is_told(entry):
    """An entry that could excuse the wrong cases is not well-formed."""
    assert faults(entry)
