"""The scenarios that are shipped with hypot pass in their reduced form."""

import pytest

from hypot.replay.scenario.scenarios import default_folder, read_scenarios, run_scenarios

FOLDER = default_folder()
QUICK = {one.id: one for one in read_scenarios(FOLDER, quick=True)}


@pytest.mark.parametrize("name", QUICK)
def test_it_passes_in_its_reduced_form(name):
    """The good policy meets its bar, and the bad policy is worse by the required factor."""
    result = run_scenarios([QUICK[name]], workers=1)[0]
    assert result.broken == ()
    assert result.status == "passed"


@pytest.mark.parametrize("name", ["S23", "S23-T", "S24"])
def test_it_passes_without_recorded_traces(name, monkeypatch):
    """A generated trace of the same kind is used instead."""
    monkeypatch.setenv("HYPOT_TRACES", str(FOLDER / "nowhere"))
    assert run_scenarios([QUICK[name]], workers=1)[0].broken == ()
