"""Prints what 20,000 Hvpas with 60,000 pods cost one controller: memory, processor time and writes per minute.

First only the time of the measured usage changes; then every Hvpa changes before each reconcile. There is no API
server: its answers come from memory, so the figures are hypot's own. Reconciles follow each other at once, and the
clock of the controller moves by a period of 15 s.
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
from hypot.run.reconcile import Clocks
from hypot.serving.garbage import collect_seldom

PODS, PERIOD = 3, 15.0
# The first reconciles write every status.
FIRST = 2
# Reconciles after every Hvpa changed.
CHANGES = 2
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

    def change_all(self, version):
        """Give every autoscaler a new version, as if someone had edited its metadata."""
        rows = self.reflector.rows
        for place, before in list(rows.items()):
            metadata = {**before.data["metadata"], "resourceVersion": version}
            rows[place] = self.reflector._keep({**before.data, "metadata": metadata})  # noqa: SLF001  as a watch would


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
    took, changed = [], []
    for number in range(FIRST + times + CHANGES):
        if number == FIRST:
            port.writes.clear()
        if number == FIRST + times:
            writes, steady = Counter(port.writes), resident_mb()
        began = time.process_time()
        if number >= FIRST + times:
            port.change_all(f"changed-{number}")
        done = await reconciler.reconcile()
        assert len(done.outcomes) == count
        (took if number < FIRST + times else changed).append(time.process_time() - began)
        clock[0] += PERIOD
    tidy.cancel()
    row("resident at most", f"{steady:.0f} MB")
    row("resident at most, with changes", f"{resident_mb():.0f} MB")
    for what, seconds in (("", took[FIRST:]), (" after all Hvpas changed", changed)):
        middle = statistics.median(seconds)
        row(f"processor time of a reconcile{what}, median", f"{middle:.1f} s")
        row(f"processor time per Hvpa{what}", f"{1000 * middle / count:.2f} ms")
    for what in (*WRITES, "others"):
        row(f"writes per minute: {what}", f"{writes[what] / times * 60 / PERIOD:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--reconciles", type=int, default=4, help="measured reconciles")
    arguments = parser.parse_args()
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    asyncio.run(run(arguments.objects, arguments.reconciles))
