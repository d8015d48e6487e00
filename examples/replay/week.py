"""Write week.csv again: a week of an invented shop. Two peaks a day, a busier weekend, a sale on Thursday."""

from math import cos, exp, pi
from pathlib import Path
from random import Random

MINUTE, DAY = 60, 86_400
MONDAY = 1_767_571_200  # 2026-01-05T00:00:00Z
WEEKEND = (5, 6)
SALE = 3 * DAY + 20 * 3600


def hump(hour: float, at: float, width: float) -> float:
    return exp(-(((hour - at) / width) ** 2))


def requests(second: int, noise: Random) -> float:
    """Requests a second at this second of the week."""
    day, hour = divmod(second, DAY)[0], (second % DAY) / 3600
    calm = 25 + 15 * (1 - cos(2 * pi * (hour - 4) / 24))
    busy = 210 * hump(hour, 12.5, 2.2) + 320 * hump(hour, 20, 2.6)
    level = (calm + busy) * (1.35 if day in WEEKEND else 1.0)
    since = second - SALE
    if since >= 0:
        level += 420 * min(1.0, since / 120) * exp(-since / 2400)
    return level * noise.gauss(1.0, 0.03)


def main() -> None:
    noise = Random(20260105)  # noqa: S311  not used for secrets
    rows = ["timestamp,rps"]
    rows += [f"{MONDAY + second},{requests(second, noise):.2f}" for second in range(0, 7 * DAY + 1, MINUTE)]
    Path(__file__).with_name("week.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
