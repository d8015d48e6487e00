"""Examples from a real cluster: hypot decides each as the controller did that wrote its status."""

import json
from pathlib import Path

import pytest
import yaml

from cluster.twins.statuses import differences, plain
from hypot.cli.main import main

FOLDER = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted((FOLDER / "cluster").glob("*.yaml"))
BOTH_AXES = FOLDER / "both-axes.yaml"


def test_there_are_examples() -> None:
    """There are five, made by `make examples`."""
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_decided_as_its_controller_did(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status that hypot would write equals the status in the dump."""
    written = _statuses(file)
    with pytest.raises(SystemExit):
        main(["decide", "-f", str(file), "-o", "json"])
    decided = json.loads(capsys.readouterr().out)["decisions"]
    assert {d["autoscaler"]["name"] for d in decided} == set(written)
    for decision in decided:
        ours, theirs = plain(decision["status"]), plain(written[decision["autoscaler"]["name"]])
        assert [(name, ours.get(name), theirs.get(name)) for name in differences(ours, theirs)] == []


def _statuses(file: Path) -> dict[str, dict]:
    documents = yaml.safe_load_all(file.read_text(encoding="utf-8"))
    hpas = next(d for d in documents if d["kind"] == "HorizontalPodAutoscalerList")
    return {hpa["metadata"]["name"]: hpa["status"] for hpa in hpas["items"]}


def decide(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    """The exit status, and what is printed."""
    with pytest.raises(SystemExit) as end:
        main(["decide", "-f", str(BOTH_AXES), *arguments])
    return end.value.code, capsys.readouterr().out


def test_both_axes_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    """An Hvpa that adds replicas and memory, its VPA that only recommends, and a VPA that resizes in place."""
    status, out = decide(capsys)
    lines = out.splitlines()
    assert status == 0
    assert lines[0] == "2026-11-15T07:59:40Z, the newest time in the input; Kubernetes 1.37"
    for start in (
        "garden/api        Hvpa → Deployment/api    ▲ 2 → 4  memory of api needs 26Gi in total (vpa)",
        "garden/api-child  VPA → Deployment/api       2 → 2  hold: ",
        "garden/cache      VPA → StatefulSet/cache  ◆ 2 → 2  1 of 2 pods resized in place",
        "    size       api: cpu 1, memory 4Gi → 6656Mi",
        "    size       logs: cpu 20m, memory 64Mi",
        "    advised    redis: cpu 100m → 410m, memory 512Mi → ~1.908Gi",
    ):
        assert any(line.startswith(start) for line in lines)
    assert lines[-1] == "3 autoscalers: 1 up, 1 resize, 1 hold."
    assert max(map(len, lines)) <= 110


def test_both_axes_are_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """What the documentation shows is what the command prints."""
    page = (FOLDER.parent / "docs" / "hvpa.md").read_text(encoding="utf-8")
    shown = page.partition("$ hypot decide -f examples/both-axes.yaml -n garden\n")[2].partition("```")[0]
    assert shown == decide(capsys, "-n", "garden")[1]


def test_both_axes_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """Replicas and resources of every container; 26Gi and 4 cores over four replicas."""
    status, out = decide(capsys, "-o", "json")
    found = {d["autoscaler"]["name"]: d for d in json.loads(out)["decisions"]}
    assert status == 0
    assert found["api"]["desired"] == {
        "replicas": 4,
        "resources": {
            "api": {"requests": {"cpu": "1", "memory": "6656Mi"}, "limits": {"memory": "13Gi"}},
            "logs": {"requests": {"cpu": "20m", "memory": "64Mi"}},
        },
    }
    assert found["api"]["status"]["desiredReplicas"] == 4
    # Weights 2, 10 and 3: the 90th percentile of cpu is 357m, with its margin 410m.
    redis = found["cache"]["status"]["recommendation"]["containerRecommendations"][0]
    assert redis["target"] == {"cpu": "410m", "memory": "2048373350"}
    assert [(one["pod"], one["action"]) for one in found["cache"]["pods"]] == [
        ("cache-0", "resize"),
        ("cache-1", "none"),
    ]
    assert [one["action"] for one in found["api-child"]["pods"]] == ["none", "none"]


def test_nothing_is_wrong_with_both_axes(capsys: pytest.CaptureFixture[str]) -> None:
    """The example has no problems: users copy it."""
    problems = [p for d in json.loads(decide(capsys, "-o", "json")[1])["decisions"] for p in d["problems"]]
    assert problems == []
