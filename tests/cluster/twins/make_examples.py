"""Make the examples again: namespaces of a real cluster, each in a state that users meet and ask about."""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from cluster.plane.binaries import ensure, say
from cluster.plane.controlplane import ControlPlane
from cluster.twins.dump import dump, to_yaml
from cluster.twins.script import Step
from cluster.twins.shapes import SHAPES
from cluster.twins.stage import Stage

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "cluster"
SETTLED = 25.0


@dataclass(frozen=True)
class Example:
    """A twin of this shape, brought into this state."""

    name: str
    shape: str
    ratio: float
    hazard: str
    tells: str


EXAMPLES = (
    Example("at-maximum", "cpu-share", 4.0, "", "cpu is far above its target, and the maximum is reached"),
    Example("metric-silent", "failing", 0.5, "silence", "one of two metrics fails, so nothing is scaled down"),
    Example("asleep", "zero-outside", 0.0, "zero", "the autoscaler itself brought the target to zero"),
    Example(
        "two-claim-one", "conflicts", 1.0, "conflict", "two autoscalers select the same pods, so neither moves them"
    ),
    Example("pod-unseen", "many-missing", 1.3, "hide", "one pod has no metrics, and is taken to be idle"),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plane = ControlPlane(ensure(), Path(folder))
        plane.start()
        stage = Stage(plane)
        try:
            stage.start("--horizontal-pod-autoscaler-sync-period=2s")
            for example in EXAMPLES:
                _make(stage, example)
        finally:
            stage.stop()
            plane.stop()


def _make(stage: Stage, example: Example) -> None:
    """Three pods are enough to read."""
    shape = next(shape for shape in SHAPES if shape.name == example.shape)
    (twin,) = stage.twins((replace(shape, name=example.name, high=3, replicas=3),))
    with twin.during(Step(tuple(example.ratio for _ in shape.metrics), example.hazard, amount=1)):
        time.sleep(SETTLED)
        text = to_yaml(dump(stage.plane.admin, twin.namespace))
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{example.name}.yaml").write_text(f"# Kubernetes 1.36: {example.tells}.\n{text}", encoding="utf-8")
    say(example.name)


if __name__ == "__main__":
    main()
