"""Many questions to endpoints that may never answer: one deadline for all of them, and fair turns between tenants.

Questions of a tenant wait for each other before those of other tenants wait. An endpoint that did not answer in time is
asked after all others until it answers, and for a minute it gets only a short timeout.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from traceback import extract_tb
from typing import Generic, NamedTuple, TypeVar

import structlog

from hypot.cluster.named_server import has_more_parts
from hypot.policy.model.seen import Failure

log = structlog.get_logger()

# The largest answers, in bytes. Those that may arrive at the same time must fit next to everything else into the pod's
# memory limit of 512 MiB: 4 x 24 of usage, 2 x 16 x 2 of metrics, 16 x 1 of recommenders and 4 x 0.5 of histories are
# 178 MiB. A larger answer is the failure of its own question.
# The usage of about 50,000 pods.
LARGEST_USAGE = 24 << 20
USAGE_AT_ONCE = 4
# One metric of about 5,000 pods.
LARGEST_METRIC = 2 << 20
LARGEST_REPLY = 1 << 20


# The usage of 50,000 pods with three containers each. Small parts take more memory than their text.
MOST_CONTAINERS = 150_000


def has_too_many(body: bytes, objects: int, texts: int) -> bool:
    """Whether an answer has more objects or texts than so many for each container; a few more surround them."""
    return has_more_parts(body, objects * MOST_CONTAINERS + 8, texts * MOST_CONTAINERS + 32)


T = TypeVar("T")


class TimeLimits(NamedTuple):
    """How long all questions together may take, and how long an endpoint that was late; in seconds."""

    together: float = 8.0
    late: float = 1.0
    late_for: float = 60.0
    at_once: int = 16


LIMITS = TimeLimits()


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """The tenant that asks, the endpoint (`place`), its name in messages, and the call itself."""

    tenant: str
    place: str
    name: str
    ask: Callable[[], Awaitable[T]]


class Crowd:
    """Asks all questions in rounds, and keeps which endpoints were late."""

    def __init__(self, limits: TimeLimits = LIMITS) -> None:
        self._limits = limits
        # By place: when it was first late.
        self._late: dict[str, float] = {}
        # The unexpected errors of the last round: tenant, place and kind.
        self._broken: set[tuple[str, str, str]] = set()

    async def ask(self, questions: Sequence[Question[T]]) -> list[T | Failure]:
        """The answers in the order of the questions; without an answer in time, a failure that says so."""
        asked = {question.place for question in questions}
        self._late = {place: since for place, since in self._late.items() if place in asked}
        limits, around = self._limits, _Round(questions, self._late, self._broken, self._limits)
        try:
            async with asyncio.timeout(limits.together), asyncio.TaskGroup() as group:
                for _ in range(min(len(questions), limits.at_once)):
                    group.create_task(around.work())
        except TimeoutError:
            pass
        self._broken = around.broken
        return [around.answer(index) for index in range(len(questions))]


class _Round(Generic[T]):
    """One round: several workers, each of which takes the next question."""

    def __init__(
        self,
        questions: Sequence[Question[T]],
        late: dict[str, float],
        broken_before: set[tuple[str, str, str]],
        limits: TimeLimits,
    ) -> None:
        self._questions, self._late, self._before, self._limits = questions, late, broken_before, limits
        self.broken: set[tuple[str, str, str]] = set()
        self._answers: dict[int, T | Failure] = {}
        self._clock = asyncio.get_running_loop().time
        tenants = [(question.tenant, index) for index, question in enumerate(questions)]
        self._first = _Turns([each for each in tenants if questions[each[1]].place not in late])
        self._last = _Turns([each for each in tenants if questions[each[1]].place in late])

    async def work(self) -> None:
        while turns := self._first or self._last:
            tenant, index = turns.take()
            await self._one(index)
            turns.done(tenant)

    async def _one(self, index: int) -> None:
        question, began = self._questions[index], self._clock()
        is_doubted = self._is_doubted(question.place)
        try:
            async with asyncio.timeout(self._limits.late if is_doubted else None):
                self._answers[index] = await question.ask()
        except TimeoutError:
            pass
        except Exception as error:  # noqa: BLE001  every error of a question stays with it
            # What a tenant's endpoint causes is the failure of its own question. It is logged when it begins, without
            # its text, which may contain an address with secrets.
            self._answers[index] = Failure(f"{question.name} cannot be asked: {type(error).__name__}")
            self._report(question, error)
        finally:
            self._note(index, self._clock() - began, is_doubted=is_doubted)

    def _report(self, question: Question[T], error: Exception) -> None:
        kind = (question.tenant, question.place, type(error).__name__)
        if kind not in self._before and kind not in self.broken:
            where = str(extract_tb(error.__traceback__)[-1])
            log.warning("cannot ask", tenant=question.tenant, what=question.name, error=kind[-1], at=where)
        self.broken.add(kind)

    def _is_doubted(self, place: str) -> bool:
        since = self._late.get(place)
        return since is not None and self._clock() - since < self._limits.late_for

    def _note(self, index: int, waited: float, *, is_doubted: bool) -> None:
        """Note a late endpoint. One asked just before the deadline is not late; being late again changes nothing."""
        question, limits = self._questions[index], self._limits
        if index in self._answers:
            self._late.pop(question.place, None)
            return
        least = f"{limits.late:g} s, and was late before" if is_doubted else f"the {limits.together:g} s for all"
        self._answers[index] = Failure(f"{question.name} did not answer within {least}")
        if waited >= limits.late and not self._is_doubted(question.place):
            self._late[question.place] = self._clock()

    def answer(self, index: int) -> T | Failure:
        if index in self._answers:
            return self._answers[index]
        name, together = self._questions[index].name, self._limits.together
        return Failure(f"{name} was not asked: the answers of others took all of the {together:g} s")


class _Turns:
    """The order of questions: next is the tenant with the fewest questions under way."""

    def __init__(self, waiting: Iterable[tuple[str, int]]) -> None:
        self._waiting: dict[str, deque[int]] = {}
        for tenant, index in waiting:
            self._waiting.setdefault(tenant, deque()).append(index)
        self._under_way: Counter[str] = Counter()
        # Tenants that wait and have nothing under way.
        self._idle = deque(self._waiting)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> tuple[str, int]:
        tenant = self._idle.popleft() if self._idle else self._least()
        waiting = self._waiting[tenant]
        index = waiting.popleft()
        if not waiting:
            del self._waiting[tenant]
        self._under_way[tenant] += 1
        return tenant, index

    def _least(self) -> str:
        return min((each for each in self._under_way if each in self._waiting), key=self._under_way.__getitem__)

    def done(self, tenant: str) -> None:
        self._under_way[tenant] -= 1
        if self._under_way[tenant]:
            return
        del self._under_way[tenant]
        if tenant in self._waiting:
            self._idle.append(tenant)
