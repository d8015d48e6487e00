"""What a sweep says in the log: deeds each time, and what would be done where hypot only observes once."""

import structlog

from hypot.policy.decision import Decision
from hypot.run.breath import Breath
from hypot.run.outcome import Key, Outcome
from hypot.run.sweep import Swept

log = structlog.get_logger()
# The count that would be, how many pods would be changed, and whether anything would.
Would = tuple[int | None, int, bool]


class Narrator:
    """Remembers what it said of objects that are only observed: nothing moves there, so each sweep decides the same."""

    def __init__(self) -> None:
        self._would: dict[Key, Would] = {}

    async def tell(self, swept: Swept) -> None:
        moved = [one for one in swept.outcomes if one.acting == "act" and one.decision.rescales]
        log.info(
            "swept",
            objects=len(swept.outcomes),
            moved=len(moved),
            undecided=sum(not one.decision.decided for one in swept.outcomes),
            seconds=round(swept.seconds, 3),
            trouble=swept.trouble,
        )
        breath = Breath()
        for one in (*moved, *self._news(swept)):
            _say(one)
            if breath.is_due():
                await breath.take()

    def _news(self, swept: Swept) -> list[Outcome]:
        """Of those that are only observed, the ones that would now be moved otherwise than was last said."""
        before = self._would
        observed = [one for one in swept.outcomes if one.acting == "observe" and not one.unsure]
        self._would = {
            one.key: _would(one.decision) if one.decision.decided else before[one.key]
            for one in observed
            if one.decision.decided or one.key in before
        }
        return [one for one in observed if one.decision.rescales and before.get(one.key) != self._would[one.key]]


def _would(decision: Decision) -> Would:
    """Not the sizes: they differ a little in every sweep."""
    return decision.desired, sum(each.action != "none" for each in decision.actions), decision.rescales


def _say(outcome: Outcome) -> None:
    decision = outcome.decision
    log.info(
        "decided" if outcome.acting == "act" else "would decide",
        object=str(decision.autoscaler),
        before=decision.current,
        after=decision.desired,
        why=decision.reason,
        refusal=outcome.refusal,
    )
