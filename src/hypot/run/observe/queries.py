"""Custom and external metrics: every distinct query is sent once per reconcile, however many autoscalers need it."""

import asyncio
from collections.abc import Iterable
from functools import partial

from hypot.cluster.port import Port, Request, UnreachableError
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import Failure
from hypot.policy.observe.answered import Answered, Items, timely
from hypot.policy.observe.metric_queries import CUSTOM_API, EXTERNAL_API, MetricQuery
from hypot.run.observe.asking import LARGEST_METRIC, LIMITS, Crowd, Question, TimeLimits


class MetricApis:
    """Both APIs, each with its own deadline: an adapter that hangs does not take the time of the other."""

    def __init__(self, port: Port, limits: TimeLimits = LIMITS) -> None:
        self._port = port
        self._crowds = {api: Crowd(limits) for api in (CUSTOM_API, EXTERNAL_API)}

    async def ask(self, queries: Iterable[MetricQuery], now: float) -> Answered:
        """Send each distinct query once, several at the same time."""
        distinct = dict.fromkeys(queries)
        found = await asyncio.gather(*[self._ask(api, distinct) for api in self._crowds])
        return Answered({query: _timely(query, each, now) for answers in found for query, each in answers.items()})

    async def _ask(self, api: str, distinct: Iterable[MetricQuery]) -> dict[MetricQuery, Items | Failure]:
        asked = [query for query in distinct if query.path.startswith(api)]
        questions = [self._question(api, query) for query in asked]
        return dict(zip(asked, await self._crowds[api].ask(questions), strict=True))

    def _question(self, api: str, query: MetricQuery) -> Question[Items | Failure]:
        """The question for a query; its tenant is the namespace in the path."""
        tenant = query.path.removeprefix(f"{api}/namespaces/").split("/", 1)[0]
        return Question(tenant, query.path, query.path, partial(_ask, self._port, query))


def _timely(query: MetricQuery, answer: Items | Failure, now: float) -> Items | Failure:
    return answer if isinstance(answer, Failure) else timely(query, answer, now)


async def _ask(port: Port, query: MetricQuery) -> Items | Failure:
    request = Request("GET", query.path, dict(query.parameters), largest=LARGEST_METRIC)
    try:
        answer = await port.call(request)
    except UnreachableError as error:
        return Failure(str(error))
    if not answer.ok:
        return Failure(f"{query.path} answers {answer.status}: {answer.message}")
    return tuple(mappings(inner(answer.json()).get("items")))
