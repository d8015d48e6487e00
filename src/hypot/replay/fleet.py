"""The compiled engine, for many workloads: the very functions of the plain one, compiled by numba.

A compiled function cannot call a plain one, so every module is rebuilt with compiled names in the place of plain ones;
no rule is written a second time. Compiled code is kept on disk, in a folder that goes by a hash of all these sources:
numba itself looks only at the one file that a function stands in.
"""

import hashlib
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from hypot.core import bounds, ratio, readiness, watermark, window
from hypot.kinds.hpa import HPA
from hypot.kinds.wpa import WPA
from hypot.policy.settings import Settings
from hypot.replay import (
    cohorts,
    fleet_loop,
    lifecycle,
    past,
    quick_hpa,
    quick_wpa,
    rules_hpa,
    rules_wpa,
    service,
    signals,
    tick,
)
from hypot.replay.cohorts import make_room
from hypot.replay.demand import Load
from hypot.replay.engine import asks_for_memory, begin, metrics_of
from hypot.replay.fleet_records import ENTRIES, PLACES, RULES, Sizes, check, record_of
from hypot.replay.params import params_of
from hypot.replay.policy_parts import Policy, Start
from hypot.replay.record import COLUMNS, Run, Ticks
from hypot.replay.world import Metrics, World

# Marks a folder in which everything is there.
DONE = "complete"
_TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
_CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
_BAND = {"name": "cpu", "metricSelector": {}, "highWatermark": "800m", "lowWatermark": "500m"}
_HPA = {"spec": {"scaleTargetRef": _TARGET, "maxReplicas": 2, "metrics": [{"type": "Resource", "resource": _CPU}]}}
_WPA = {"spec": {"scaleTargetRef": _TARGET, "maxReplicas": 2, "metrics": [{"type": "Resource", "resource": _BAND}]}}
# In the order in which they import each other.
MODULES: tuple[ModuleType, ...] = (
    ratio,
    window,
    bounds,
    watermark,
    readiness,
    service,
    cohorts,
    lifecycle,
    tick,
    signals,
    past,
    quick_hpa,
    quick_wpa,
    fleet_loop,
)
# What is written otherwise where it is compiled: nothing but copying.
_INSTEAD: dict[Any, Any] = {tick.clear: fleet_loop.clear_by_one, tick.keep: fleet_loop.keep_in_columns}
# Only Python ever calls these.
_PLAIN_ONLY: set[Any] = {cohorts.empty, cohorts.make_room, past.no_past, quick_hpa.past_for, quick_wpa.no_marks}


def source_hash(modules: Iterable[ModuleType] = MODULES) -> str:
    """Changes with any of the sources, and with numba."""
    sources = [inspect.getsource(module) for module in modules]
    return hashlib.sha256("\0".join([numba.__version__, sys.version, *sources]).encode()).hexdigest()[:16]


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hypot" / f"fleet-{source_hash()}"


def is_compiled() -> bool:
    """Whether an earlier run has left compiled code."""
    return (cache_folder() / DONE).exists()


def built(modules: Iterable[ModuleType] = MODULES) -> dict[Any, Any]:
    """From every function of these modules to its compiled form; each is compiled when it is first called."""
    made: dict[Any, Any] = {plain: _compiled(instead, {}) for plain, instead in _INSTEAD.items()}
    for module in modules:
        names = dict(vars(module))
        for name, value in list(names.items()):
            if not isinstance(value, FunctionType) or value in _PLAIN_ONLY:
                continue
            if value not in made and value.__module__ == module.__name__:
                made[value] = _compiled(value, names)
            names[name] = made.get(value, value)
    return made


def _compiled(plain: FunctionType, names: dict[str, Any]) -> Any:
    """No reference is counted: nothing is allocated in there, and who calls holds all the memory."""
    twin = FunctionType(plain.__code__, names or plain.__globals__, plain.__name__, plain.__defaults__)
    twin.__module__ = plain.__module__
    compiling: Any = numba.njit
    return compiling(twin, nogil=True, cache=True, error_model="numpy", _nrt=False)


@cache
def _functions() -> dict[Any, Any]:
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        # Compiled anew each time, then; nothing else hangs on it.
        folder = Path(tempfile.mkdtemp(prefix="hypot-fleet-"))
    config: Any = numba.config
    config.CACHE_DIR = str(folder)
    return built()


def warm(world: World, settings: Settings) -> None:
    """Compile everything now, so that processes which start later find it on disk."""
    first = Start("web", 1, "web", 1000, 2**30, None, None)
    load = Load(0.0, np.ones(2), np.ones(2), np.zeros(2))
    for autoscaler in (None, HPA.from_dict(_HPA), WPA.from_dict(_WPA)):
        policy = Policy("warm", () if autoscaler is None else (autoscaler,), first)
        replay(policy, "web", load, replace(world, metrics=Metrics()), settings)
    with suppress(OSError):
        (cache_folder() / DONE).touch()


def covers(policy: Policy, world: World, settings: Settings) -> bool:
    """Whether the compiled engine can replay this: one horizontal autoscaler that its quick step covers, or none."""
    try:
        _prepared(policy, Load(0.0, np.ones(1), np.ones(1), np.zeros(1)), world, settings)
    except ValueError:
        return False
    return True


def replay(policy: Policy, workload: str, load: Load, world: World, settings: Settings) -> Run:
    """As `engine.replay` does, without telling any decision. Raises ValueError where it cannot."""
    loop, rule, memory, state, params = _prepared(policy, load, world, settings)
    c, s = state
    count = len(load.work)
    rows = np.empty((COLUMNS, count))
    given = np.stack([load.work, load.efficiency, load.memory], axis=1)
    gaps = np.array(world.metrics.gaps, np.float64).reshape(-1, 2)
    run = _functions()[loop]
    own = () if rule is None else (rule, memory)
    ends = (load.start,) if rule is None else (gaps, load.start, settings.sync_period)
    if not run(*own, c, s, params, rows, given, *ends):
        raise ValueError(
            f"{policy.name} on {workload}: more groups of pods at once than the compiled engine has room for"
        )
    return Run(policy.name, workload, world, Ticks(*rows), notes=policy.notes)


_Prepared = tuple[Callable[..., bool], Any, Any, tuple[Any, Any], Any]


def _prepared(policy: Policy, load: Load, world: World, settings: Settings) -> _Prepared:
    """The loop that fits, and everything that it works on as records."""
    memory = any(asks_for_memory(metric) for one in policy.autoscalers for metric in metrics_of(one))
    restarting = policy.workload.restarts_on_resize
    p = params_of(world, merging=True, restarting=restarting, memory_decides=memory)
    loop, rule, past_or_marks = _mind(policy, world, settings)
    most = policy.workload.replicas if rule is None else max(rule.high, policy.workload.replicas)
    first = policy.workload
    entries = 0 if rule is None or isinstance(rule, quick_wpa.WpaRule) else len(past_or_marks.values)
    check(
        p.slots,
        p.retry_ticks,
        _rules(rule),
        entries,
        Sizes(2 * most, first.cpu, max(first.memory, first.memory_limit or 0)),
    )
    scene = begin(policy, load, world, p, settings)
    make_room(scene.c, p.slots, PLACES)
    records = (record_of(scene.c, PLACES), record_of(scene.s, 1))
    if rule is None:
        return loop, None, None, records, record_of(p, 1)
    return loop, record_of(rule, RULES), record_of(past_or_marks, _places(rule)), records, record_of(p, 1)


def _places(rule: Any) -> int:
    return RULES if isinstance(rule, quick_wpa.WpaRule) else ENTRIES


def _rules(rule: Any) -> int:
    if rule is None:
        return 0
    if isinstance(rule, quick_wpa.WpaRule):
        return int(rule.metrics)
    return int(max(rule.metrics, rule.pace_up.policies, rule.pace_down.policies))


def _mind(policy: Policy, world: World, settings: Settings) -> tuple[Callable[..., bool], Any, Any]:
    names = world.metrics.names
    if not policy.autoscalers:
        return fleet_loop.static_loop, None, None
    if len(policy.autoscalers) == 1 and isinstance(policy.autoscalers[0], HPA):
        rule = rules_hpa.rule_of(policy.autoscalers[0], names, settings)
        if rule is not None:
            return fleet_loop.hpa_loop, rule, quick_hpa.past_for(rule, settings.sync_period)
    if len(policy.autoscalers) == 1 and isinstance(policy.autoscalers[0], WPA):
        marks = rules_wpa.rule_of(policy.autoscalers[0], names)
        if marks is not None:
            return fleet_loop.wpa_loop, marks, quick_wpa.no_marks(marks.metrics)
    raise ValueError(f"{policy.name} is replayed by the plain engine only")


__all__ = ["MODULES", "built", "cache_folder", "covers", "is_compiled", "replay", "source_hash", "warm"]
