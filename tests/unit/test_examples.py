"""The examples that a real cluster made: hypot says of each what the controller had written into it."""

import json
from pathlib import Path

import pytest
import yaml

from cluster.twins.statuses import differences, plain
from hypot.cli.main import main

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples" / "cluster").glob("*.yaml"))


def test_there_are_examples() -> None:
    """A handful, made by `make examples`."""
    assert len(EXAMPLES) == 5


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_an_example_is_decided_as_its_controller_did(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The status that hypot would write is the one that is in the dump."""
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
