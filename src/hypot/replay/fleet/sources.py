"""What is compiled: the functions of the plain engine, and a hash of everything that the compiled code depends on."""

import hashlib
import sys
from enum import Enum
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from hypot.core import amount, timeofday
from hypot.core.axes import gate, interval, saturation, shape
from hypot.core.bank import bank, forecasts, lateness, learn, memory, need, observed, reach, rule, season
from hypot.core.bank import decide as bank_decide
from hypot.core.learning import bounds as hpa_bounds
from hypot.core.learning import needs, phases, slots, target
from hypot.core.replicas import bounds, ratio, readiness, watermark, window
from hypot.core.sizes import disruption, fate, fit, right_size
from hypot.core.usage import decay, estimate
from hypot.replay.fleet import loops as fleet_loops
from hypot.replay.fleet import rows as fleet_rows
from hypot.replay.numbers import (
    autoscaler,
    hpa,
    hvpa,
    hvpa_resolve,
    past,
    plan,
    price_record,
    tortoise,
    tortoise_hpa,
    usage,
    vpa,
    wpa,
)
from hypot.replay.score import tally
from hypot.replay.world import cohorts, lifecycle, service, signals, tick

# Raises a ModuleNotFoundError without numba.
_NUMBA = version("numba")
_CONSTANTS = (bool, int, float, str, tuple, type(None), np.ndarray, np.generic)
# In import order.
MODULES: tuple[ModuleType, ...] = (
    amount,
    ratio,
    window,
    bounds,
    watermark,
    readiness,
    timeofday,
    gate,
    disruption,
    fate,
    saturation,
    fit,
    interval,
    right_size,
    shape,
    slots,
    target,
    needs,
    phases,
    hpa_bounds,
    lateness,
    need,
    season,
    forecasts,
    bank,
    rule,
    observed,
    reach,
    memory,
    learn,
    bank_decide,
    estimate,
    decay,
    service,
    tally,
    fleet_rows,
    cohorts,
    lifecycle,
    tick,
    signals,
    past,
    usage,
    plan,
    hpa,
    wpa,
    vpa,
    hvpa_resolve,
    hvpa,
    tortoise,
    tortoise_hpa,
    price_record,
    autoscaler,
    fleet_loops,
)
# Functions with another compiled form: copying, 64-bit integers, and one amount instead of many.
INSTEAD: dict[Any, Any] = {
    tick.keep: fleet_rows.take_row,
    cohorts.has_place: fleet_loops.fits_already,
    fit.times_over: fleet_loops.times_over_in_64_bits,
    estimate.whole: amount.from_float,
    estimate.with_confidence: amount.scale,
    estimate.widening: estimate.widening_of_one,
    estimate.larger: fleet_loops.larger,
    estimate.smaller: fleet_loops.smaller,
}
# Only plain Python calls these.
PLAIN_ONLY: set[Any] = {
    tally.terms_of,
    tally.no_tally,
    tally.room_for,
    tally.finish,
    cohorts.empty,
    cohorts.make_room,
    past.no_past,
    hpa.past_for,
    wpa.no_marks,
    hvpa_resolve.no_hvpa_past,
    tortoise.no_tortoise_past,
    plan.no_plan,
    price_record.no_prices,
    vpa.no_advice,
    usage.new_usage,
    bank.new_bank,
    rule.nothing_learned,
    season.new_season,
    decay.new_decaying,
}
# Functions on the path of every tick that the compiler would not inline by itself.
INLINED: set[Any] = {
    ratio.count_by_utilization,
    watermark.count_in_band,
    tick.live_through,
    tick.serve,
    tick.heap_after,
    tick.latency_of,
    tick.write_down,
    fleet_rows.take_row,
    tally.count,
    tally.compare,
    fleet_loops.one_tick,
    fleet_loops.look_at_count,
    signals.seen_mean,
    signals.cpu_sample,
    decay.put,
    decay.percentiles,
    usage.advise,
    usage.recommend,
    usage.observe,
    hvpa.hvpa_step,
    hvpa.ask_metrics,
    hvpa.ask_usage,
    hvpa.detect_saturation,
    hvpa.record_current_size,
    hvpa_resolve.resolve,
    hvpa_resolve.settle,
    hvpa_resolve.gate_of,
    hpa.hpa_step,
    hpa.propose,
    hpa.propose_by_pods,
    hpa.restrain,
    wpa.wpa_step,
    wpa.look,
    wpa.read,
    wpa.sampled_use,
}


@cache
def source_hash(modules: tuple[ModuleType, ...] = MODULES) -> str:
    """Changes with everything that is compiled, with this package, numba, Python and the processor."""
    own = Path(__file__).resolve().parent
    about = [_NUMBA, sys.version, str(own), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    files = [*sorted(own.glob("*.py")), *(Path(str(module.__file__)) for module in modules)]
    about += [file.read_text() for file in files]
    about += [part for module in modules for part in constants_of(module)]
    return hashlib.sha256("\0".join(about).encode()).hexdigest()[:16]


def constants_of(module: ModuleType) -> list[str]:
    """The values of a module's globals that numba compiles in, wherever they were imported from."""
    found = []
    for name, value in sorted(vars(module).items()):
        if name.startswith("__"):
            continue
        if isinstance(value, _CONSTANTS):
            found.append(f"{name}={value!r}")
        elif isinstance(value, type) and issubclass(value, Enum):
            found.append(f"{name}={list(value)!r}")
        elif isinstance(value, type) and issubclass(value, tuple):
            found.append(f"{name}={getattr(value, '_fields', ())!r}")
        elif isinstance(value, ModuleType) and value.__name__.startswith("hypot."):
            found += constants_of(value)
    return found
