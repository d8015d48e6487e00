"""One reconcile: observe, decide for all, act, report, save the state. All dependencies are passed in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import structlog

from hypot.cluster.clock import Clock
from hypot.cluster.time_slice import TimeSlice, rest
from hypot.kinds.catalogue import measuring, names_of, sizing
from hypot.kinds.vpa import VPA
from hypot.policy.continuity import Remembered
from hypot.policy.governor import Governor
from hypot.policy.observe.freshness import frozen_clock_jump, is_clock_jump
from hypot.run.act.actor import Actor
from hypot.run.act.children import housekeeping
from hypot.run.act.edited_hpas import HpaWrite, edited, hpa_writes
from hypot.run.act.execute import Executed, Executor, without_report, without_writes
from hypot.run.config import RunConfig
from hypot.run.in_time import IsTime, in_turns, write_in_time
from hypot.run.internal_errors import InternalErrors
from hypot.run.judge import Circumstances, ColdSince, Judge
from hypot.run.observe.conflicts import overruled, sizers
from hypot.run.observe.leases import Leases
from hypot.run.observe.observer import Observer, WorldView
from hypot.run.observe.rows import AutoscalerRow
from hypot.run.observe.watches import Watches
from hypot.run.outcome import Acting, Done, Judged, Key, Outcome, Reconciled
from hypot.run.report.events import PostedEvent, history_failed, history_read, subject_of
from hypot.run.report.reporter import Reporter
from hypot.run.store.backfill import Backfill, HistoryResult
from hypot.run.store.shards import LoadedState, Shards
from hypot.run.store.usage_history import UsageHistory, entry_key
from hypot.run.store.usage_store import UsageStore

log = structlog.get_logger()
# Autoscalers whose writes run at the same time, and writes for their children.
AT_ONCE = 32
CHILDREN_AT_ONCE = 16
# When a reconcile stops to begin such writes, in seconds after its start, so that the next one is not late; each has at
# least two. What is left is written next time. Writes that scale come first, and stop only before a probe fails.
SCALED_BY = 30.0
STATUSES_BY, CHILDREN_BY = 6.0, 7.0
LEAST = 2.0
NO_TIME = "there was no time for it: it is decided again in the next reconcile"
GOVERNOR, COLD, JUMP = "governor", "cold", "jump"
# No window of an autoscaler is longer, so a cold start and a clock jump are forgotten after this time.
LONGEST_COLD = 86_400.0
# The share of the possible state from which hypot warns that it will be full.
ALMOST_FULL = 0.8


@dataclass(slots=True)
class Clocks:
    """The wall clock and the boot clock, and their values at the last reconcile."""

    wall: Clock
    boot: Clock
    then: tuple[float, float] | None = None
    jumped_at: float | None = None
    # The same time on the wall clock (after the jump), as it is saved.
    jumped: dict[str, float] = field(default_factory=dict)

    def look(self) -> tuple[float, float]:
        """Both clocks now; a jump of one against the other is recorded."""
        now, boot = self.wall(), self.boot()
        if self.then is not None:
            jump = frozen_clock_jump(*self.then, now, boot)
            if is_clock_jump(jump):
                log.warning("the clock jumped", seconds=round(jump, 1))
                self._jumped(now, now, boot)
        self.then = (now, boot)
        return now, boot

    def resume(self, entry: Mapping[str, object] | None, now: float, boot: float) -> None:
        """Take over a jump that the previous leader saw."""
        since = _since(entry, now)
        if since is not None:
            self._jumped(since, now, boot)

    def _jumped(self, since: float, now: float, boot: float) -> None:
        self.jumped, self.jumped_at = {"since": since}, boot - (now - since)


@dataclass(slots=True)
class Reconciler:
    """Reconciles while this replica leads; a new leader resumes from the saved state."""

    config: RunConfig
    watches: Watches
    observer: Observer
    history: UsageHistory
    actor: Actor
    usage_store: UsageStore
    executor: Executor
    reporter: Reporter
    shards: Shards
    leases: Leases
    clocks: Clocks
    errors: InternalErrors
    backfill: Backfill = field(default_factory=Backfill)
    judge: Judge = field(init=False)
    cold_since: float | None = None
    # The same time on the wall clock, as it is saved: a restart during a cold start continues it.
    cold: dict[str, float] = field(default_factory=dict)
    # When the last object started without state that did not fit.
    lost_since: float | None = None
    # The objects of the last reconcile and their targets, including those without state.
    identities: dict[Key, str] = field(default_factory=dict)
    # The objects that the last reconcile had no time to write for.
    left: set[Key] = field(default_factory=set)
    # How many parts of the state could not be saved, and what does not fit.
    unwritten: int = 0
    full: tuple[str, ...] = ()
    almost_full: bool = False

    def __post_init__(self) -> None:
        self.judge = Judge(self.errors)

    async def resume(self) -> None:
        """Load the state of the previous leader; if it is incomplete, nothing is scaled down for a while."""
        now, boot = self.clocks.look()
        loaded = await self.shards.load()
        for note in loaded.notes:
            log.warning("state", note=note)
        began = _since(loaded.entries.get(COLD), now) if loaded.complete else now
        self.cold = {} if began is None else {"since": began}
        self.cold_since = None if began is None else boot - (now - began)
        self.clocks.resume(loaded.entries.get(JUMP), now, boot)
        states = {_key(text): _remembered(entry) for text, entry in loaded.entries.items() if text.count("/") == 2}
        governor = loaded.entries.get(GOVERNOR)
        self.judge.restore({key: known for key, known in states.items() if known is not None}, _governor(governor))
        self.judge.cold = self._cold(loaded, now, boot)
        self.lost_since = max((each.boot for each in self.judge.cold.values()), default=None)
        await self.usage_store.restore(self._rows(), loaded.entries, now)
        log.info("resumed", objects=len(states), cold=not self.may_shrink())

    def _cold(self, loaded: LoadedState, now: float, boot: float) -> dict[Key, ColdSince]:
        """The objects that start without state because it did not fit, now or at an earlier start."""
        since = {key: _since({"since": known.cold}, now) for key, known in self.judge.states.items()}
        kinds = names_of(measuring())
        for key in self._rows():
            if loaded.lost("/".join(key)) or (key[0] in kinds and loaded.lost(entry_key(key))):
                since[key] = now
        return {key: ColdSince(at, boot - (now - at)) for key, at in since.items() if at is not None}

    async def stop(self) -> None:
        """Save everything before another replica leads: it continues as if there were no restart."""
        entries = await self._decided(self.judge.last_entry)
        await self._write({**entries, **await self.history.entries(self.clocks.wall())})

    async def reconcile(self) -> Reconciled:
        now, boot = self.clocks.look()
        await self.leases.look(now, boot)
        await rest()
        rows = self._rows()
        self.errors.begin(rows, boot)
        await self._forget(rows)
        histories = self.backfill.take(self.judge.states)
        await rest()
        view = await self.observer.look(rows, now, boot)
        await self._learn(view)
        await rest()
        observed = self.clocks.boot()
        acting = {key: self._bounded_acting(key, row) for key, row in rows.items()}
        judged = await self.judge.decide_all(view, acting, self._circumstances(boot, rows, acting))
        decided = self.clocks.boot()
        outcomes, posted = await self._execute(judged, self._until(boot + SCALED_BY))
        await self.reporter.statuses(outcomes, boot, self._until(boot + STATUSES_BY))
        await rest()
        kept = housekeeping(outcomes, self.watches, self.reporter.version, self.errors)
        await write_in_time(kept, self.actor.write, CHILDREN_AT_ONCE, self._until(boot + CHILDREN_BY))
        outcomes, of_hpas = await self._edit_hpas(outcomes, self._until(boot + CHILDREN_BY))
        posted += of_hpas
        posted += self._look_back(outcomes, histories, now)
        await rest()
        await self.reporter.events(outcomes, posted, now, boot)
        await self.usage_store.write({key: row for key, row in rows.items() if acting[key] != "observe"}, now)
        await self._save(now, boot)
        seconds = self.clocks.boot() - boot
        return Reconciled(
            tuple(outcomes),
            boot,
            seconds,
            decided - observed,
            view.stale_share,
            self.unwritten,
            view.trouble,
            self.shards.used,
        )

    def _until(self, until: float) -> IsTime:
        """Whether there is time for more: until then, on the boot clock, and at least a little from now."""
        until = max(until, self.clocks.boot() + LEAST)
        return lambda: self.clocks.boot() < until

    def _rows(self) -> dict[Key, AutoscalerRow]:
        """The autoscalers of all enabled kinds; those of other kinds are only read as input."""
        return {
            (kind, namespace, name): row
            for kind, watched in self.watches.autoscalers.items()
            if self.config.enabled(kind)
            for (namespace, name), row in watched.items()
        }

    async def _forget(self, rows: Mapping[Key, AutoscalerRow]) -> None:
        """Drop the state of objects that are gone or have a new target; deleting an object restores nothing."""
        known = {**{key: one.of for key, one in self.judge.states.items()}, **self.identities}
        gone = {key for key, identity in known.items() if self._is_gone(key, identity, rows.get(key))}
        self.identities = {key: identity for key, identity in known.items() if key not in gone}
        self.identities.update((key, row.identity) for key, row in rows.items() if row.identity)
        self.judge.forget(gone, rows)
        self.observer.forget(gone)
        self.reporter.forget(gone)
        self.usage_store.forget(gone)
        self.backfill.forget(gone)
        time_slice = TimeSlice()
        for key in gone:
            self.history.forget(key)
            if time_slice.is_due():
                await time_slice.take()

    def _is_gone(self, key: Key, identity: str, row: AutoscalerRow | None) -> bool:
        """Whether the object was deleted, recreated under the same name, or pointed at another target."""
        if row is None:
            watched = self.watches.autoscalers.get(key[0])
            # A kind whose CustomResourceDefinition is missing for a moment has not lost its objects.
            return watched is None or not watched.missing
        return bool(identity and row.identity) and row.identity != identity

    def _bounded_acting(self, key: Key, row: AutoscalerRow) -> Acting:
        try:
            return self._acting(key, row)
        except Exception as error:  # noqa: BLE001  it is this object's alone
            self.errors.add(key, "observe", error)
            return "observe"

    def _acting(self, key: Key, row: AutoscalerRow) -> Acting:
        mode = self.config.mode(key[0])
        if mode == "observe" or not self.watches.is_opted_in(key[1]):
            return "observe"
        autoscaler = row.autoscaler
        if mode == "recommend" and isinstance(autoscaler, VPA):
            names = {ref.name for ref in autoscaler.readable().recommenders or ()}
            return "recommend" if names == {"hypot"} else "observe"
        return "act"

    def _circumstances(
        self, boot: float, rows: Mapping[Key, AutoscalerRow], acting: Mapping[Key, Acting]
    ) -> Circumstances:
        found = self.watches.autoscalers.get("HorizontalPodAutoscaler")
        hpas = dict(found.items()) if found else {}
        both_axes = any(self.config.enabled(info.name) and info.decides_both for info in sizing())
        vpas = self.watches.autoscalers.get("VerticalPodAutoscaler") if both_axes else None
        return Circumstances(
            self.config.settings,
            boot,
            self.cold_since,
            self.clocks.jumped_at,
            self.leases.fresh,
            self.leases.twin,
            hpas,
            overruled(rows, acting, hpas.values()),
            sizers(vpas.values()) if vpas else {},
            self.watches.blind,
            self.watches.capacity,
        )

    async def _learn(self, view: WorldView) -> None:
        """Add the usage of pods to the histograms of the autoscalers that size them by it."""
        time_slice, kinds = TimeSlice(), names_of(measuring())
        pods = {}
        for key, row in view.rows.items():
            autoscaler = row.autoscaler
            if key[0] not in kinds:
                continue
            try:
                pods[key] = view.snapshot.target_pods(autoscaler)
                names = {container.name for pod in pods[key] for container in pod.containers if not container.sidecar}
                self.history.declare(autoscaler, names, view.now)
            except Exception as error:  # noqa: BLE001  it is this object's alone
                self.errors.add(key, "observe", error)
            if time_slice.is_due():
                await time_slice.take()
        if not pods:
            return
        await self.history.observe(view.samples, pods, view.now)
        await self.history.retain({pod.uid for its in pods.values() for pod in its})
        self.history.expire(view.now)

    async def _execute(self, judged: list[Judged], is_time: IsTime) -> tuple[list[Outcome], list[PostedEvent]]:
        """Write the decisions, and report each object once; objects without their turn last time come first."""

        async def execute(one: Judged) -> Executed:
            if not self.watches.stands(one.key, one.autoscaler):
                # The object changed or is gone: write and report nothing for it. The next reconcile decides.
                return Executed(replace(self._unwritten(one), acting="observe"))
            try:
                return await self.executor.execute(one)
            except Exception as caught:  # noqa: BLE001  the others are still reported and saved
                error = self.errors.add(one.key, "act", caught)
                failed = self.judge.failed(one.key, one.autoscaler, one.seen.now, one.acting, error)
                return Executed(replace(self._unwritten(failed), unsure=True))

        working = in_turns([one for one in judged if self.executor.has_work(one)], lambda one: one.key[1])
        working.sort(key=lambda one: one.key not in self.left)
        done = await write_in_time(working, execute, AT_ONCE, is_time)
        executed = {each.outcome.key: each for each in done}
        self.left = {one.key for one in working} - executed.keys()
        if self.left:
            log.warning("decisions left to the next reconcile", count=len(self.left))
        time_slice, outcomes = TimeSlice(), []
        for one in judged:
            outcome = executed[one.key].outcome if one.key in executed else self._unwritten(one)
            if one.key in self.left:
                outcome = replace(outcome, acting="observe", refusal=NO_TIME)
            self.judge.remember(outcome)
            outcomes.append(outcome)
            if time_slice.is_due():
                await time_slice.take()
        return outcomes, [posted for each in executed.values() for posted in each.reported]

    async def _edit_hpas(self, outcomes: list[Outcome], is_time: IsTime) -> tuple[list[Outcome], list[PostedEvent]]:
        """Write the HPAs of Tortoises; the outcomes with what was not written, and the events of the results."""
        results: dict[Key, Done] = {}

        async def write(one: HpaWrite) -> PostedEvent | None:
            done = await self.actor.write(one.request)
            if one.outcome is not None:
                results[one.outcome.key] = done
            return one.posted(done)

        writes = hpa_writes(outcomes, self.watches, self.errors)
        events = await write_in_time(writes, write, CHILDREN_AT_ONCE, is_time)
        return [edited(one, results.get(one.key)) for one in outcomes], [each for each in events if each is not None]

    def _look_back(
        self, outcomes: list[Outcome], histories: Mapping[Key, HistoryResult], now: float
    ) -> list[PostedEvent]:
        """Ask for the history of new Tortoises, and return the events of the answers to earlier questions."""
        self.backfill.look([one for one in outcomes if self.watches.is_opted_in(one.key[1])], now)
        answered = [(one, histories[one.key]) for one in outcomes if one.key in histories and one.acting == "act"]
        return [
            PostedEvent(subject_of(one), history_failed(message) if failed else history_read(message))
            for one, (message, failed) in answered
        ]

    def _unwritten(self, judged: Judged) -> Outcome:
        """The outcome of a move without writes."""
        try:
            return without_writes(judged, self.config.settings)
        except Exception as caught:  # noqa: BLE001  the others are still reported
            error = self.errors.add(judged.key, "report", caught, self.clocks.boot())
            return without_report(judged, str(error))

    def may_shrink(self) -> bool:
        """Whether new pods may start smaller than their manifest says: no recent cold start or clock jump."""
        window, now = self.config.settings.downscale_window, self.clocks.boot()
        starts = self.cold_since, self.lost_since, self.clocks.jumped_at
        return all(at is None or now - at >= window for at in starts)

    async def _save(self, now: float, boot: float) -> None:
        """Save what changed and must survive a restart; the rest, such as usage, has its turn."""
        due = self.shards.due(boot)
        entries = await self._decided(lambda key: self.judge.entry(key, renewed=due("/".join(key))))
        await self._write({**entries, **await self.history.entries(now, due)})

    async def _decided(self, entry_of: Callable[[Key], Mapping[str, object]]) -> dict[str, Mapping[str, object]]:
        """The entries of all autoscalers; one that cannot be made stays as it was saved last."""
        entries, time_slice = {}, TimeSlice()
        for key in self.judge.states:
            try:
                entry: Mapping[str, object] | None = entry_of(key)
            except Exception as error:  # noqa: BLE001  the others are still saved
                self.errors.add(key, "save", error)
                entry = self.judge.saved(key)
            if entry is not None:
                entries["/".join(key)] = entry
            if time_slice.is_due():
                await time_slice.take()
        return entries

    async def _write(self, entries: dict[str, Mapping[str, object] | bytes]) -> None:
        """Write these entries and those of the controller itself, and log what could not be written."""
        entries[GOVERNOR] = self.judge.governor.to_dict()
        if self.cold:
            entries[COLD] = self.cold
        if self.clocks.jumped:
            entries[JUMP] = self.clocks.jumped
        failed, full = await self.shards.save(entries), self.full
        self.full = self.shards.full
        for trouble in [*failed, *[each for each in self.full if each not in full]]:
            log.warning("state not written", error=trouble)
        self.unwritten = len(failed) + len(self.full)
        almost_full = self.shards.used >= ALMOST_FULL
        if almost_full and not self.almost_full:
            log.warning("the state is almost full", used=f"{self.shards.used:.0%}")
        self.almost_full = almost_full


def _key(text: str) -> Key:
    kind, namespace, name = text.split("/", 2)
    return kind, namespace, name


def _remembered(entry: Mapping[str, object]) -> Remembered | None:
    try:
        return Remembered.from_dict(entry)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        log.warning("state", note=f"a state entry cannot be read: {error!r}")
        return None


def _since(entry: Mapping[str, object] | None, now: float) -> float | None:
    """When hypot started without state, or the clock jumped; None if that is long past.

    A time in the future counts as now.
    """
    since = (entry or {}).get("since")
    if not isinstance(since, float | int) or not now - since < LONGEST_COLD:
        return None
    return min(float(since), now)


def _governor(entry: Mapping[str, object] | None) -> Governor:
    try:
        return Governor() if entry is None else Governor.from_dict(entry)
    except (KeyError, TypeError, ValueError, AttributeError):
        return Governor()
