"""Write the exports of this folder again: two hours of an invented shop, as other programs write them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import cos, pi
from pathlib import Path
from random import Random

START = datetime(2026, 1, 5, 18, tzinfo=UTC)
BERLIN = timedelta(hours=1)
MINUTES = 120
HERE = Path(__file__).parent


def load(minute: int, size: float, noise: Random) -> float:
    """Requests a second: an evening that gets busy and calm again."""
    return size * (1 - 0.6 * cos(2 * pi * minute / MINUTES)) * noise.gauss(1, 0.04)


def grafana(noise: Random) -> Iterator[str]:
    """Inspect, Data, Download CSV of a panel with three series, joined by time, in the browser's time."""
    yield '"Time","checkout","search","GET /healthz"'
    for minute in range(MINUTES + 1):
        at = (START + BERLIN + timedelta(minutes=minute)).strftime("%Y-%m-%d %H:%M:%S")
        # One of the pods was not scraped for a while.
        search = "" if 70 <= minute < 74 else f"{load(minute, 90, noise):.4g}"
        yield f"{at},{load(minute, 150, noise):.4g},{search},0.4"
    yield ""


def prometheus(noise: Random) -> str:
    """/api/v1/query_range of rate(http_requests_total[2m]), which nobody summed up."""
    result = []
    for pod, first in (("checkout-7d9c-2xk4p", 0), ("checkout-7d9c-8vbnz", 0), ("checkout-7d9c-qq6lt", 35)):
        values = [
            [START.timestamp() + 60 * minute, f"{load(minute, 50, noise):.6g}"] for minute in range(first, MINUTES + 1)
        ]
        labels = {"job": "checkout", "namespace": "shop", "pod": pod}
        result.append({"metric": labels, "values": values})
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}}
    return json.dumps(answer, separators=(",", ":"))


def spreadsheet(noise: Random) -> Iterator[str]:
    """Requests of every five minutes from the log of a load balancer, saved by a German Excel."""
    yield "Zeit;Anfragen;Dauer in ms"
    for minute in range(0, MINUTES + 1, 5):
        at = (START + BERLIN + timedelta(minutes=minute)).strftime("%d.%m.%Y %H:%M")
        count = f"{300 * load(minute, 150, noise):,.0f}".replace(",", ".")
        duration = f"{noise.gauss(40, 3):.1f}".replace(".", ",")
        yield f"{at};{count};{duration}"


def main() -> None:
    noise = Random(5)  # noqa: S311  not used for secrets
    for name, lines in (("grafana.csv", grafana(noise)), ("spreadsheet.csv", spreadsheet(noise))):
        (HERE / name).write_text("\r\n".join(lines) + "\r\n", encoding="utf-8-sig", newline="")
    (HERE / "prometheus.json").write_text(prometheus(noise) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
