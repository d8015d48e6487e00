"""Requests that the served OpenAPI document allows, by schemathesis: each answer is as the document says."""

import asyncio
import threading
from contextlib import contextmanager

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi import checks

from hypot.kinds.metric_values import CUSTOM
from hypot.metricsapi.serve.api import LIMITS, MetricsPages
from hypot.metricsapi.serve.query import GROUPS, versions_of
from hypot.serving.listener import Listener
from unit.metricsapi.pods_world import DEPTH, RATE, rule
from unit.metricsapi.serve.test_values import World

EACH = [(group, version) for group in GROUPS for version in versions_of(group)]
WITHIN = 30.0
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]
# Values that there are, so that not every answer is a 404.
KNOWN = {
    "namespace": ["shop", "other"],
    "resource": ["pods"],
    "name": ["web-0", "*"],
    "metric": ["requests_per_second", "queue"],
}
SELECTORS = ["app=web", "app in (web, api)", "!app", "app=", "a==b,c!=d", "x y", "metadata.name=web-0", "=", ",", "é"]


class Everybody:
    """Every client may read everything."""

    async def refusal(self, *_):
        return None


@contextmanager
def serving():
    """The address of the pages with the values of a pod, and how often each status was answered."""
    world = World(rule("web", RATE, DEPTH))
    pages = MetricsPages(lambda: world.values, Everybody(), str)
    started, stopped, address = threading.Event(), asyncio.Event(), []

    async def run():
        listener = Listener(pages.answer, LIMITS)
        await listener.start("127.0.0.1", 0)
        address.extend([f"http://127.0.0.1:{listener.port}", asyncio.get_running_loop()])
        started.set()
        await stopped.wait()
        await listener.stop()

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert started.wait(WITHIN)
    try:
        yield address[0], pages.codes
    finally:
        address[1].call_soon_threadsafe(stopped.set)
        thread.join(WITHIN)


@pytest.mark.parametrize(("group", "version"), EACH)
def test_answers_are_as_the_document_says(group, version):
    """No server error, no other status, form or schema; some requests have values, others are wrong."""
    with serving() as (url, codes), requests.Session() as session:
        document = session.get(f"{url}/openapi/v3/apis/{group}/{version}", timeout=WITHIN).json()
        schema = schemathesis.openapi.from_dict(document)
        operations = [found.ok() for found in schema.get_all_operations()]
        assert len(operations) == (3 if group == CUSTOM else 1)

        @settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=None)
        @given(st.data())
        def ask(data):
            case = data.draw(data.draw(st.sampled_from(operations)).as_strategy())
            for key in case.path_parameters:
                if data.draw(st.integers(0, 3)):
                    case.path_parameters[key] = data.draw(st.sampled_from(KNOWN[key]))
            for key in list(case.query or {}):
                case.query[key] = data.draw(st.sampled_from(SELECTORS))
            response = case.call(base_url=url, session=session, timeout=WITHIN)
            case.validate_response(response, checks=CHECKS)

        ask()
        assert {200, 400, 404} <= set(codes)
