"""A query to a real Prometheus gives what a scrape of the same pods gives, whatever they expose and rules say."""

import asyncio
import random

import aiohttp
import msgspec
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hypot.cluster.prometheus import PrometheusApi, VectorAnswer, read_answer
from hypot.metricsapi.ages import Ages
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.body.totals import Totals
from hypot.metricsapi.prometheus.promql import labels_of_pods, query_of
from hypot.metricsapi.prometheus.samples import PodFaultError, QueryTime, by_pod, take
from unit.metricsapi.pods_world import add, only, pod, rule, scraped, targets_of
from unit.replay.traces.prometheus_server import needs_prometheus, serving

AGES = Ages()
START, GAP, CASES = 1_800_000_000, 60, 60
CODES, VERBS = ["200", "404", "503", "a.b", ""], ["GET", "LIST", "WATCH", ""]
LABELS = {"code": CODES, "verb": VERBS}
VALUES = ["0", "1", "2.5", "100", "1e6", "7", "64"]


def lines(rng, series, before=None):
    """A body, in whose values all sums are exact. Counters grow, rarely restart, and sometimes are no numbers."""
    found = {}
    for labels in series:
        if rng.random() < 0.1:
            continue
        known = 0.0 if before is None or rng.random() < 0.1 else float(before.get(labels, "0"))
        odd = rng.choice(["NaN", "+Inf"]) if rng.random() < 0.02 else ""
        found[labels] = odd or str(known + float(rng.choice(VALUES)))
    return found


def selector(rng):
    key = rng.choice(list(LABELS))
    operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    needs_values = operator in {"In", "NotIn"}
    values = rng.sample(LABELS[key], rng.randint(1, 3)) if needs_values else []
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": values} if values else {})}]}


def case(rng, i):
    """A rule for one pod, and what the pod exposes at two times."""
    every = [(code, verb) for code in CODES for verb in VERBS]
    series = rng.sample(every, rng.randint(0, 6))
    first = lines(rng, series)
    second = lines(rng, series, {key: text for key, text in first.items() if text[-1].isdigit()})
    metric = {rng.choice(["counter", "gauge"]): f"m{i}", "names": ["served"]}
    if rng.random() < 0.5:
        metric["where"] = selector(rng)
    if rng.random() < 0.5:
        metric["weights"] = [
            {"where": selector(rng), "weight": rng.choice([0, 0.5, 2, 5])} for _ in range(rng.randint(1, 3))
        ]
    return metric, first, second


def exposed(i, found, more=""):
    return [f'm{i}{{{more}code="{code}",verb="{verb}"}} {text}' for (code, verb), text in found.items()]


def samples(cases):
    """What Prometheus has of all cases, each at two times."""
    found = []
    for i, (_, *bodies) in enumerate(cases):
        found.append(f"# TYPE m{i} gauge")
        more = f'namespace="shop",pod="web-{i}",'
        # OpenMetrics wants the samples of a series one after the other.
        for key in dict.fromkeys(key for body in bodies for key in body):
            for at, body in zip((START, START + GAP), bodies, strict=True):
                found += [f"{line} {at}" for line in exposed(i, {key: body[key]} if key in body else {}, more)]
    return "\n".join([*found, "# EOF", ""])


def by_scrapes(metric, name, i, bodies):
    """The value after both scrapes; a scrape that fails gives nothing."""
    target = only(targets_of(rule("web", metric), pods=[pod(name)]))
    for at, body in zip((0.0, float(GAP)), bodies, strict=True):
        totals = Totals(target.rule.wanted)
        try:
            totals.feed("\n".join([*exposed(i, body), ""]).encode())
            target.sampled(scraped(at, *totals.close()), AGES)
            is_faulty = False
        except ExpositionError:
            is_faulty = True
    return None if is_faulty else shown(target.value(0, GAP, AGES))


def shown(value):
    return None if value is None else (value.milli, value.window)


async def by_query(session, address, metric, name):
    """The value after one query."""
    targets = targets_of(rule("web", metric, scrape=None, prometheus={}))
    add(targets, pod(name, address=""))
    target = only(targets)
    form = {"query": query_of(target.rule, GAP), "time": str(START + GAP)}
    status, body = await PrometheusApi(session, address).ask("query", form, 2**20)
    series = read_answer(msgspec.json.Decoder(VectorAnswer), status, body).data.result
    found = {}
    by_pod(series, labels_of_pods(target.rule), found)
    parts = found.get(("shop", name), {})
    try:
        take(target, parts, QueryTime(float(GAP), float(START + GAP)), AGES.least_gap)
    except PodFaultError:
        return None
    return shown(target.value(0, GAP, AGES))


async def compared(address, cases):
    async with aiohttp.ClientSession() as session:
        for i, (metric, *bodies) in enumerate(cases):
            name = f"web-{i}"
            queried = await by_query(session, address, metric, name)
            assert queried == by_scrapes(metric, name, i, bodies), (metric, bodies)
            yield queried


async def all_of(address, cases):
    return [value async for value in compared(address, cases)]


@needs_prometheus
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
@example(7)
def test_a_query_gives_what_scrapes_give(tmp_path_factory, seed):
    """Selectors, weights, labels without a value, restarts and values that are no numbers."""
    rng = random.Random(seed)  # noqa: S311  examples
    cases = [case(rng, i) for i in range(CASES)]
    with serving(tmp_path_factory.mktemp("prometheus"), samples(cases), GAP // 2) as address:
        values = asyncio.run(all_of(address, cases))
    assert sum(value is not None for value in values) > CASES / 5
