"""What happens to a twin, decided in advance: the same seed gives the same script."""

from dataclasses import dataclass
from random import Random

from cluster.twins.shapes import Shape

# Usage as a share of the target: around the default tolerance, far below, far above, and none.
RATIOS = (0.0, 0.2, 0.5, 0.85, 0.88, 0.92, 1.0, 1.0, 1.08, 1.12, 1.3, 1.7, 2.5, 4.0)
HAZARD_EVERY = 0.45


@dataclass(frozen=True)
class Step:
    """Usage changes to these ratios, the hazard happens once, and nothing else for some seconds."""

    ratios: tuple[float, ...]
    hazard: str = ""
    amount: int = 0
    seconds: float = 4.0
    seed: int = 0


def script_of(shape: Shape, seed: int, steps: int) -> tuple[Step, ...]:
    random = Random(f"{shape.name} {seed}")  # noqa: S311 - a script, not a secret
    ratios = tuple(1.0 for _ in shape.metrics)
    made = []
    for number in range(steps):
        ratios = tuple(random.choice(RATIOS) if random.random() < 0.6 else ratio for ratio in ratios)
        hazard = random.choice(shape.hazards) if shape.hazards and random.random() < HAZARD_EVERY else ""
        made.append(Step(ratios, hazard, random.randint(0, 4), random.uniform(2.8, 4.4), number))
    return tuple(made)
