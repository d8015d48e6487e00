"""The jobs (every policy on every trace) and their results. A trace is held only until all its jobs are done."""

from collections.abc import Iterable, Iterator, Sequence

from hypot.policy.model.settings import Settings
from hypot.replay.engine.deciders import NEVER
from hypot.replay.jobs.comparison import Comparison, ReplayJob, Scored, compared
from hypot.replay.policies.policy import Policy
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Span, World


class JobsError(RuntimeError):
    """A worker process ended without an error message: killed, usually out of memory."""


class JobQueue:
    """Jobs are handed out in order; results come back in any order."""

    def __init__(
        self,
        policies: Sequence[Policy],
        world: World,
        settings: Settings,
        explained: Span = NEVER,
        *,
        keep: bool = False,
        compiled: bool = False,
    ) -> None:
        self._policies, self._world, self._settings = policies, world, settings
        self._explained, self._keep, self._compiled = explained, keep, compiled
        self._open: dict[int, tuple[Trace, dict[int, Scored]]] = {}
        self._done: dict[int, Comparison] = {}

    def jobs(self, traces: Iterable[Trace]) -> Iterator[ReplayJob]:
        """All policies on one trace, then on the next trace, which is read only when it is needed."""
        for number, trace in enumerate(traces):
            self._open[number] = trace, {}
            for policy in self._policies:
                yield ReplayJob(policy, trace, self._world, self._settings, self._explained, self._keep, self._compiled)

    def enter(self, place: int, judged: Scored) -> None:
        """Record the result of the job at this position."""
        number, which = divmod(place, len(self._policies))
        trace, known = self._open[number]
        known[which] = judged
        if len(known) == len(self._policies):
            del self._open[number]
            self._done[number] = compared(trace, _sharing(known), self._policies, self._world)

    def comparisons(self) -> list[Comparison]:
        """The comparisons in the order of the traces."""
        return [self._done[number] for number in sorted(self._done)]


def _sharing(known: dict[int, Scored]) -> list[Scored]:
    """The results in the order of the policies; what is the same for all of them is stored once."""
    judged = [known[which] for which in sorted(known)]
    static = judged[0].static
    return [one._replace(static=static) for one in judged]
