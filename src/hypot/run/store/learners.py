"""What each kind asks of the usage before it was made, and what it learns from the answers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from hypot.core.amount import CPU
from hypot.core.bank.season import MORE
from hypot.core.bank.season import WEEK as SLOTS
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import count_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.settings import DAY
from hypot.policy.autoscaler.earlier import known_slots, with_earlier
from hypot.policy.autoscaler.rule import sized_container
from hypot.policy.model.autoscaler_checkpoint import TEN_MINUTES
from hypot.policy.model.current_size import current_size
from hypot.policy.model.learned import Learned
from hypot.policy.model.size import Place
from hypot.policy.model.state import State
from hypot.policy.observe.targets import target_of
from hypot.run.observe.past_usage import STEP, WEEK, names_of_pods, query_of
from hypot.run.outcome import Outcome

# Of so many places the history is read.
MOST_PLACES = 8


class PastQuery(NamedTuple):
    """What is asked, and for which time."""

    query: str
    start: float
    end: float


# What an object learns in, and since when: an answer for another one is not taken.
Subject = tuple[Any, ...]
# Usage in cores or bytes by time, as an answer to a query.
Usage = Mapping[int, float]


class Learner(Protocol):
    """How the objects of one kind learn from earlier usage."""

    def subject(self, state: State) -> Subject:
        """What it learns; empty if it learns nothing."""

    def is_new(self, state: State, now: float) -> bool:
        """Whether it has not observed long enough itself."""

    def asks(self, outcome: Outcome) -> "tuple[tuple[PastQuery, ...], Any]":
        """The queries, and what else it takes to learn from the answers; no query if there is nothing to ask for."""

    def learned(self, about: Any, answers: Sequence[Usage]) -> Any:
        """What the answers teach, computed in a thread; nothing if there is no usage."""

    def taught(self, state: State, learned: Any) -> tuple[State, str]:
        """The state with it, and what came of it as a sentence without its end."""


class FollowedPlace(NamedTuple):
    """A place that replicas follow, its target utilization in percent, and what was learned about it."""

    place: Place
    target: int
    learned: Learned


class TortoiseLearner:
    """Weeks of usage of each container whose replicas follow it."""

    def subject(self, state: State) -> Subject:
        past = state.tortoise
        return () if past is None else tuple([(each.layout, each.place, each.since) for each in past.learned])

    def is_new(self, state: State, now: float) -> bool:
        return state.tortoise is not None and any(_is_new(each, now) for each in state.tortoise.learned)

    def asks(self, outcome: Outcome) -> tuple[tuple[PastQuery, ...], tuple[FollowedPlace, ...]]:
        past = outcome.state.tortoise
        if past is None:
            return (), ()
        places = [
            FollowedPlace((container, resource), past.targets[each.place], each)
            for each in past.learned
            if each.place in past.targets and _is_new(each, outcome.seen.now)
            for container, _, resource in [each.place.rpartition("/")]
        ][:MOST_PLACES]
        pods = _pods(outcome)
        queries = [_query(one, outcome.key[1], pods) for one in places] if pods else []
        return tuple(queries), tuple(places)

    def learned(self, about: Sequence[FollowedPlace], answers: Sequence[Usage]) -> tuple[Learned, ...]:
        """A place without usage did not exist then."""
        found = [_learned(place, used) for place, used in zip(about, answers, strict=True)]
        return tuple([each for each in found if each is not None])

    def taught(self, state: State, learned: tuple[Learned, ...]) -> tuple[State, str]:
        past = state.tortoise
        assert past is not None  # noqa: S101  its subject was not empty
        return state._replace(tortoise=past.taught(learned)), _result(past.learned, learned)


def _query(followed: FollowedPlace, namespace: str, pods: str) -> PastQuery:
    learned = followed.learned
    start = learned.since - learned.layout.weeks * WEEK
    return PastQuery(query_of(followed.place, namespace, pods), start, learned.since)


def _pods(outcome: Outcome) -> str:
    return names_of_pods(target_of(outcome.autoscaler), [pod.name for pod in outcome.seen.pods])


def _is_new(learned: Learned, now: float) -> bool:
    """Whether not every slot has occurred since it began to observe."""
    return now - learned.since < learned.layout.seconds


def _learned(followed: FollowedPlace, used: Usage) -> Learned | None:
    """What usage teaches. The slot in which it began to observe is left to it."""
    import numpy as np  # noqa: PLC0415  only for a history

    from hypot.policy.tortoise.history import UsageSeries, learned_from  # noqa: PLC0415  the same

    layout = followed.learned.layout
    times, first = sorted(used), layout.place(followed.learned.since)
    while times and layout.place(times[-1]) >= first:
        times.pop()
    if len(times) < 2:
        return None
    unit = 1000.0 if followed.place[1] == CPU else 1.0
    amounts = np.array([used[at] for at in times]) * unit
    series = UsageSeries(followed.place, followed.target, np.array(times, np.float64), amounts, layout)
    return next(learned_from([series])).learned


def _result(own: Iterable[Learned], histories: Sequence[Learned]) -> str:
    """Of several places, the one of which least is known."""
    since = {each.place: each.since for each in own}
    least = min(histories, key=Learned.known)
    days = count_of(round((since[least.place] - least.since) / DAY), "day")
    return f"learned from {days} of usage: {least.known()} of {least.layout.slots} slots have data"


class AutoscalerLearner:
    """A week of usage of the container that it sizes."""

    def subject(self, state: State) -> Subject:
        past = state.autoscaler
        return () if past is None else (past.past.learned.first[0],)

    def is_new(self, state: State, now: float) -> bool:
        past = state.autoscaler
        return past is not None and 0.0 <= now - past.past.learned.first[0] < WEEK and known_slots(past) < SLOTS

    def asks(self, outcome: Outcome) -> tuple[tuple[PastQuery, ...], None]:
        past, autoscaler, seen = outcome.state.autoscaler, outcome.autoscaler, outcome.seen
        if past is None or not isinstance(autoscaler, WorkloadAutoscaler):
            return (), None
        container = sized_container(autoscaler, seen.template, current_size(seen, len(seen.pods)))
        pods = _pods(outcome)
        if container is None or not pods:
            return (), None
        first = past.past.learned.first[0]
        query = query_of((container.container, CPU), outcome.key[1], pods)
        return (PastQuery(query, first - WEEK - MORE * TEN_MINUTES, first),), None

    def learned(self, _about: None, answers: Sequence[Usage]) -> tuple[tuple[float, float], ...]:
        """Each rate is that of the time before it."""
        [used] = answers
        return tuple([(at - STEP / 2.0, used[at]) for at in sorted(used)])

    def taught(self, state: State, learned: tuple[tuple[float, float], ...]) -> tuple[State, str]:
        past = state.autoscaler
        assert past is not None  # noqa: S101  its subject was not empty
        after = with_earlier(past, learned)
        known = known_slots(after)
        days = count_of(round(known * 7 / SLOTS), "day")
        message = f"learned from {days} of usage: {known} of the {SLOTS} slots of a week have data"
        return state._replace(autoscaler=after), message


LEARNERS: Mapping[str, Learner] = {Tortoise.KIND: TortoiseLearner(), WorkloadAutoscaler.KIND: AutoscalerLearner()}
