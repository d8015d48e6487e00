"""An Autoscaler in the simulated world."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hypot.core.bank.rule import AutoscalerPast, nothing_learned
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.policy.decide import decide
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.state import State
from hypot.replay.engine.acting import size_of
from hypot.replay.engine.deciders import DisagreementError, Scene, with_restarts
from hypot.replay.numbers.autoscaler import AutoscalerNumbers, autoscaler_act, autoscaler_step, is_held
from hypot.replay.numbers.hvpa import HvpaPast, no_hvpa_past
from hypot.replay.numbers.plan import NumericPlan, no_plan, pursue_plan
from hypot.replay.numbers.price_record import WIDTH, PriceRecord, no_prices, record_prices
from hypot.replay.world.record import Floats, Moment, RulePrices


@dataclass(slots=True)
class AutoscalerDecider:
    """An Autoscaler that uses plain numbers; it makes the full decision only where one is recorded."""

    autoscaler: WorkloadAutoscaler
    numbers: AutoscalerNumbers
    every: float
    past: AutoscalerPast = field(default_factory=nothing_learned)
    columns: HvpaPast = field(default_factory=no_hvpa_past)
    plan: NumericPlan = field(default_factory=no_plan)
    priced: PriceRecord = field(default_factory=no_prices)

    def step(self, scene: Scene, i: int, now: float) -> None:
        c, s, p, columns = scene.c, scene.s, scene.p, self.columns
        before = AutoscalerState(self.past).copy()
        changes = autoscaler_step(
            self.numbers, self.past, columns, self.plan, c, s, p, i, now, scene.observer.blind(now)
        )
        record_prices(self.priced, self.past, now)
        moves = changes and self.numbers.acts
        held = is_held(self.numbers, columns, self.plan, moves)
        if (moves and not held) or scene.is_explained(now):
            self._report(scene, i, now, before, moves=changes)
        if held:
            pursue_plan(self.plan, c, s, p, scene.in_place, now)
        elif moves:
            autoscaler_act(columns, self.plan, c, s, p, scene.in_place, now)

    @property
    def prices(self) -> RulePrices:
        return prices_of(self.priced, self.every)

    def _report(self, scene: Scene, i: int, now: float, before: AutoscalerState, *, moves: bool) -> None:
        """Record the full decision, which must agree with the plain numbers."""
        seen = scene.observer.seen(i, now)
        state = with_restarts(State(autoscaler=before), self.plan)
        decision, _ = decide(self.autoscaler, seen, state, scene.settings)
        whole = (decision.desired, size_of(decision.desired_sizes, scene.container))
        numeric = (self.columns.desired[0], (*self.columns.size,))
        if decision.moves != moves or (moves and numeric != whole):
            raise DisagreementError(f"{decision.autoscaler} at {now}: numeric step {numeric}, full decision {whole}")
        scene.moments.append(Moment(now, decision))


def prices_of(record: PriceRecord, step: float) -> RulePrices:
    """The recorded prices as arrays."""
    used = int(record.used[0])

    def rows(column: Any) -> Floats:
        found = np.array(column[: used * WIDTH], np.float64).reshape(used, WIDTH).T
        return np.where(found > 0.0, found, np.nan)

    return RulePrices(step, np.array(record.at[:used], np.float64), rows(record.counts), rows(record.sizes))
