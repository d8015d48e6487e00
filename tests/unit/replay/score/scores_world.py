"""Handmade runs: every column is what a test says, or zero."""

from dataclasses import replace

import numpy as np

from hypot.replay.world.parameters import World
from hypot.replay.world.record import Run, Ticks

GI = 2**30


def column(value, length):
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (length,)).copy()


def ticks(length, tick, **columns):
    given = {"at": np.arange(length) * tick, "efficiency": 1.0, **columns}
    return Ticks(**{name: column(given.get(name, 0.0), length) for name in Ticks._fields})


def world(tick=60.0, **parts):
    """A world of 1-core pods, at least 2; each part is given as the fields in which it differs."""
    plain = World(tick=tick)
    return replace(plain, **{name: replace(getattr(plain, name), **fields) for name, fields in parts.items()})


def run(length, where=None, **columns):
    where = world() if where is None else where
    return Run("hpa-70", "shop", where, ticks(length, where.tick, **columns))


def static(length, replicas, cpu, memory, where=None, **columns):
    """So many pods of one size, all of them serving all the time."""
    fixed = {
        "replicas": replicas,
        "size_cpu": cpu,
        "size_memory": memory,
        "pods": replicas,
        "ready": replicas,
        "cpu": replicas * cpu,
        "memory": replicas * memory,
        "ready_cpu": replicas * cpu,
        "ready_memory": replicas * memory,
        "cap_cpu": replicas * cpu * 1.2,
    }
    return run(length, where, **{**fixed, **columns})
