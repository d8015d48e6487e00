"""Decides for all autoscalers of a reconcile: pure, except that it yields to the event loop."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from hypot.cluster.time_slice import TimeSlice
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.node import replaced
from hypot.kinds.problem import Problem
from hypot.policy.continuity import Remembered, resumed
from hypot.policy.decide import proposed
from hypot.policy.families import family_of
from hypot.policy.governor import WAITS, Governor, Want, fleet_of, freed, govern, shrinks
from hypot.policy.hold import held, holds_of
from hypot.policy.measured import measured_holds
from hypot.policy.model.decision import PLAN_UNDER_WAY, Hold, Move, Name, with_condition
from hypot.policy.model.plan import Plan
from hypot.policy.model.seen import Failure, Scale, Seen
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe.targets import ScaleTarget
from hypot.policy.plan.rights import outgrown
from hypot.policy.valid import explained, in_the_way, refusal
from hypot.run.internal_errors import InternalError, InternalErrors
from hypot.run.observe.conflicts import Writers, conflict_hold, counters, lease_hold, older_sizer, sizer
from hypot.run.observe.observer import WorldView
from hypot.run.observe.rows import AutoscalerRow
from hypot.run.outcome import CARRIED_OUT, Acting, Judged, Key, Outcome

# The hold of a plan whose object is not valid any more.
INVALID = "InvalidSpec"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What applies to a whole reconcile, in addition to the observed state."""

    settings: Settings
    # On the boot clock: now, when hypot started without state, and when the clock jumped.
    boot: float
    cold_since: float | None
    jumped_at: float | None
    # Leases that other controllers hold, by the kind that they control.
    leases: Mapping[str, str]
    # The Lease of another hypot that acts.
    twin: str
    hpas: Mapping[tuple[str, str], AutoscalerRow]
    # Autoscalers whose target another autoscaler scales, and a text that names the other.
    overruled: Mapping[Key, str]
    # The VerticalPodAutoscalers that change pods, by target.
    sizers: Mapping[ScaleTarget, str]
    # The watches that fail at the moment, so that their objects may be outdated.
    blind: str = ""
    # The millicores of all nodes; None if nodes are not watched.
    capacity: int | None = None


class ColdSince(NamedTuple):
    """When hypot started without the state of an object, on the wall clock and on the boot clock."""

    wall: float
    boot: float


class _Written(NamedTuple):
    essence: tuple[Any, ...]
    entry: dict[str, Any]


class Judge:
    """Decides, and keeps the state of earlier reconciles that decisions need."""

    def __init__(self, errors: InternalErrors | None = None) -> None:
        self.errors = errors or InternalErrors()
        self.states: dict[Key, Remembered] = {}
        # Objects whose state was loaded and not used since: the cluster may have changed meanwhile.
        self.asleep: set[Key] = set()
        self.governor = Governor()
        self._writers = Writers()
        # Objects that may scale down in this reconcile.
        self._admitted: frozenset[Key] = frozenset()
        # Objects whose state did not fit into the saved state.
        self.cold: dict[Key, ColdSince] = {}
        self._entries: dict[Key, _Written] = {}
        self._known: dict[Key, tuple[Autoscaler, Autoscaler, list[Problem]]] = {}
        # The status of an object that still describes its former target.
        self._outdated: dict[Key, Any] = {}

    def restore(self, states: Mapping[Key, Remembered], governor: Governor) -> None:
        self.states, self.asleep, self.governor = dict(states), set(states), governor

    def remember(self, outcome: Outcome) -> None:
        """Take over the results of the writes."""
        known = self.states.get(outcome.key)
        if outcome.unsure:
            # The write may have happened: the next reconcile compares the state with the cluster, as after a restart.
            self.asleep.add(outcome.key)
        if outcome.refusal and not outcome.unsure and outcome.key in self._admitted:
            # Otherwise one disruption budget that allows no eviction would use up the turns of all objects.
            self.governor = self.governor.refused(outcome.seen.now, outcome.key)
        if known is not None and (known.state is not outcome.state or outcome.counted is not None):
            replicas = known.replicas if outcome.counted is None else outcome.counted
            self.states[outcome.key] = replace(known, state=outcome.state, replicas=replicas)

    def entry(self, key: Key, *, renewed: bool = False) -> dict[str, Any]:
        """The saved state of one autoscaler; the same dict object if nothing of importance changed.

        A renewed entry also has what may be lost. It does not say when the object was last observed, because that
        changes with every reconcile; only a `last_entry` does.
        """
        known, written = self.states[key], self._entries.get(key)
        essence = known.essence()
        if written is None or renewed or essence != written.essence:
            written = self._entries[key] = _Written(essence, replace(known, at=None).to_entry())
        return written.entry

    def saved(self, key: Key) -> dict[str, Any] | None:
        """The entry that was made last; None if there was none."""
        written = self._entries.get(key)
        return None if written is None else written.entry

    def last_entry(self, key: Key) -> dict[str, Any]:
        """The state of one autoscaler when hypot stops: the next leader continues as if there were no restart."""
        return self.states[key].to_entry()

    def forget(self, keys: set[Key], rows: Mapping[Key, AutoscalerRow]) -> None:
        """Drop the state of these; for those that still have a row, ignore the status of the former target too."""
        self._writers.forget(keys)
        for key in keys:
            self._outdated.pop(key, None)
            if key in rows:
                self._outdated[key] = rows[key].autoscaler.status
            self.states.pop(key, None)
            self._entries.pop(key, None)
            self.cold.pop(key, None)
            self._known.pop(key, None)
            self.asleep.discard(key)

    async def decide_all(self, view: WorldView, acting: Mapping[Key, Acting], around: Circumstances) -> list[Judged]:
        time_slice = TimeSlice()
        judged, wants = list[Judged](), list[Want]()
        for key, row in view.rows.items():
            error = self.errors.now.get(key)
            if error is None:
                try:
                    one = self._decide(key, row, view, acting[key], around)
                    wants += _wants(one)
                    judged.append(one)
                except Exception as caught:  # noqa: BLE001  it must not stop the others, nor hide this object
                    error = self.errors.add(key, "decide", caught)
            if error is not None:
                judged.append(self.failed(key, row.autoscaler, view.now, acting[key], error))
            if time_slice.is_due():
                await time_slice.take()
        return self._governed(judged, wants, view, around)

    def _decide(self, key: Key, row: AutoscalerRow, view: WorldView, acting: Acting, around: Circumstances) -> Judged:
        autoscaler, settings = self._of_its_target(key, row.autoscaler), around.settings
        readable, problems = self._examined(key, autoscaler, settings)
        if problems:
            return self._refused(key, autoscaler, problems, view, acting)
        seen = view.snapshot.seen(readable, view.now, settings, view.questions[key])
        if key in view.replies:
            seen = replace(seen, reply=view.replies[key])
        if acting == "act":
            self._notice(key, seen, view.now)
        state = self._state(key, autoscaler, seen, view.now, settings).until(view.now)
        if isinstance(seen.scale, Failure) and not info_of(autoscaler).sizes:
            # Nothing is decided, so the status stays, also that of a former target. Sizes in it are never kept: the
            # webhook would give them to pods of the new target.
            autoscaler = row.as_stored
            state = state._replace(conditions=state.conditions or State.from_status(autoscaler.status).conditions)
        if acting == "observe":
            state = _without_plan(state, view.now)
        move, after = proposed(autoscaler, seen, state, settings)
        holds = self._holds(key, row, seen, state, move, around)
        holds = (*holds, *measured_holds(autoscaler, seen, state, move))
        self._remember(key, after, seen, view.now, row)
        return Judged(key, autoscaler, seen, held(move, holds, seen), after, acting, state, holds)

    def _examined(self, key: Key, autoscaler: Autoscaler, settings: Settings) -> tuple[Autoscaler, list[Problem]]:
        """The readable part of the object, and the problems that prevent a decision; computed once per version."""
        known = self._known.get(key)
        if known is None or known[0] is not autoscaler:
            known = self._known[key] = (autoscaler, autoscaler.readable(), in_the_way(autoscaler, settings))
        return known[1:]

    def _refused(
        self, key: Key, autoscaler: Autoscaler, problems: list[Problem], view: WorldView, acting: Acting
    ) -> Judged:
        """The result for an object that cannot be read: it is never acted on."""
        seen = Seen(view.now, view.snapshot.scale(autoscaler))
        return self._undecided(key, autoscaler, seen, refusal(autoscaler, problems, view.now), acting)

    def _undecided(
        self, key: Key, autoscaler: Autoscaler, seen: Seen, refused: Move, acting: Acting, reason: str = ""
    ) -> Judged:
        """The result without a decision. Its state stays, except for a plan: it is dropped, as its goal is unknown."""
        known = self.states.get(key)
        state = known.state if known else State.from_status(autoscaler.status)
        state = _without_plan(state, seen.now) if acting == "observe" else state
        move = explained(refused, autoscaler, state.conditions, reason)
        holds = () if state.plan is None else (Hold(reason or INVALID, refused.error),)
        return Judged(key, autoscaler, seen, move, state, acting, state, holds)

    def failed(self, key: Key, autoscaler: Autoscaler, now: float, acting: Acting, error: InternalError) -> Judged:
        """The result after an internal error: reported like an object that cannot be read, or at least counted."""
        message = str(error)
        seen = Seen(now, Failure(message))
        try:
            problem = Problem("undecided", "Internal", (), message)
            refused = refusal(autoscaler, [problem], now)._replace(error=message)
            return self._undecided(key, autoscaler, seen, refused, acting, "DecisionFailed")
        except Exception as caught:  # noqa: BLE001  the object is still counted
            self.errors.add(key, "report", caught)
            itself, nothing = Name("", *key), Name("", "", key[1], "")
            bare = Move(itself, nothing, now, None, None, error=message, decided=False)
            return Judged(key, autoscaler, seen, bare, State(), "observe")

    def _state(self, key: Key, autoscaler: Autoscaler, seen: Seen, now: float, settings: Settings) -> State:
        known = self.states.get(key)
        if known is not None and key not in self.asleep:
            return known.state
        self.asleep.discard(key)
        if known is not None and _goes_on(known, _count(seen), now, settings):
            return known.state
        state = resumed(autoscaler, known, _count(seen), now, settings)
        if known is not None and known.at is None:
            state = _lasted(state, now)
        return _moved_unseen(state, known, _count(seen), now)

    def _notice(self, key: Key, seen: Seen, now: float) -> None:
        """Count a scale-down that a crash left unrecorded against the governor's budget.

        Otherwise repeated crashes would give the budget back again and again.
        """
        known, count = self.states.get(key), _count(seen)
        if key not in self.asleep or known is None or known.replicas is None or count is None:
            return
        if count < known.replicas:
            self.governor = self.governor.noticed(now, key, known.replicas - count, seen)

    def _remember(self, key: Key, state: State, seen: Seen, now: float, row: AutoscalerRow) -> None:
        known, count = self.states.get(key), _count(seen)
        count = count if count is not None or known is None else known.replicas
        cold, of = self.cold.get(key), row.identity or (known.of if known else "")
        self.states[key] = Remembered(state, count, now, of, None if cold is None else cold.wall)

    def _of_its_target(self, key: Key, autoscaler: Autoscaler) -> Autoscaler:
        """The autoscaler without a status of its former target, until the status is written again."""
        if key not in self._outdated:
            return autoscaler
        if autoscaler.status == self._outdated[key]:
            return replaced(autoscaler, status=None)
        del self._outdated[key]
        return autoscaler

    def _holds(
        self, key: Key, row: AutoscalerRow, seen: Seen, state: State, move: Move, around: Circumstances
    ) -> tuple[Hold, ...]:
        conflict = conflict_hold(
            self._writers.fresh(key, row, seen.now),
            counters(row.autoscaler, seen, around.hpas),
            sizer(row.autoscaler, around.sizers),
            around.overruled.get(key) or older_sizer(row.autoscaler, seen),
        )
        conflict = conflict or lease_hold(around.leases.get(key[0], ""), around.twin)
        found = [*holds_of(row.autoscaler.annotations), *([conflict] if conflict else [])]
        if state.plan is not None and move.error_kind == "spec":
            found.append(Hold(INVALID, move.error))
        elif state.plan is not None and not _outgrown(state.plan, row.autoscaler, move):
            found.append(Hold(PLAN_UNDER_WAY, "an earlier decision is still being carried out"))
        found += _since_then(row.autoscaler, around, self.cold.get(key))
        if around.blind:
            found.append(Hold("StaleWatch", f"no scale-down on data that may be outdated: {around.blind}", "down"))
        return tuple(found)

    def _governed(
        self, judged: list[Judged], wants: list[Want], view: WorldView, around: Circumstances
    ) -> list[Judged]:
        """Let scale-downs that are written wait for their turn; scale-ups and mere reports never wait."""
        acted = [one for one in judged if one.acting == "act"]
        fleet = fleet_of([(one.move.target, one.seen) for one in acted], around.capacity)
        self._admitted, self.governor = govern(self.governor, wants, fleet, view.now)
        waiting = {want.key for want in wants} - self._admitted
        return [_waits(one) if one.key in waiting else one for one in judged]


def _wants(judged: Judged) -> list[Want]:
    """The scale-down that it would write, if any."""
    if judged.acting != "act" or not shrinks(judged.move, judged.seen):
        return []
    return [Want(judged.key, freed(judged.move, judged.seen))]


def _waits(judged: Judged) -> Judged:
    """The same, also held by the governor."""
    holds = (*judged.holds, WAITS)
    return replace(judged, move=held(judged.move.wanted or judged.move, holds, judged.seen), holds=holds)


def _outgrown(plan: Plan, autoscaler: Autoscaler, move: Move) -> bool:
    return info_of(autoscaler).decides_both and outgrown(autoscaler, plan, move)


def _without_plan(state: State, now: float) -> State:
    """The state without its plan, for an object that hypot no longer acts on."""
    if state.plan is None:
        return state
    message = "The plan is abandoned: hypot no longer acts on this object."
    return state._replace(
        plan=None,
        conditions=with_condition(state.conditions, CARRIED_OUT, "False", "Superseded", message, now),
    )


def _since_then(autoscaler: Autoscaler, around: Circumstances, lost: ColdSince | None) -> list[Hold]:
    """Holds that last for the longest window of the object after a cold start or a clock jump."""
    starts = [at for at in (around.cold_since, None if lost is None else lost.boot) if at is not None]
    if not starts and around.jumped_at is None:
        return []
    window = family_of(autoscaler).longest_window(autoscaler, around.settings)
    found = []
    if starts and around.boot - max(starts) < window:
        message = f"hypot started without saved state: no scale-down for {window:.0f} s"
        found.append(Hold("ColdStart", message, "down"))
    if around.jumped_at is not None and around.boot - around.jumped_at < window:
        found.append(Hold("ClockJump", f"the clock jumped: no scale-down for {window:.0f} s", "down"))
    return found


def _goes_on(known: Remembered, count: int | None, now: float, settings: Settings) -> bool:
    """Whether no reconcile was missed and no count changed unseen: then the state is used as it is."""
    if known.at is None or not 0.0 <= now - known.at < 1.5 * settings.sync_period:
        return False
    return count == known.replicas or (known.state.last_scale is not None and known.state.last_scale >= known.at)


def _lasted(state: State, now: float) -> State:
    """A crash left no record of how long the last recommendation lasted: until now, so nothing scales down earlier."""
    known = state.recommendations
    return state if known is None else state._replace(recommendations=known.lasted(now))


def _moved_unseen(state: State, known: Remembered | None, count: int | None, now: float) -> State:
    """A count that changed unseen may be hypot's own last, unrecorded action, so windows begin now.

    If the status says when that was, they begin then.
    """
    if known is None or known.replicas is None or count is None or known.replicas == count:
        return state
    before = known.state.last_scale
    if state.last_scale is not None and (before is None or state.last_scale > before):
        return state
    return state._replace(last_scale=now, unknown_move=now)


def _count(seen: Seen) -> int | None:
    return seen.scale.replicas if isinstance(seen.scale, Scale) else None
