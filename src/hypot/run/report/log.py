"""What a reconcile logs: every action; what would be done, was refused or dropped, only when it changes."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import structlog

from hypot.cluster.time_slice import TimeSlice
from hypot.kinds.hpa import HPA
from hypot.policy.model.decision import Decision
from hypot.policy.model.size import Size, changes_of
from hypot.run.outcome import Key, Outcome, Reconciled
from hypot.run.report.gauges import MOST_SERIES, dropped_series

log = structlog.get_logger()
# A size that differs from the logged size by at most this share is not logged again: it changes in every reconcile.
LITTLE = 0.1

Word = Literal["decided", "would decide", "not done", "not all done", "perhaps done"]
# Container, requests or limits, and resource.
Place = tuple[str, str, str]


class Said(NamedTuple):
    """What was logged for an object that does not change: the message, why, count, number of pods, HPA, sizes."""

    word: Word
    refusal: str
    desired: int | None
    pods: int
    # The HPA that it is to have, if that changes.
    hpa: HPA | None
    amounts: Mapping[Place, int]

    def covers(self, other: "Said") -> bool:
        """Whether the other adds nothing new to this."""
        if self[:5] != other[:5] or self.amounts.keys() != other.amounts.keys():
            return False
        return all(abs(other.amounts[at] - amount) <= LITTLE * amount for at, amount in self.amounts.items())


class DecisionLog:
    """Keeps what it logged for objects that do not change, because each reconcile decides the same for them."""

    def __init__(self, *, dry_run: bool = False, object_metrics: bool = True) -> None:
        """`dry_run`: even writes that succeeded were not done. `object_metrics`: objects have series."""
        self._dry_run = dry_run
        self._object_metrics = object_metrics
        self._said: dict[Key, Said] = {}
        # What the logged series are about that did not fit.
        self._dropped: dict[Key, frozenset[str]] = {}

    async def report(self, reconciled: Reconciled) -> None:
        message = {one.key: self._word(one) for one in reconciled.outcomes}
        log.info(
            "reconciled",
            objects=len(reconciled.outcomes),
            moved=sum(word == "decided" for word in message.values()),
            undecided=sum(not one.decision.decided for one in reconciled.outcomes),
            seconds=round(reconciled.seconds, 3),
            error=reconciled.trouble,
        )
        before, self._said = self._said, {}
        dropped, self._dropped = self._dropped, {}
        time_slice = TimeSlice()
        for one in reconciled.outcomes:
            self._report(one, message[one.key], before.get(one.key))
            if self._object_metrics:
                self._report_dropped(one, dropped.get(one.key, frozenset()))
            if time_slice.is_due():
                await time_slice.take()

    def _word(self, one: Outcome) -> Word | None:
        """The log message for it; None if there is nothing to log."""
        if one.acting == "recommend" or (one.unsure and one.acting == "observe"):
            return None
        if one.refusal:
            # Earlier steps of a running plan were done.
            refused: Word = "not done" if one.before.plan is None else "not all done"
            return "perhaps done" if one.unsure else refused
        if not (one.decision.moves or one.decision.edits):
            return None
        only_said = self._dry_run or one.decision.dry_run or one.acting == "observe"
        return "would decide" if only_said else "decided"

    def _report(self, one: Outcome, word: Word | None, before: Said | None) -> None:
        if word == "decided":
            _say(one, word)
            return
        said = None if word is None else _said(one, word)
        if before is not None and _is_old(said, before, one.decision):
            self._said[one.key] = before
        elif said is not None:
            self._said[one.key] = said
            _say(one, said.word)

    def _report_dropped(self, one: Outcome, before: frozenset[str]) -> None:
        """Log series that do not fit once: reasons come and go, and with them the room for the others."""
        dropped = dropped_series(one)
        if not before.issuperset(dropped):
            log.warning("series dropped", object=str(one.decision.autoscaler), dropped=dropped, most=MOST_SERIES)
        if before or dropped:
            self._dropped[one.key] = before.union(dropped)


def _is_old(said: Said | None, before: Said, decision: Decision) -> bool:
    """Whether the last log entry still applies; an object that cannot be decided for a while is not a change."""
    return not decision.decided if said is None else before.covers(said)


def _said(one: Outcome, word: Word) -> Said:
    decision = one.decision
    amounts = {
        (size.container, part, resource): amount
        for size in decision.desired_sizes
        for part, listed in (("requests", size.requests), ("limits", size.limits))
        for resource, amount in listed.items()
    }
    pods = sum(each.action != "none" for each in decision.actions)
    hpa = decision.hpa.after if decision.hpa is not None and decision.edits else None
    return Said(word, one.refusal, decision.desired, pods, hpa, amounts)


def _say(one: Outcome, word: Word) -> None:
    decision = one.decision
    more = {"sizes": _sizes(decision), "why": decision.reason, "refusal": one.refusal}
    log.info(
        word,
        object=str(decision.autoscaler),
        before=decision.current,
        after=decision.desired,
        **{key: message for key, message in more.items() if message},
    )


def _sizes(decision: Decision) -> str:
    """The changes of each container's size; empty if there are none."""
    had = {size.container: size for size in decision.sizes}
    pairs = [(had.get(size.container, Size(size.container)), size) for size in decision.desired_sizes]
    return "; ".join([f"{gets.container}: {_change(has, gets)}" for has, gets in pairs if has != gets])


def _change(has: Size, gets: Size) -> str:
    changes = changes_of(has.requests, gets.requests)
    return ", ".join(f"{r} {old} to {new}" for r, (old, new) in changes.items()) or "only its limits"
