"""Prints what deciding for Autoscalers costs in the controller: processor time of one decision, and of one reconcile.

Every Autoscaler has priced rules, and usage differs from step to step, so that nothing is skipped because it stays.
There is no API server: its answers come from memory.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import time
from dataclasses import replace

import structlog
from tortoise import PERIOD, Sweep, row, target
from webhook import PODS, Server, metadata

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.policy.families import family_of
from hypot.policy.model.autoscaler_state import AutoscalerState
from hypot.policy.model.state import State

KIND = WorkloadAutoscaler.KIND
# Reconciles until rules are priced and choose, and how many are measured.
WARM, ROUNDS, DECISIONS = 60, 3, 2000
GOAL_MS, GOAL_SECONDS = 7.0, 15.0


def autoscaler(number):
    """It learns and reports."""
    return {"metadata": metadata(f"w{number}", number), "spec": {"targetRef": target(number)}}


class Usage(Server):
    """Pods whose usage wanders."""

    def __init__(self, workloads, pods, wall):
        super().__init__(workloads, pods, wall)
        self.plain, self.drawn, self.nanocores = self.usage, random.Random(7), 140_000_000  # noqa: S311  figures

    async def call(self, request):
        if "metrics.k8s.io" in request.path:
            self.nanocores = min(190_000_000, max(40_000_000, int(self.nanocores * self.drawn.uniform(0.9, 1.1))))
            self.usage = self.plain.replace(b"140000000n", f"{self.nanocores}n".encode())
        return await super().call(request)


async def warmed():
    """The clock and what one Autoscaler knows after a while, and what it last observed."""
    one = Sweep(1, KIND, {KIND: autoscaler}, Usage)
    await one.begin()
    for _ in range(WARM):
        reconciled = await one.reconcile(counts=False)
    (outcome,) = reconciled.outcomes
    assert outcome.state.autoscaler.past.counts.priced[0] > WARM / 2
    return one.clock[0], outcome


def packed_columns(value):
    """The long columns."""
    for part in value:
        if isinstance(part, tuple):
            yield from packed_columns(part)
        elif not isinstance(part, list):
            yield part


def decisions(outcome, settings):
    """Milliseconds of processor time of one decision, the median of many."""
    decide, seen = family_of(outcome.autoscaler).decide, outcome.seen
    state, drawn, taken = State(autoscaler=outcome.state.autoscaler), random.Random(8), []  # noqa: S311  figures
    readable = outcome.autoscaler.readable()
    for _ in range(DECISIONS):
        factor = drawn.uniform(0.9, 1.1)
        samples = {
            name: sample._replace(at=sample.at + PERIOD, containers=tuple(scaled(sample.containers, factor)))
            for name, sample in seen.pod_metrics.items()
        }
        seen = replace(seen, now=seen.now + PERIOD, pod_metrics=samples)
        began = time.process_time()
        _, state = decide(readable, seen, state, settings)
        taken.append(time.process_time() - began)
    return statistics.median(taken) * 1000.0


def scaled(containers, factor):
    """The usage of each container, up to the cap of a pod."""
    for name, amounts in containers:
        yield name, {**amounts, "cpu": min(190_000, max(40_000, int(amounts["cpu"] * factor)))}


async def sweep(count, clock, known):
    many = Sweep(count, KIND, {KIND: autoscaler}, Usage)
    await many.begin()
    many.clock[0] = clock
    states = many.reconciler.judge.states
    for key, each in states.items():
        learned = AutoscalerState(known.past).copy()
        states[key] = replace(each, state=each.state._replace(autoscaler=learned))
    for _ in range(ROUNDS):
        await many.reconcile()
    return statistics.median(many.seconds)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    count = options.parse_args().count
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(open(os.devnull, "w")))  # noqa: PTH123, SIM115
    clock, outcome = asyncio.run(warmed())
    row("what", "measured", "goal")
    known = outcome.state.autoscaler
    row("bytes of one checkpoint", f"{len(json.dumps(known.to_checkpoint()))} B", "4096 B")
    size = sum(column.itemsize * len(column) for column in packed_columns(known.past))
    row("memory of one, in packed columns", f"{size / 1024:.0f} KiB")
    began = time.process_time()
    for _ in range(100):
        known.to_checkpoint()
    row("making it", f"{(time.process_time() - began) * 10.0:.2f} ms")
    settings = Sweep(1, KIND, {KIND: autoscaler}).reconciler.config.settings
    row("one decision, median", f"{decisions(outcome, settings):.2f} ms", f"{GOAL_MS:.0f} ms")
    row(
        f"one reconcile of {count:,} Autoscalers, {PODS} pods each",
        f"{asyncio.run(sweep(count, clock, known)):.2f} s",
        f"{GOAL_SECONDS:.0f} s",
    )


if __name__ == "__main__":
    sys.exit(main())
