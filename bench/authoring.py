"""Prints how fast autoscalers are written in Python, side by side with cdk8s-plus: imports, and 1,000 HPAs as YAML.

cdk8s-plus runs in build/interop, which `make bench` sets up where Node is installed.
"""

import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import yaml
from core import manifest

from hypot import HPA, ScalingRules, check, cpu, limit, pods, to_yaml

COUNT, ROUNDS = 1000, 7
IMPORT_BAR, RATIO_BAR = 0.1, 20
INTEROP = Path(__file__).resolve().parents[1] / "build" / "interop" / "bin" / "python"
PLUS = Path(__file__).with_name("authoring_cdk8s.py")
# Names are resolved when they are first used, so the import of the package alone says little.
PROGRAMS = {
    "import hypot": "import hypot",
    "from hypot import what HPAs are written with": "from hypot import HPA, ScalingRules, cpu, limit, pods, to_yaml",
    "from hypot import all five kinds": "from hypot import HPA, VPA, WPA, Hvpa, Tortoise, to_yaml",
}
# Modules are compiled once, as for users.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def hpa(number):
    """What `core.manifest` is as a manifest."""
    return HPA(
        f"deployment/web-{number}",
        min_replicas=2,
        max_replicas=200,
        metrics=[cpu(utilization=70), pods("rps", average="100")],
        scale_up=ScalingRules([limit(pods=4, per="1m"), limit(percent=100, per="1m")], window=0, select="Max"),
        scale_down=ScalingRules([limit(percent=10, per="1m")], window="5m", select="Max"),
        namespace="shop",
        labels={"app": "web"},
    )


def median_seconds(work):
    taken = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def process_seconds(python, program):
    """How long a new process takes, Python's own start included. Once before, so that files are cached."""
    command = [python, "-c", program]

    def run():
        subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT)

    run()
    return median_seconds(run)


def row(name, figure, goal=""):
    print(f"{name:<72} {figure:>12}   {goal}")


def imports(python, program):
    """Seconds of an import itself, and of the whole process in terms of one that does nothing."""
    nothing, whole = process_seconds(python, "pass"), process_seconds(python, program)
    return whole - nothing, whole / nothing


def ours():
    for name, program in PROGRAMS.items():
        taken, ratio = imports(sys.executable, program)
        row(name, f"{1000 * taken:.0f} ms", f"at most {1000 * IMPORT_BAR:.0f} ms")
        row("  that process, in terms of python -c pass", f"{ratio:.2f}")
    some = [hpa(number) for number in range(COUNT)]
    assert [one.to_dict() for one in some] == [manifest(number) for number in range(COUNT)]
    built = median_seconds(lambda: [hpa(number) for number in range(COUNT)])
    written = median_seconds(lambda: to_yaml(*some))
    row(f"hypot: {COUNT:,} HPAs built and checked", f"{built:.3f} s")
    row("hypot: written as YAML", f"{written:.3f} s")
    row("hypot: check() of all of them together, if wanted", f"{median_seconds(lambda: check(*some)):.3f} s")
    return built + written


def theirs():
    """Each form of cdk8s-plus in a process of its own; what it writes of the same HPAs is read back."""
    name, module = json_of("version")
    taken, ratio = imports(INTEROP, f"import {module}")
    row(f"import {module} ({name})", f"{1000 * taken:.0f} ms")
    row("  that process, in terms of python -c pass", f"{ratio:.2f}")
    totals = {}
    for form in ("plain", "checked"):
        found = json_of(form, COUNT)
        row(f"cdk8s-plus, {found['what']}: {COUNT:,} HPAs built", f"{found['built']:.3f} s")
        row("  synthesized as YAML", f"{found['written']:.3f} s")
        totals[found["what"]] = found["built"] + found["written"]
        if form == "plain":
            loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
            assert list(yaml.load_all(found["text"], loader)) == [manifest(number) for number in range(COUNT)]
    return totals


def json_of(*asked):
    command = [INTEROP, PLUS, *map(str, asked)]
    return json.loads(subprocess.run(command, capture_output=True, check=True, env=ENVIRONMENT).stdout)


def missing():
    """Why cdk8s-plus cannot be measured; empty if it can."""
    if shutil.which("node") is None:
        return "node is not installed"
    return "" if INTEROP.exists() else f"{INTEROP.parents[1]} is not there: make bench sets it up"


def machine():
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    return f"{os.cpu_count()} cores of {model or platform.machine()}, load average {os.getloadavg()[0]:.1f}"


def main():
    print(f"{machine()}; Python {platform.python_version()}. Medians of {ROUNDS} rounds.")
    row("what", "measured", "goal")
    taken = ours()
    why = missing()
    if why:
        print(f"cdk8s-plus is not measured: {why}")
        return
    for what, seconds in theirs().items():
        row(f"cdk8s-plus, {what}, to hypot", f"{seconds / taken:.0f}", f"at least {RATIO_BAR}")


if __name__ == "__main__":
    main()
