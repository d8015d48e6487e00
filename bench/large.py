"""Prints what 20,000 Hvpas with 60,000 pods cost one controller: memory, processor time and writes per minute.

Nothing changes but the usage that is measured. There is no API server: its answers come from memory, so the figures are
hypot's own. Reconciles follow each other at once, and the clock of the controller moves by a period of 15 s.
"""

import argparse
import asyncio
import resource
import statistics
import sys
import time
from collections import Counter

import msgspec
import structlog
from webhook import KIND, Server, filled, hvpa, reconciler_of

from hypot.cluster.port import Answer
from hypot.run.config import RunConfig
from hypot.run.garbage import collect_seldom
from hypot.run.reconcile import Clocks

PODS, PERIOD = 3, 15.0
# The first reconciles write every status.
FIRST = 2
WRITES = ("configmaps", "checkpoints", "status")


class Writable(Server):
    """Also counts writes, and keeps the statuses, as watches would report them."""

    def __init__(self, count, wall):
        super().__init__(count, PODS, wall)
        self.writes, self.reflector = Counter(), None

    async def call(self, request):
        if not request.writes:
            return await super().call(request)
        version = str(self.writes.total())
        self.writes[next((what for what in WRITES if what in request.path), "others")] += 1
        if request.path.endswith("/status"):
            *_, namespace, _, name, _ = request.path.split("/")
            thing = hvpa(int(name.removeprefix("w")))
            thing["status"] = msgspec.json.decode(request.body)["status"]
            thing["metadata"]["resourceVersion"] = version
            self.reflector.rows[namespace, name] = self.reflector._keep(thing)  # noqa: SLF001  as a watch would
        return Answer(200, msgspec.json.encode({"metadata": {"name": "x", "resourceVersion": version}}))


def resident_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def row(name, figure):
    print(f"{name:<62} {figure:>14}")


async def run(count, times):
    clock = [time.time()]
    config = RunConfig.from_dict({"optIn": "all", "kinds": {KIND: "act"}})
    port = Writable(count, lambda: clock[0])
    watches = filled(port, config, count, PODS)
    port.reflector = watches.autoscalers[KIND].reflectors[0]
    reconciler = reconciler_of(port, watches, config, Clocks(lambda: clock[0], lambda: clock[0]))
    await reconciler.resume()
    tidy = asyncio.ensure_future(collect_seldom())
    row("what", "measured")
    row(f"resident with {count:,} Hvpas and {count * PODS:,} pods, before", f"{resident_mb():.0f} MB")
    took = []
    for number in range(FIRST + times):
        if number == FIRST:
            port.writes.clear()
        began = time.process_time()
        done = await reconciler.reconcile()
        assert len(done.outcomes) == count
        took.append(time.process_time() - began)
        clock[0] += PERIOD
    tidy.cancel()
    row("resident at most", f"{resident_mb():.0f} MB")
    row("processor time of a reconcile, median", f"{statistics.median(took[FIRST:]):.1f} s")
    for what in (*WRITES, "others"):
        row(f"writes per minute: {what}", f"{port.writes[what] / times * 60 / PERIOD:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--reconciles", type=int, default=4, help="measured reconciles")
    arguments = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(run(arguments.objects, arguments.reconciles))
