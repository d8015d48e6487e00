"""Bodies of pods, how they are fetched, and when."""

import asyncio
from contextlib import asynccontextmanager

import looptime
import pytest
from aiohttp import web

from conformance.metricsapi.samples import COUNTER
from hypot.core.scraping.pacemaker import Pacemaker
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.body.totals import Totals, Wanted
from hypot.metricsapi.scrape.fetch import new_session
from hypot.metricsapi.scrape.schedule import Schedule
from hypot.metricsapi.scrape.scraper import LARGEST_BODY, Scraper
from hypot.metricsapi.scrape.secrets import Secrets
from unit.metricsapi.answering import answering
from unit.metricsapi.pods_world import only, pod, rule, targets_of

NAME = COUNTER["counter"]
# A port that nobody listens on.
CLOSED = 1


def total_of(*pieces):
    totals = Totals([Wanted(NAME)], delimited=True)
    for piece in pieces:
        totals.feed(piece)
    return totals.close()[0]


def scrape_text(given, expect):
    body = bytes(given["body_bytes"]) if "body_bytes" in given else given["body"].encode()
    try:
        found = total_of(body)
    except ExpositionError:
        found = None
    assert found == expect["total_request_count"]
    assert (found is None) == expect["error"]


def scrape_text_generated(given, expect):
    filler = b"#" * (given["filler_line_bytes"] - 1) + b"\n"
    counter = f"{NAME} {given['counter_value']}\n".encode()
    pieces = [filler] * given["filler_lines"] + [counter * given["counter_lines"]]
    assert sum(map(len, pieces)) <= LARGEST_BODY == expect["limit_bytes"]
    assert total_of(*pieces) == expect["total_request_count"]


def target_at(port):
    one = rule("shoot", COUNTER, scrape={"port": port})
    return targets_of(one, pods=[pod(address="127.0.0.1")])


@asynccontextmanager
async def scraping(port, period=60.0):
    """A scraper, and its only target."""
    targets = target_at(port)
    async with new_session(1.0) as session:
        yield Scraper(targets, session, Secrets(None), period), only(targets)


async def faults_after(*answers):
    """How many faults in a row there are after each scrape of a pod that gives these answers."""
    left, found = list(answers), []

    async def answer(_):
        return left.pop(0)

    async with answering(answer) as (url, _), scraping(url.port) as (scraper, target):
        for _ in answers:
            await scraper.scrape(target)
            found.append(target.faults)
    return found


def scrape_http(given, expect):
    if given.get("transport_error"):
        faults = asyncio.run(_faults_of_a_closed_port())
    else:
        faults = asyncio.run(faults_after(web.Response(status=given["status"])))
    assert bool(faults[-1]) == expect["error"]


async def _faults_of_a_closed_port():
    async with scraping(CLOSED) as (scraper, target):
        await scraper.scrape(target)
        return [target.faults]


def registry_faults(given, expect):
    answers = {"fault": lambda: web.Response(status=500), "sample": lambda: web.Response(text=f"{NAME} 7\n")}
    found = asyncio.run(faults_after(*[answers[event]() for event in given["events"]]))
    assert found == expect["fault_counts_after_each"]


def pacemaker(given, expect):
    pace = Pacemaker(
        given["min_rate_per_second"],
        given["max_rate_per_second"],
        given["rate_debt_limit"],
        given["rate_surplus_limit"],
    )
    for call, allowed in zip(given["calls"], expect["allowed"], strict=True):
        found = [pace.may_start(call["time_seconds"], due=call["eager"]) for _ in range(call["times"])]
        assert found == [allowed] * call["times"], call


def several(count):
    return list(targets_of(rule("shoot", COUNTER), pods=[pod(f"web-{i}") for i in range(count)]))


def scrape_queue(given, expect):
    targets = several(given["targets"])
    schedule = Schedule(given["scrape_period_seconds"], lambda: len(targets))
    schedule.add(targets)
    assert schedule.next(0.0) is targets[0]
    pace = schedule._pace
    assert pace.lowest == pytest.approx(expect["min_rate_per_second"])
    assert pace.highest == expect["max_rate_per_second"]
    assert (pace.most_debt, pace.most_surplus) == (expect["rate_debt_limit"], expect["rate_surplus_limit"])


def due_count(given, expect):
    """Of targets that were scraped at two times or never."""
    period, second, third = given["scrape_period_seconds"], 1000.0, 1001.0
    groups = {"never_scraped": None, "scraped_at_t1": second - period, "scraped_at_t2": third - period}
    for key, names in (("all", list(groups)), ("without_never_scraped", list(groups)[1:])):
        schedule = Schedule(period, lambda: 30)
        for name in names:
            targets = several(given[name])
            for target in targets:
                target.began = groups[name]
            schedule.add(targets)
        assert schedule.due(second - 0.001) == expect["just_before_second"][key]
        assert schedule.due(second) == expect["at_second"][key]
        assert schedule.due(third) == expect["at_third"][key]


def scrape_timeout(given, expect):
    """A pod that never answers, in virtual time."""

    async def scraped():
        async with scraping(CLOSED, given["scrape_period_seconds"]) as (scraper, target):
            scraper._session = Silent()
            began = asyncio.get_running_loop().time()
            await scraper.scrape(target)
            return asyncio.get_running_loop().time() - began

    with asyncio.Runner(loop_factory=lambda: looptime.new_event_loop(start=0)) as runner:
        assert runner.run(scraped()) == expect["timeout_seconds"]


class Silent:
    """A session that gets no answer."""

    @asynccontextmanager
    async def get(self, *_, **__):
        yield await asyncio.Event().wait()


CHECKS = {
    "scrape_text": scrape_text,
    "scrape_text_generated": scrape_text_generated,
    "scrape_http": scrape_http,
    "registry_faults": registry_faults,
    "pacemaker": pacemaker,
    "scrape_queue": scrape_queue,
    "due_count": due_count,
    "scrape_timeout": scrape_timeout,
}
