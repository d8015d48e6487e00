"""The compiled engine, for many workloads: the functions of the plain engine, compiled by numba.

A compiled function cannot call a plain one, so every module is rebuilt with compiled functions instead of plain ones.
No rule is written twice. Compiled code is cached on disk, in a folder named by a hash of all these sources, because
numba itself checks only the file that contains a function.
"""

import atexit
import hashlib
import inspect
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from enum import Enum
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numba
import numpy as np

from hypot.core import (
    amount,
    bounds,
    decay,
    disruption,
    estimate,
    fate,
    fit,
    gate,
    interval,
    ratio,
    readiness,
    saturation,
    timeofday,
    watermark,
    window,
)
from hypot.policy.model.settings import Settings
from hypot.replay.engine.demand import Load
from hypot.replay.fleet import loops as fleet_loops
from hypot.replay.fleet import rows as fleet_rows
from hypot.replay.fleet.cases import EXAMPLES, example, prepared, rules_for
from hypot.replay.fleet.records import NotCoveredError, TooLargeError
from hypot.replay.fleet.rows import TallyRows
from hypot.replay.numbers import hpa, hvpa, hvpa_resolve, past, plan, usage, vpa, wpa
from hypot.replay.policies.policy import Policy
from hypot.replay.score import tally
from hypot.replay.score.columns import sum_in_turn
from hypot.replay.score.oracle import Reference, reference
from hypot.replay.score.tally import Account
from hypot.replay.world import cohorts, lifecycle, service, signals, tick
from hypot.replay.world.parameters import World
from hypot.replay.world.record import COLUMNS, Run, Ticks

# The loop over stored rows, for runs that are scored in parts.
COUNTING = tally.count_loop.__name__
# Marks loops that are compiled completely.
DONE = "complete"
# The loops that this process has compiled or found in the cache.
_HERE: set[str] = set()
# The environment variable that names the folder of compiled code for child processes.
COPY = "HYPOT_FLEET_COPY"
# Freeing a block of this many numbers once makes malloc keep such memory. Otherwise the columns of every run would be
# requested from the system again, page by page.
FREED = 4_000_000
# Compiled code of other versions is deleted after this many seconds without use.
UNUSED = 30 * 86400.0
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
    fleet_loops,
)
# Functions with another compiled form: copying, 64-bit integers, and one amount instead of many.
_INSTEAD: dict[Any, Any] = {
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
_PLAIN_ONLY: set[Any] = {
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
    plan.no_plan,
    vpa.no_advice,
    usage.new_usage,
    decay.new_decaying,
}
# Functions on the path of every tick that the compiler would not inline by itself.
_INLINED: set[Any] = {
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
    """Changes with everything that is compiled, with this module, with numba and Python, and with the location."""
    about = [
        numba.__version__,
        sys.version,
        str(Path(__file__).resolve().parent),
        inspect.getsource(sys.modules[__name__]),
    ]
    about += [part for module in modules for part in (inspect.getsource(module), *constants_of(module))]
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


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hypot" / f"fleet-{source_hash()}"


def is_compiled(loops: Iterable[str] = EXAMPLES) -> bool:
    """Whether an earlier run has left compiled code of all these loops."""
    return all((cache_folder() / f"{loop}.{DONE}").exists() for loop in loops)


def built(modules: Iterable[ModuleType] = MODULES) -> dict[Any, Any]:
    """The compiled form of every function of these modules; each is compiled when it is first called."""
    made: dict[Any, Any] = {}
    for module in modules:
        names = dict(vars(module))
        for name, value in list(names.items()):
            if not isinstance(value, FunctionType) or value in _PLAIN_ONLY:
                continue
            chosen = _INSTEAD.get(value, value)
            if chosen not in made and (chosen is not value or value.__module__ == module.__name__):
                made[chosen] = _compiled(chosen, names if chosen is value else {})
            names[name] = made.get(chosen, value)
    return made


def _compiled(plain: FunctionType, names: dict[str, Any]) -> Any:
    """Without reference counting: the compiled code allocates nothing, and the caller owns all memory.

    Python calls only loops, so other functions get no Python wrapper, which saves a quarter of the compile time.
    """
    twin = FunctionType(plain.__code__, names or plain.__globals__, plain.__name__, plain.__defaults__)
    twin.__module__ = plain.__module__
    compiling: Any = numba.njit
    within = not plain.__name__.endswith("_loop")
    made = compiling(
        twin,
        nogil=True,
        cache=True,
        error_model="numpy",
        _nrt=False,
        forceinline=plain in _INLINED,
        no_cpython_wrapper=within,
        no_cfunc_wrapper=within,
    )
    made.get_call_template = partial(_call_of_any_number, made.get_call_template)
    return made


def _call_of_any_number(template: Any, given: Iterable[Any], named: dict[str, Any]) -> Any:
    """Ignores literal types; otherwise each literal number, such as an initial 0, would compile another version."""
    plain: Any = numba.types.unliteral
    return template(tuple(plain(one) for one in given), {name: plain(one) for name, one in named.items()})


@cache
def _functions() -> dict[Any, Any]:
    config: Any = numba.config
    config.CACHE_DIR = str(_kept_in(cache_folder()))
    np.empty(FREED)
    return built()


def _kept_in(folder: Path) -> Path:
    """The folder for compiled code: this one, or if it is not writable a temporary copy for this process."""
    if os.environ.get(COPY):
        return Path(os.environ[COPY])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)
    except OSError:
        return _copied(folder)
    for other in folder.parent.glob("fleet-*"):
        if time.time() - other.stat().st_mtime > UNUSED:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _copied(folder: Path) -> Path:
    """A temporary copy; child processes find it through the environment."""
    copy = Path(tempfile.mkdtemp(prefix="hypot-fleet-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    if folder.is_dir():
        shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for one in (copy, *copy.rglob("*/")):
            one.chmod(0o700)
    os.environ[COPY] = str(copy)
    return copy


def loops_of(policies: Iterable[Policy], world: World, settings: Settings) -> set[str]:
    """The names of the loops that replay these policies; empty if none can."""
    found = set()
    for policy in policies:
        with suppress(NotCoveredError):
            found.add(rules_for(policy, world, settings).loop.__name__)
    if found and (world.scoring.tune or world.scoring.windows > 1):
        found.add(COUNTING)
    return found


def warm(loops: Iterable[str] = EXAMPLES) -> None:
    """Compile these now, so that processes that start later find them on disk."""
    for loop in loops:
        with _hearing_interrupts():
            _compile(loop)
        with suppress(OSError):
            (cache_folder() / f"{loop}.{DONE}").touch()


def _compile_once(loop: str) -> None:
    """If several processes need the same loop at once, one compiles it and the others wait."""
    if loop in _HERE:
        return
    _HERE.add(loop)
    if is_compiled([loop]):
        return
    with _alone():
        if not is_compiled([loop]):
            warm([loop])


@contextmanager
def _alone() -> Iterator[None]:
    """Excludes other processes; where locking is not possible, each process compiles for itself."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            fcntl = import_module("fcntl")
            cache_folder().mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context((cache_folder() / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def _hearing_interrupts() -> Iterator[None]:
    """Python ignores a KeyboardInterrupt in a callback from LLVM, and compilation then fails; this raises it again."""
    before, came = sys.unraisablehook, list[Any]()
    sys.unraisablehook = lambda what: came.append(what) if what.exc_type is KeyboardInterrupt else before(what)
    try:
        yield
    except RuntimeError as error:
        if came:
            raise KeyboardInterrupt from error
        raise
    finally:
        sys.unraisablehook = before
    if came:
        raise KeyboardInterrupt


def _compile(loop: str) -> None:
    """Compile by a run of two ticks: the code is the same for every world and settings."""
    load, world = Load(0.0, np.ones(2), np.ones(2), np.zeros(2)), World()
    if loop == COUNTING:
        ticks = Ticks(*np.zeros((COLUMNS, len(load.work))))
        account_of(Run("warm", "web", world, ticks), reference(load.work, load.efficiency, world))
    else:
        replay(example(loop), "web", load, world, Settings())


def covers(policy: Policy, world: World, settings: Settings) -> bool:
    """Whether the compiled engine can replay this: the numeric step covers everything, and the state fits."""
    try:
        prepared(policy, Load(0.0, np.ones(1), np.ones(1), np.zeros(1)), world, settings)
    except NotCoveredError:
        return False
    return True


def replay(policy: Policy, workload: str, load: Load, world: World, settings: Settings) -> Run:
    """Like `engine.replay`, without recording decisions. Raises NotCoveredError if it cannot."""
    ticks = len(load.work)
    rows = TallyRows(ticks, 0, world, np.empty(0), np.empty(0), keep=True)
    _run(policy, workload, load, world, settings, rows)
    return Run(policy.name, workload, world, Ticks(*rows.columns), notes=policy.notes)


def account(
    policy: Policy, workload: str, load: Load, world: World, settings: Settings, first: int, against: Reference
) -> Account:
    """The account of such a run from the tick `first` on; keeps no rows."""
    rows = TallyRows(first, len(load.work) - first, world, against.demand, against.total, keep=False)
    _run(policy, workload, load, world, settings, rows)
    return rows.account()


def account_of(run: Run, against: Reference) -> Account:
    """Like `scores.account_of`."""
    rows = TallyRows(0, len(run.ticks.at), run.world, against.demand, against.total, keep=False)
    rows.tally["sums"][:] = [sum_in_turn(column) for column in run.ticks]
    table = np.stack(run.ticks, axis=1)
    _compile_once(COUNTING)
    _functions()[tally.count_loop](rows.tally, rows.terms, rows.kept, table, rows.demand, rows.bought)
    return rows.account()


def _run(policy: Policy, workload: str, load: Load, world: World, settings: Settings, rows: TallyRows) -> None:
    ready = prepared(policy, load, world, settings)
    _compile_once(ready.loop.__name__)
    given = tuple([np.ascontiguousarray(column) for column in (load.work, load.efficiency, load.memory)])
    if not _functions()[ready.loop](*ready.records, rows.given, given, *ready.arguments):
        raise TooLargeError(f"{policy.name} on {workload}: exceeds the capacity of the compiled engine")
    rows.finish(len(load.work))
