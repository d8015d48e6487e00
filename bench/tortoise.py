"""Prints what one reconcile over 2,000 Tortoises costs, compared with 2,000 Hvpas: processor time, medians of rounds.

Nothing changes but the usage that is measured. There is no API server: its answers come from memory.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import time
from dataclasses import replace

import structlog
from webhook import PODS, SIZE, Server, filled, hvpa, metadata, reconciler_of

from hypot.core.learning.slots import packed
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.policy.model.learned import Learned, SlotLayout
from hypot.policy.model.tortoise_state import TortoiseState
from hypot.run.config import RunConfig, default_kinds
from hypot.run.reconcile import Clocks

PERIOD, WEEKS, ROUNDS, FIRST = 15.0, 4, 5, 3
# After a start without state, nothing scales down for this time.
COLD = 600.0
WEEK = 7 * 86_400.0
GOAL = 1.5


def target(number):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"w{number}"}


def tortoise(number):
    """It makes no moves: its pods have the only size that is allowed."""
    same = {"containerName": "app", "minAllocatedResources": SIZE, "maxAllocatedResources": SIZE}
    spec = {"updateMode": "Auto", "targetRefs": {"scaleTargetRef": target(number)}, "resourcePolicy": [same]}
    return {"metadata": metadata(f"w{number}", number), "spec": spec}


def hpa(number, low=3, high=100):
    aim = {"type": "Utilization", "averageUtilization": 70}
    metric = {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": aim}}
    spec = {"scaleTargetRef": target(number), "minReplicas": low, "maxReplicas": high, "metrics": [metric]}
    return {"metadata": metadata(f"tortoise-hpa-w{number}", number), "spec": spec}


def learned(number, now):
    """Four weeks with another need in each hour of each workload."""
    layout, drawn = SlotLayout(weeks=WEEKS), random.Random(number)  # noqa: S311  figures, not secrets
    table = Learned.begun(layout, "app/cpu", now - WEEKS * WEEK).table()
    for place in range(len(table.codes)):
        table.codes[place] = packed(drawn.randint(400, 1200))
    return Learned(layout, "app/cpu", now - WEEKS * WEEK, table.codes.tobytes())


class Sweep:
    """A controller of one kind, and the processor time of each reconcile."""

    def __init__(self, count, kind, autoscalers, server=Server):
        self.clock = [time.time()]
        port = server(count, PODS, lambda: self.clock[0])
        kinds = {**dict.fromkeys(default_kinds(), "off"), kind: "act"}
        config = RunConfig.from_dict({"optIn": "all", "kinds": kinds})
        self.watches = filled(port, config, count, PODS, autoscalers)
        clocks = Clocks(lambda: self.clock[0], lambda: self.clock[0])
        self.reconciler = reconciler_of(port, self.watches, config, clocks)
        self.seconds = []

    async def reconcile(self, *, counts=True):
        self.clock[0] += PERIOD
        begun = time.process_time()
        reconciled = await self.reconciler.reconcile()
        if counts:
            self.seconds.append(time.process_time() - begun)
        assert all(outcome.decision.decided for outcome in reconciled.outcomes)
        return reconciled

    async def begin(self):
        await self.reconciler.resume()
        self.clock[0] += COLD
        for _ in range(FIRST):
            self.apply(await self.reconcile(counts=False))

    def apply(self, reconciled):
        """The HPAs as they were written, as a watch would report them."""
        for outcome in reconciled.outcomes:
            edit = outcome.decision.hpa
            if edit is not None and outcome.decision.edits:
                number = int(outcome.key[2].removeprefix("w"))
                made = {**hpa(number), "spec": edit.after.to_dict()["spec"]}
                reflector = self.watches.autoscalers[HPA.KIND].reflectors[0]
                place = made["metadata"]["namespace"], made["metadata"]["name"]
                reflector.rows[place] = reflector._keep(made)  # noqa: SLF001  as a watch would

    def teach(self):
        """Let every Tortoise know its weeks."""
        states, now = self.reconciler.judge.states, self.clock[0]
        for key, known in states.items():
            past = TortoiseState(
                (learned(int(key[2].removeprefix("w")), now),),
                "Working",
                {"app/cpu": now - WEEKS * WEEK},
                {"app/cpu": 70},
                now,
                low=3,
            )
            states[key] = replace(known, state=known.state._replace(tortoise=past))


def row(name, figure, goal=""):
    print(f"{name:<62} {figure:>14}   {goal}")


async def compare(count):
    hvpas = Sweep(count, Hvpa.KIND, {Hvpa.KIND: hvpa})
    tortoises = Sweep(count, Tortoise.KIND, {Tortoise.KIND: tortoise, HPA.KIND: hpa})
    await hvpas.begin()
    await tortoises.begin()
    tortoises.teach()
    for _ in range(FIRST):
        tortoises.apply(await tortoises.reconcile(counts=False))
    for _ in range(ROUNDS):
        await hvpas.reconcile()
        reconciled = await tortoises.reconcile()
    assert not any(outcome.decision.edits or outcome.decision.moves for outcome in reconciled.outcomes)
    return hvpas, tortoises


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=2000)
    count = options.parse_args().count
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(open(os.devnull, "w")))  # noqa: PTH123, SIM115
    hvpas, tortoises = asyncio.run(compare(count))
    row("what", "measured", "goal")
    for name, sweep in (("Hvpas", hvpas), ("Tortoises", tortoises)):
        row(f"one reconcile of {count:,} {name}, {PODS} pods each", f"{statistics.median(sweep.seconds):.2f} s")
    ratio = statistics.median(tortoises.seconds) / statistics.median(hvpas.seconds)
    row("Tortoises to Hvpas", f"{ratio:.2f}", f"at most {GOAL}")


if __name__ == "__main__":
    sys.exit(main())
