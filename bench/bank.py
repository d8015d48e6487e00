"""Prints the speed and memory of the histograms: adding samples, estimating sizes. Medians of several rounds."""

import resource
import statistics
import time

import numpy as np

from hypot.core.amount import CPU, MEMORY
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.usage.usage import Usage

CONTAINERS = 100_000
NAMES = ("app", "proxy")
NOW = 1_800_000_000.0
MINUTE, HOUR = 60.0, 3600.0
ROUNDS = 9


def median_seconds(work, rounds=ROUNDS):
    """Processor time of one core, so that a busy machine does not distort the figure."""
    taken = []
    for turn in range(rounds):
        start = time.process_time()
        work(turn)
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def declared(usage, knobs):
    """One pod with two containers for each owner."""
    instances = []
    for number in range(CONTAINERS // len(NAMES)):
        owner, pod = ("shop", f"web-{number}"), f"web-{number}-5d9c7b9f4-x2x7q"
        instances += [usage.instance(usage.declare(owner, name, knobs, NOW), pod) for name in NAMES]
    return np.array(instances)


class Load:
    """Usage around a level that differs per container: a few millicores to tens of cores, and memory to match."""

    def __init__(self):
        self.random = np.random.default_rng(4)
        self.cpu = self.random.lognormal(5.5, 1.5, CONTAINERS)
        self.memory = self.random.lognormal(20.0, 1.2, CONTAINERS)

    def sample(self):
        spread = self.random.lognormal(0.0, 0.4, (2, CONTAINERS))
        return self.cpu * spread[0], self.memory * spread[1]


def fold_seconds(usage, instances, load):
    """With warm histograms: each has samples already. The samples are made beforehand, as a client passes them in."""
    for turn in range(20):
        usage.fold(instances, NOW - 3 * HOUR * (20 - turn), *load.sample())
    samples = [load.sample() for _ in range(2)]

    def work(turn):
        folded = usage.fold(instances, NOW + turn * MINUTE, *samples[turn % len(samples)])
        assert folded.cpu.all()
        assert folded.memory.all()

    return median_seconds(work)


def window_seconds(usage, instances, load):
    """The worst case: every memory window ends, so that every container opens a new window."""
    cpu, memory = load.sample()
    return median_seconds(lambda turn: usage.fold(instances, NOW + (turn + 2) * 24 * HOUR, cpu, memory), 3)


def estimate_seconds(usage):
    rows = np.arange(CONTAINERS)
    found = usage.estimates(rows, sharing=len(NAMES))
    assert (found.cpu[0] <= found.cpu[1]).all()
    assert (found.memory[1] <= found.memory[2]).all()
    return median_seconds(lambda _: usage.estimates(rows, sharing=len(NAMES)))


def single_seconds(usage, knobs):
    """One autoscaler at a time, as a decision asks for it."""
    each, resources = dict.fromkeys(NAMES, knobs), dict.fromkeys(NAMES, (CPU, MEMORY))
    views = [usage.view(("shop", f"web-{owner}")) for owner in range(2000)]
    assert len(views[0].estimate(each, NAMES, resources)) == len(NAMES)

    def work(_):
        for view in views:
            view.estimate(each, NAMES, resources)

    return median_seconds(work) / len(views)


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def row(name, figure, goal):
    print(f"{name:<62} {figure:>14}   {goal}")


def main():
    row("what", "measured", "goal")
    usage, knobs, load = Usage(), Knobs(), Load()
    instances = declared(usage, knobs)
    fold = fold_seconds(usage, instances, load)
    row("one sample into each of 100,000 containers, cpu and memory", f"{fold:.3f} s", "0.1 s")
    window = window_seconds(usage, instances, load)
    row("the same, while every memory window ends", f"{window:.3f} s", "")
    row("all estimates of 100,000 containers", f"{estimate_seconds(usage):.3f} s", "0.5 s")
    row("estimates of one autoscaler, two containers", f"{single_seconds(usage, knobs) * 1e6:.0f} us", "150 us")
    row("peak memory of the process", f"{peak_megabytes():.0f} MB", "400 MB")


if __name__ == "__main__":
    main()
