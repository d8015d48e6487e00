"""The jobs (policies on traces) and their results. A trace is held only until all its jobs are done."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hypot.policy.model.settings import Settings
from hypot.replay.engine.deciders import NEVER
from hypot.replay.jobs.comparison import Comparison, ReplayJob, Scored, compared
from hypot.replay.policies.policy import Policy
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Span, World


class JobsError(RuntimeError):
    """A worker process ended without an error message: killed, usually out of memory."""


class TraceJobs(NamedTuple):
    """A trace, the policies that are replayed on it, and in which world."""

    trace: Trace
    policies: Sequence[Policy]
    world: World


class JobQueue:
    """Jobs are handed out in order; results come back in any order."""

    def __init__(
        self,
        settings: Settings,
        explained: Span = NEVER,
        *,
        keep: bool = False,
        compiled: bool = False,
        brief: bool = False,
    ) -> None:
        self._settings = settings
        self._how = explained, keep, compiled, brief
        self._open: dict[int, tuple[TraceJobs, dict[int, Scored]]] = {}
        # The trace and the policy of each job that is handed out.
        self._places: dict[int, tuple[int, int]] = {}
        self._done: dict[int, Comparison] = {}

    def jobs(self, wanted: Iterable[TraceJobs]) -> Iterator[ReplayJob]:
        """All policies on one trace, then on the next trace, which is read only when it is needed."""
        place = 0
        for number, one in enumerate(wanted):
            self._open[number] = one, {}
            for which, policy in enumerate(one.policies):
                self._places[place] = number, which
                place += 1
                yield ReplayJob(policy, one.trace, one.world, self._settings, *self._how)

    def enter(self, place: int, judged: Scored) -> None:
        """Record the result of the job at this position."""
        number, which = self._places.pop(place)
        one, known = self._open[number]
        known[which] = judged
        if len(known) == len(one.policies):
            del self._open[number]
            self._done[number] = compared(one.trace, _sharing(known), one.policies, one.world)

    def comparisons(self) -> list[Comparison]:
        """The comparisons in the order of the traces."""
        return [self._done[number] for number in sorted(self._done)]


def _sharing(known: dict[int, Scored]) -> list[Scored]:
    """The results in the order of the policies; what is the same for all of them is stored once."""
    judged = [known[which] for which in sorted(known)]
    static = judged[0].static
    return [one._replace(static=static) for one in judged]
