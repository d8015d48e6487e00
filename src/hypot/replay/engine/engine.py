"""The plain engine: replays one policy on one workload, tick by tick."""

from array import array
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import numpy as np

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Ref
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.hvpa import Hvpa, hpa_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa.allowed import allowed
from hypot.policy.families import family_of
from hypot.policy.model.seen import metric_key
from hypot.policy.model.settings import Settings
from hypot.policy.vertical.resize import RESIZES
from hypot.replay.engine.deciders import NEVER, Decider, Scene
from hypot.replay.engine.demand import Load, gaps_in
from hypot.replay.engine.families import deciders_of, has_numbers, prices_of, watch_of
from hypot.replay.engine.observer import Queries, WorldObserver
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.world.cohorts import NONE, SERVING, Cohorts, empty, make_room
from hypot.replay.world.lifecycle import pass_time, scale_to
from hypot.replay.world.parameters import Span, World
from hypot.replay.world.params import Params, params_of
from hypot.replay.world.record import COLUMNS, Run, Ticks
from hypot.replay.world.signals import SIGNALS
from hypot.replay.world.site import Site, new_site
from hypot.replay.world.tick import live_through, next_time

# There is always room for this many more groups of pods: the most that one decision may split off or create.
PLACES = 32
# The age of the first replicas, so that none of them is still starting.
AGE = 86400.0
# How many ticks pass between two progress reports; their rows are then moved to the compact table.
REPORTED = 4096


def replay(
    policy: Policy,
    workload: str,
    load: Load,
    world: World,
    settings: Settings,
    explained: Span = NEVER,
    progress: Callable[[int], None] | None = None,
) -> Run:
    """What would have happened. All decisions in the span `explained` are kept, with their steps."""
    p = params_for(policy, world)
    scene = begin(policy, load, world, p, settings, explained)
    deciders = list(deciders_of(policy, scene, world, load.start))
    rows = run(scene, deciders, load, progress)
    table = np.frombuffer(rows).reshape(-1, COLUMNS).T
    ticks = Ticks(*(np.ascontiguousarray(column) for column in table))
    moments, watch, prices = tuple(scene.moments), watch_of(deciders), prices_of(deciders)
    return Run(policy.name, workload, world, ticks, moments, watch, policy.notes, prices)


def params_for(policy: Policy, world: World) -> Params:
    """The world's numbers for this policy."""
    memory = any(may_decide_by_memory(one) for one in policy.autoscalers)
    restarting = policy.workload.restarts_on_resize
    return params_of(world, merging=merges(policy, world), restarting=restarting, memory_decides=memory)


def merges(policy: Policy, world: World) -> bool:
    """Whether equal groups are merged: only if nothing asks for single pods or their individual history."""
    sizers = [one for one in policy.autoscalers if info_of(one).sizes]
    return not policy.weights and all(
        isinstance(one, Hvpa | Tortoise | WorkloadAutoscaler) and _sizes_alike(one, policy, world) for one in sizers
    )


def _sizes_alike(sizer: Hvpa | Tortoise | WorkloadAutoscaler, policy: Policy, world: World) -> bool:
    """Whether all pods change their cpu together, so that none must restart for it before another."""
    roomy = world.resize.in_place and world.resize.room is None and world.nodes.start is None
    restarts = "cpu" in policy.workload.restarts_on_resize
    sizes_memory = "memory" in allowed(sizer, policy.workload.container).controlled
    return roomy and not restarts and (isinstance(sizer, WorkloadAutoscaler) or not sizes_memory)


def begin(policy: Policy, load: Load, world: World, p: Params, settings: Settings, explained: Span = NEVER) -> Scene:
    """The world at its first moment: all replicas have served the first load for a long time."""
    first, c, start = policy.workload, empty(PLACES, p.slots), load.start
    s = site_of(first, world, start, p)
    scale_to(c, s, p, first.replicas, start)
    for k in range(c.used[0]):
        c.life[k], c.due[k] = SERVING, inf
        c.born[k] = c.started[k] = start - AGE
        c.changed[k] = start - AGE + p.start
    settle(c, s, p, load)
    target = Ref(api_version="apps/v1", kind=first.kind, name=first.name)
    named = () if policy.named_hpa is None else (policy.named_hpa,)
    queries = queries_of((*policy.autoscalers, *named), world, settings)
    observer = WorldObserver(target, first, c, s, p, queries, gaps_in(load, world), start)
    in_place = can_resize(world, settings)
    end = start + len(load.work) * p.tick
    return Scene(c, s, p, observer, settings, first.container, in_place, bool(world.metrics.gaps), explained, end)


def can_resize(world: World, settings: Settings) -> bool:
    """Whether sizes can change in place, in this world and in this version of Kubernetes."""
    return world.resize.in_place and settings.kubernetes >= RESIZES


def settle(c: Cohorts, s: Site, p: Params, load: Load) -> None:
    """Fill the observed past with what the first load would have left; nothing waits and no pod died."""
    limit = c.memory_limit[0]
    c.memory_limit[0] = NONE
    c.heap[0] = p.heap_base
    scratch: list[float] = []
    for i in range(p.slots):
        live_through(c, s, p, scratch, i, load.start, load.work[0], load.efficiency[0], load.memory[0])
        c.backlog[0] = c.late[0] = 0.0
    c.memory_limit[0] = limit
    s.returning[:] = [0.0] * p.retry_ticks


def site_of(first: Start, world: World, start: float, p: Params) -> Site:
    limits = [NONE if limit is None else limit for limit in (first.cpu_limit, first.memory_limit)]
    return new_site(first.replicas, first.cpu, first.memory, limits[0], limits[1], world.nodes.start, start, p)


def queries_of(autoscalers: Sequence[Autoscaler], world: World, settings: Settings) -> Queries:
    """Every custom metric that is asked for, with the signal that the world assigns to it."""
    found = Queries({}, {}, {})
    signals = {name: SIGNALS[signal] for name, signal in world.metrics.names.items()}
    for asked in [family_of(one).questions(one, settings) for one in autoscalers]:
        found.pods.update({metric_key(one.name, one.selector): signals[one.name or ""] for one in asked.pods})
        for one, ref in asked.objects:
            found.objects[metric_key(one.name, one.selector, str(ref))] = signals[one.name or ""]
        found.external.update({metric_key(one.name, one.selector): signals[one.name] for one in asked.external})
    return found


def may_decide_by_memory(autoscaler: Autoscaler) -> bool:
    """Whether memory may change its replicas: by one of its metrics, or if its rules are not known here."""
    return not has_numbers(autoscaler) or any(asks_for_memory(metric) for metric in metrics_of(autoscaler))


def asks_for_memory(metric: Any) -> bool:
    sources = (getattr(metric, name, None) for name in ("resource", "container_resource"))
    return any(source is not None and source.name == "memory" for source in sources)


def metrics_of(autoscaler: Autoscaler) -> tuple[Any, ...]:
    if isinstance(autoscaler, Hvpa):
        return hpa_of(autoscaler).metrics or ()
    listed = getattr(autoscaler, "metrics", None)
    return listed if isinstance(listed, tuple) else ()


def run(scene: Scene, deciders: list[Decider], load: Load, progress: Callable[[int], None] | None) -> "array[float]":
    """Run all ticks; the result has one row per tick, one after the other."""
    c, s, p = scene.c, scene.s, scene.p
    work, efficiency, memory = load.work.tolist(), load.efficiency.tolist(), load.memory.tolist()
    count, tick = len(work), p.tick
    table, rows = array("d"), list[float]()
    due = [load.start + one.every for one in deciders]
    for i in range(count):
        at = load.start + i * tick
        if at >= s.due[0] or c.used[0] > 1:
            pass_time(c, s, p, at)
        live_through(c, s, p, rows, i, at, work[i], efficiency[i], memory[i])
        now = at + tick
        if len(c.count) < c.used[0] + PLACES:
            make_room(c, p.slots, 2 * c.used[0] + PLACES)
        for n, one in enumerate(deciders):
            if now >= due[n]:
                due[n] = next_time(now, due[n], one.every)
                one.step(scene, i, now)
        if (i + 1) % REPORTED == 0:
            table.extend(rows)
            rows.clear()
            if progress is not None:
                progress(REPORTED)
    table.extend(rows)
    if progress is not None:
        progress(count % REPORTED)
    return table
