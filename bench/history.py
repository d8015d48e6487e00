"""Prints how long it takes to learn the weeks of many workloads from their history. Medians of several rounds."""

import argparse
import statistics
import time

import numpy as np

from hypot.policy.model.learned import SlotLayout
from hypot.policy.tortoise.history import UsageSeries, learned_from

START, HOUR, WEEK = 1_798_761_600.0, 3600.0, 7 * 86_400.0
# One sample in so many is missing.
MISSING = 100
ROUNDS = 5


def histories(count, step, zone):
    """Weeks of usage with a daily and a weekly rhythm and some noise, four for each workload, with gaps."""
    drawn = np.random.default_rng(4)
    times = START + step * np.arange(int(4 * WEEK / step))
    rhythm = 2.0 + np.sin(times * 2 * np.pi / 86_400) + 0.5 * np.sin(times * 2 * np.pi / WEEK)
    layout, made = SlotLayout(zone=zone), []
    for _ in range(count):
        amounts = drawn.uniform(100, 20_000) * rhythm * drawn.lognormal(0, 0.2, len(times))
        known = drawn.random(len(times)) > 1 / MISSING
        made.append(UsageSeries(("app", "cpu"), 70, times[known], amounts[known], layout))
    return made


def seconds(series):
    """Processor time, so that a busy machine does not distort the figure."""
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        learned = list(learned_from(series))
        taken.append(time.process_time() - begun)
        assert len(learned) == len(series)
        assert all(one.learned.peak() for one in learned)
    return statistics.median(taken)


def row(name, figure, goal):
    print(f"{name:<62} {figure:>14}   {goal}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--workloads", type=int, default=10_000)
    count = options.parse_args().workloads
    row("what", "measured", "goal")
    hourly = seconds(histories(count, HOUR, "Europe/Berlin"))
    row(f"{count:,} workloads, 4 weeks of hourly usage learned", f"{hourly:.2f} s", "2 s")
    few = max(count // 20, 1)
    row(f"{few:,} workloads, 4 weeks, every 5 minutes", f"{seconds(histories(few, 300.0, 'UTC')):.2f} s", "")


if __name__ == "__main__":
    main()
