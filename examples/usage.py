"""Writes usage.csv: four weeks of a workload's cpu usage, in cores, up to the moment of tortoise.yaml.

Evenings are busy, weekends are quiet, and for a few hours the monitoring was down.
"""

from math import pi, sin
from pathlib import Path
from random import Random

HOUR = 3600
END = 1_799_996_400  # 2027-01-15T07:00:00Z
HOURS = 4 * 168
DOWN = range(200, 205)


def usage(hour_of_day: float, weekday: int, noise: float) -> float:
    """Cores: a base, and a wave that peaks at 20:00; the weekend has half of the wave."""
    wave = max(sin((hour_of_day - 9) * pi / 22), 0) if hour_of_day >= 9 else 0.0
    return (1.6 + 5 * wave * (0.5 if weekday >= 5 else 1.0)) * noise


def main() -> None:
    drawn = Random(7)  # noqa: S311  an example, no secret
    rows = ["timestamp,cores"]
    for number in range(HOURS):
        at = END - (HOURS - 1 - number) * HOUR
        day = at // 86_400
        noise = drawn.gauss(1, 0.06)
        if number not in DOWN:
            rows.append(f"{at},{usage(at % 86_400 / HOUR, (day + 3) % 7, noise):.3f}")
    Path(__file__).with_suffix(".csv").write_text("\n".join([*rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
