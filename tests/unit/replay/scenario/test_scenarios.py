"""The scenarios that are there; how they are read, judged and reported."""

import json
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from hypot.cli import scenarios as cli
from hypot.kinds.text.load import load
from hypot.replay.scenario.decisions import measured as decided
from hypot.replay.scenario.file import ScenarioError, overlaid, read_scenario
from hypot.replay.scenario.scenarios import chosen, default_folder, judged, read_scenarios, run_scenarios

FOLDER = default_folder()
QUICK = {one.id: one for one in read_scenarios(FOLDER, quick=True)}
FULL = {one.id: one for one in read_scenarios(FOLDER)}
SCHEMA = json.loads(files("hypot.cli").joinpath("scenarios.schema.json").read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[4] / "docs" / "scenarios.md"
HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 20
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: TARGET}}
"""
SMALL = {
    "id": "S1",
    "title": "Half as many",
    "story": "One.\nTwo.\nThree.",
    "world": {"workload": {"replicas": 4}},
    "demand": {"steps": [["0s", 2]], "length": "30m"},
    "measure": {"replicas": {"column": "replicas", "take": "last"}},
    "show": ["replicas"],
    "bar": ["replicas <= 4"],
    "worse": ["bad.replicas >= 1.4 * good.replicas"],
}


@pytest.fixture
def written(tmp_path):
    """Write a scenario with an HPA of 40 % against one of 80 %; returns the folder of all scenarios."""

    def write(data=SMALL, **changes):
        own = tmp_path / "S01"
        own.mkdir(exist_ok=True)
        (own / "scenario.yaml").write_text(yaml.safe_dump({**data, **changes}))
        (own / "bad.yaml").write_text(HPA.replace("TARGET", "40"))
        (own / "good.yaml").write_text(HPA.replace("TARGET", "80"))
        return tmp_path

    return write


def run_cli(*arguments):
    """The output and the exit status of the command, as the entry point sees them."""
    result = CliRunner().invoke(cli.command, arguments, standalone_mode=False)
    return result, result.return_value


class TestAllOfThem:
    """The scenarios that are shipped with hypot."""

    def test_there_are_29(self):
        """All are there in full and in reduced form; the 23rd has a second part."""
        assert [name for name in FULL if "-" not in name] == [f"S{i}" for i in range(1, 30)]
        assert set(FULL) == set(QUICK)

    @pytest.mark.parametrize("name", sorted(FULL))
    def test_manifests_are_ordinary_ones(self, name):
        """Every manifest next to a scenario can be read, and each side has one."""
        manifests = sorted(path for path in FULL[name].folder.glob("*.yaml") if path.name != "scenario.yaml")
        assert {"bad.yaml", "good.yaml"} <= {path.name for path in manifests}
        assert all(one.data["kind"] for path in manifests for one in load([str(path)]))

    def test_the_answers_of_some_scenarios(self):
        """S5 and S8 answer with an interval list, S18 with urgency; the bad sides of S5, S6 and S8 have weights."""
        texts = {
            (name, side): (FULL[name].folder / f"{side}.yaml").read_text()
            for name in ("S5", "S6", "S8", "S18")
            for side in ("bad", "good")
        }
        assert all("scalingIntervals:" in texts[name, "good"] for name in ("S5", "S8"))
        assert all("weightBasedScalingIntervals:" in texts[name, "bad"] for name in ("S5", "S6", "S8"))
        assert 'hypot.dev/urgent: "true"' in texts["S18", "good"]

    def test_the_page_has_them_all(self):
        """It has each title, each story, and the result of each."""
        page = PAGE.read_text(encoding="utf-8")
        for one in FULL.values():
            assert f"## {one.id}: {one.title}" in page
            assert all(line in page for line in one.story.splitlines())
            assert re.search(
                rf"^\| \*\*{one.id}\*\* \| {re.escape(one.title)} \| (passed|waiting) \|", page, re.MULTILINE
            )

    def test_the_example_of_the_page(self, tmp_path):
        """It can be copied and read."""
        example = PAGE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
        (tmp_path / "scenario.yaml").write_text(example)
        assert [case.name for case in read_scenario(tmp_path).cases] == ["as it was", "smaller pods"]


class TestFiles:
    """A scenario on disk."""

    def test_all_that_is_wrong_at_once(self, written):
        """Each problem is reported with its file."""
        folder = written(story="one line", bar=[], kind="dream", title=5, demand=[1], strange=1)
        with pytest.raises(ScenarioError) as caught:
            read_scenarios(folder)
        explained = str(caught.value).splitlines()
        assert all(line.startswith(str(folder / "S01" / "scenario.yaml")) for line in explained)
        for message in (
            "no title",
            "strange: unknown key",
            "kind: dream",
            "write 3 lines",
            "no bar",
            "demand: is not a mapping",
        ):
            assert any(message in line for line in explained)

    @pytest.mark.parametrize("text", ["a: [", "5", ""])
    def test_no_mapping(self, written, text):
        """The error names the file."""
        folder = written()
        (folder / "S01" / "scenario.yaml").write_text(text)
        with pytest.raises(ScenarioError, match=r"scenario\.yaml: is not"):
            read_scenarios(folder)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"bar": ["replicas <"]}, "a figure is missing"),
            ({"measure": {"replicas": {"column": "pots", "take": "last"}}}, "unknown column pots"),
            ({"kind": "decisions"}, "single decisions have their own figures"),
        ],
    )
    def test_parts_are_read_before_anything_runs(self, written, changes, message):
        """What cannot be read is reported at once."""
        with pytest.raises(ScenarioError, match=message):
            read_scenarios(written(**changes))

    def test_variants_and_the_reduced_form(self, written):
        """Changes are merged into the file; null removes a key."""
        variants = {
            "much": {"demand": {"steps": [["0s", 9]]}},
            "wave": {"demand": {"wave": {"mean": 1}, "length": "1h"}},
        }
        quick = {"demand": {"length": "5m"}, "variants": {"wave": None}}
        folder = written(variants=variants, quick=quick) / "S01"
        full, short = read_scenario(folder), read_scenario(folder, quick=True)
        assert [case.name for case in full.cases] == ["much", "wave"]
        assert full.cases[0].data["demand"] == {"steps": [["0s", 9]], "length": "30m"}
        assert full.cases[1].data["demand"] == {"wave": {"mean": 1}, "length": "1h"}
        assert [case.data["demand"]["length"] for case in short.cases] == ["5m"]

    def test_manifests_are_patched(self, written):
        """A patch applies to one kind on one side."""
        patch = {"good": [{"kind": "HorizontalPodAutoscaler", "spec": {"minReplicas": 4}}, {"kind": "Hvpa", "spec": 1}]}
        result = run_scenarios(read_scenarios(written(patch=patch)), workers=1)[0]
        assert result.good["as written"]["replicas"] == 4

    def test_merging_leaves_the_file_unchanged(self):
        """The original data stays as it was."""
        data = {"world": {"tick": 5}}
        assert overlaid(data, {"world": {"seed": 1}}) == {"world": {"tick": 5, "seed": 1}}
        assert data == {"world": {"tick": 5}}


class TestJudging:
    """Which scenarios pass."""

    def test_both_must_hold(self, written):
        """The good policy meets the bar, and the bad policy is worse."""
        result = run_scenarios(read_scenarios(written()), workers=1)[0]
        assert result.status == "passed"
        assert result.bad["as written"]["replicas"] > result.good["as written"]["replicas"]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"bar": ["replicas <= 1"]}, "the good policy misses replicas <= 1 \\(replicas is 3\\)"),
            ({"worse": ["bad.replicas >= 9 * good.replicas"]}, "the bad policy is not as bad as"),
        ],
    )
    def test_a_failed_condition_is_reported(self, written, changes, message):
        """The report has the values that were found."""
        result = run_scenarios(read_scenarios(written(**changes)), workers=1)[0]
        assert result.status == "failed"
        assert re.search(message, result.broken[0])

    @pytest.mark.parametrize("changes", [{"bar": ["pots < 3"]}, {"show": ["pots"]}])
    def test_a_figure_that_is_not_measured(self, written, changes):
        """It is a mistake in the file, not a failure."""
        with pytest.raises(ScenarioError, match="pots"):
            run_scenarios(read_scenarios(written(**changes)), workers=1)

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"world": {"tack": 5}}, "tack: unknown parameter"),
            ({"settings": {"sync": 5}}, "no such setting"),
            ({"demand": {"steps": []}}, "write pairs"),
            ({"manifests": {"bad": "none.yaml"}}, "none.yaml"),
        ],
    )
    def test_what_cannot_run(self, written, changes, message):
        """The error says what is wrong with which file."""
        with pytest.raises(ScenarioError, match=message):
            run_scenarios(read_scenarios(written(**changes)), workers=1)

    def test_a_side_with_two_policies(self, written):
        """It is ambiguous, so this is an error."""
        folder = written()
        twice = HPA.replace("TARGET", "40")
        (folder / "S01" / "bad.yaml").write_text(f"{twice}---\n{twice.replace('{name: web}', '{name: other}', 1)}")
        with pytest.raises(ScenarioError, match="the bad side has 2 policies"):
            run_scenarios(read_scenarios(folder), workers=1)

    def test_a_waiting_scenario_is_not_run(self, written):
        """Its bar is reported all the same."""
        result = run_scenarios(read_scenarios(written(waits="Tortoise", demand={})), workers=1)[0]
        assert (result.status, result.bad, result.to_dict()["bar"]) == (
            "waiting",
            {},
            {"as written": ["replicas <= 4"]},
        )

    def test_equal_runs_are_run_once(self, written):
        """Variants that differ on one side share the run of the other side."""
        variants = {
            "one": {},
            "two": {"patch": {"bad": [{"kind": "HorizontalPodAutoscaler", "spec": {"minReplicas": 2}}]}},
        }
        explained = []
        run_scenarios(read_scenarios(written(variants=variants)), lambda *at: explained.append(at), workers=1)
        assert explained == [(1, 3), (2, 3), (3, 3)]

    def test_processes_find_the_same(self, monkeypatch):
        """The result does not depend on the number of processes."""
        monkeypatch.setattr("hypot.replay.scenario.scenarios.WORTH_A_PROCESS", 0)
        wanted = [QUICK["S17"], QUICK["S21"]]
        assert run_scenarios(wanted, workers=2) == run_scenarios(wanted, workers=1)

    def test_an_infinite_figure_is_null_in_json(self):
        """JSON has no infinity."""
        one = QUICK["S19"]
        result = replace(run_scenarios([one], workers=1)[0], bad={"as written": {"memory": float("inf")}})
        assert result.to_dict()["bad"] == {"as written": {"memory": None}}

    def test_a_waiting_scenario_needs_no_figures(self):
        """Its status is waiting without any run."""
        assert judged(replace(FULL["S13"], waits="something"), {}).status == "waiting"

    def test_one_autoscaler_decides(self, written):
        """Two autoscalers on one side are an error."""
        folder = written() / "S01"
        both = HPA.replace("TARGET", "80").replace("name: web}", "name: web, annotations: {hypot.dev/policy: both}}")
        vpa = {
            "apiVersion": "autoscaling.k8s.io/v1",
            "kind": "VerticalPodAutoscaler",
            "metadata": {"name": "web", "annotations": {"hypot.dev/policy": "both"}},
            "spec": {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}},
        }
        text = both.replace(
            "kind: Deployment, name: web, annotations: {hypot.dev/policy: both}}", "kind: Deployment, name: web}"
        )
        (folder / "bad.yaml").write_text(f"{text}---\n{yaml.safe_dump(vpa)}")
        with pytest.raises(ScenarioError, match="2 autoscalers"):
            decided(folder, {"start": {"replicas": 1, "cpu": 1}, "looks": [{"use": {"cpu": 1}}]}, "bad")


class TestChoosing:
    def test_by_name(self):
        """Case and leading zeros are ignored, the order is that of the scenarios, and S23 includes its second part."""
        assert [one.id for one in chosen(list(FULL.values()), ["s23", "S2"])] == ["S2", "S23", "S23-T"]
        assert [one.id for one in chosen(list(FULL.values()), ["S02", "s010"])] == ["S2", "S10"]
        assert len(chosen(list(FULL.values()), [])) == len(FULL)

    def test_unknown_names(self):
        """The error names all of them, and the known scenarios."""
        with pytest.raises(ScenarioError, match="no scenario S99, X; there are S1, S2"):
            chosen(list(FULL.values()), ["S1", "S99", "X"])


class TestCommand:
    """hypot scenarios."""

    def test_a_table(self):
        """One line per figure, with its bar."""
        result, status = run_cli("S21")
        assert status == 0
        assert re.search(r"^S21 +How far one decision may go +passed$", result.stdout, re.MULTILINE)
        assert re.search(r"^ +ten pods, 40 % more +replicas +14 +13 +replicas == 13$", result.stdout, re.MULTILINE)
        assert result.stdout.endswith("1 scenario: 1 passed.\n")

    def test_a_table_with_a_waiting_scenario(self, written):
        result, status = run_cli("--folder", str(written(waits="something")))
        assert status == 0
        assert re.search(r"^S1 .* waiting +waits for something$", result.stdout, re.MULTILINE)
        assert result.stdout.endswith("1 scenario: 1 waiting.\n")

    def test_json(self):
        """The output follows the schema, without other keys."""
        result, status = run_cli("S19", "S13", "-o", "json")
        found = json.loads(result.stdout)
        jsonschema.Draft202012Validator.check_schema(SCHEMA)
        jsonschema.validate(found, SCHEMA)
        assert status == 0
        assert [one["status"] for one in found] == ["passed", "passed"]
        assert found[0]["good"]["bursts of 2 times"]["target"] == 50
        assert set(found[0]) == {"id", "title", "status", "bad", "good", "pair", "bar"}
        assert found[1]["good"]["as written"]["memory"] == pytest.approx(6.5)

    def test_failures(self, written):
        """The exit status is 1, and the output has the values that were found."""
        folder = str(written(bar=["replicas <= 1"]))
        result, status = run_cli("--folder", folder)
        assert status == 1
        assert "S1: as written: the good policy misses replicas <= 1 (replicas is 3)" in result.stdout
        result, status = run_cli("--folder", folder, "-o", "json")
        assert status == 1
        assert json.loads(result.stdout)[0]["status"] == "failed"
        assert "misses replicas <= 1" in result.stderr

    @pytest.mark.parametrize("arguments", [("S99",), ("--folder", "/"), ("--folder", "/nowhere"), ("-o", "xml")])
    def test_bad_usage(self, arguments):
        """An unknown name, a folder without scenarios, a missing folder, and an unknown format."""
        result, _ = run_cli(*arguments)
        assert getattr(result.exception, "exit_code", None) == 2

    def test_markdown(self):
        """The table of the documentation page."""
        result, _ = run_cli("S19", "-o", "markdown")
        assert (
            "| **S19** | Two resources that disagree | passed | replicas | 3 | 4 |  | `replicas == 4` |"
            in result.stdout
        )

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (None, "-"),
            (0.0, "0"),
            (12345.6, "12346"),
            (0.12345, "0.123"),
            (3.0, "3"),
            (0.00001, "<0.001"),
            (7.55, "7.55"),
        ],
    )
    def test_figures_for_people(self, value, message):
        """Three significant digits."""
        assert cli.shown(value) == message
