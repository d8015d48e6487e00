"""The compiled engine: what it covers, where it caches its code, and what it refuses."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.fields import external
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import interval
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.policy.model.settings import Settings
from hypot.replay.engine.demand import Load
from hypot.replay.fleet import fleet, machine_code, rows, sources
from hypot.replay.fleet.forms import form_of
from hypot.replay.fleet.records import TooLargeError
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.world.parameters import Heap, Metrics, Scoring, Span, World
from hypot.replay.world.record import COLUMNS
from property.replay_worlds import policy

pytestmark = pytest.mark.xdist_group("fleet")
SOURCE = Path(fleet.__file__).resolve().parents[3]
NAMED = {"horizontalPodAutoscalerName": "web"}
CALM = {"scaleDown": {"stabilizationWindowSeconds": 600}}
HUGE = {"hypot.dev/tortoise-maximum-memory-request": "16Ti"}
COUNT = """
from hypot.core.replicas import ratio
from hypot.replay.fleet.compiling import built
from hypot.replay.fleet.machine_code import cache_folder
import numba
utilization = built((ratio,))[ratio.utilization]
print(cache_folder().name, numba.njit(lambda: utilization(50, 100))())
"""


def hpa():
    cpu = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 20, "metrics": [cpu]}
    return HPA.from_dict({"metadata": {"name": "web"}, "spec": spec})


def unknown_hpa():
    """An HPA by a metric that the world does not define."""
    return HPA("deployment/web", metrics=[external("elsewhere", average="5")], min_replicas=1, max_replicas=5)


def hvpa(most, **more):
    return Hvpa("deployment/web", intervals=[interval(most, cpu="2", memory="2Gi")], **more)


def vpa():
    return VPA("deployment/web", mode="Off")


def tortoise(annotations=None, **more):
    refs = {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}
    spec = {"updateMode": "Auto", "targetRefs": {**refs, **more.pop("named", {})}, **more}
    return Tortoise.from_dict({"metadata": {"name": "web", "annotations": annotations or {}}, "spec": spec})


def naming(one, named):
    """A policy of a Tortoise that names this HPA."""
    return replace(policy(one), named_hpa=named)


def test_what_it_covers():
    """No autoscaler, one of any kind, or an HPA and a VPA together."""
    world, settings = World(), Settings()
    for autoscalers in ((), (hpa(),), (vpa(),), (hpa(), vpa()), (vpa(), hpa()), (tortoise(),)):
        assert not fleet.obstacle(policy(*autoscalers), world, settings)


@pytest.mark.parametrize(
    ("tried", "why"),
    [
        (lambda: policy(hpa(), hpa()), "several autoscalers of one kind"),
        (lambda: policy(vpa(), hpa(), vpa()), "several autoscalers of one kind"),
        (lambda: policy(hpa(), hvpa(20)), "HorizontalPodAutoscaler and Hvpa together"),
        (lambda: replace(policy(vpa()), step=(1, 5)), "a VPA with a horizontal step"),
        (lambda: replace(policy(hvpa(20)), weights=True), "released weights"),
        (
            lambda: policy(hvpa(20, annotations={"hypot.dev/recommendations": "objects"})),
            "a metric or setting that needs whole decisions",
        ),
        (lambda: policy(tortoise(), hpa()), "HorizontalPodAutoscaler and Tortoise together"),
        (lambda: policy(tortoise({"hypot.dev/paused": "true"})), "a Tortoise with a hold or a schedule"),
        (lambda: policy(tortoise(), memory=0), "a Tortoise whose pods request no cpu or no memory"),
        (lambda: policy(tortoise(HUGE)), "a Tortoise whose pods may get too much for 64-bit sums"),
        (
            lambda: naming(tortoise(named=NAMED, horizontalPodAutoscalerBehavior=CALM), hpa()),
            "a Tortoise that changes the behavior of the HPA that it names",
        ),
        (
            lambda: naming(tortoise(named=NAMED), unknown_hpa()),
            "a Tortoise and an HPA with a metric or setting that needs whole decisions",
        ),
    ],
)
def test_why_the_plain_engine_is_needed(tried, why):
    """The reason is text for users."""
    assert fleet.obstacle(tried(), World(), Settings()) == why


def test_an_hvpa_with_the_largest_maximum():
    """There is a place for every count that an Hvpa may have, and both engines use it alike."""
    tried = policy(hvpa(10_000), replicas=600)
    load = Load(0.0, np.linspace(500.0, 900.0, 80), np.ones(80), np.zeros(80))
    assert not fleet.obstacle(tried, World(), Settings())
    from hypot.replay.engine.engine import replay  # noqa: PLC0415  next to its counterpart

    compiled = fleet.replay(tried, "web", load, World(), Settings())
    plain = replay(tried, "web", load, World(), Settings())
    assert len(set(plain.ticks.replicas)) > 2
    assert min(plain.ticks.replicas) > 256
    assert all(np.array_equal(a, b) for a, b in zip(compiled.ticks, plain.ticks, strict=True))


@pytest.mark.parametrize("annotations", [{}, {"hypot.dev/decide": "true"}], ids=["with its HPA", "decides"])
def test_days_of_a_tortoise(annotations):
    """What it learns, an hour that daylight saving repeats, and a gap that is an emergency: both engines alike."""
    daily = {"hypot.dev/tortoise-slot-period": "daily", "hypot.dev/tortoise-time-zone": "Europe/Berlin"}
    count, start = 4 * 1440, 1698541200.0 - 2 * 86400.0
    work = 5 - 4 * np.cos(2 * np.pi * np.arange(count) / 1440)
    load = Load(start, work, np.ones(count), np.zeros(count))
    world = World(tick=60.0, metrics=Metrics(gaps=(Span(3 * 86400.0, 3 * 86400.0 + 1800.0),)))
    tried = policy(tortoise({**daily, **annotations}), replicas=4)
    from hypot.replay.engine.engine import replay  # noqa: PLC0415  next to its counterpart

    compiled = fleet.replay(tried, "web", load, world, Settings())
    plain = replay(tried, "web", load, world, Settings())
    assert len(set(plain.ticks.replicas)) > 5
    assert all(np.array_equal(a, b) for a, b in zip(compiled.ticks, plain.ticks, strict=True))


def test_policies_know_their_loops():
    """Only the loops that are needed are compiled."""
    policies = [policy(hpa()), policy(hpa(), vpa()), policy(hpa(), hpa()), policy(tortoise())]
    assert fleet.loops_of(policies, World(), Settings()) == {"hpa_loop", "vpa_loop", "tortoise_loop"}


@pytest.mark.parametrize("scoring", [Scoring(windows=2), Scoring(tune=0.5)])
def test_runs_that_are_judged_in_parts_are_counted_by_a_loop_too(scoring):
    """It is compiled with the others, so that no process has to compile it itself."""
    world = replace(World(), scoring=scoring)
    assert fleet.loops_of([policy()], world, Settings()) == {"static_loop", "count_loop"}
    assert fleet.loops_of([policy(hpa(), hpa())], world, Settings()) == set()
    fleet.warm(["count_loop"])
    assert fleet.is_compiled(["count_loop"])


@pytest.mark.parametrize(
    ("start", "metrics"),
    [
        (Start("web", 2, "web", 1000, 2**45, None, None), Metrics()),
        (Start("web", 2, "web", 1000, 2**30, None, None), Metrics(lag=3600.0)),
    ],
    ids=["sums-beyond-an-integer", "metrics-too-old"],
)
def test_what_does_not_fit_is_left_to_the_plain_engine(start, metrics):
    """No sum may overflow, and no table may be too small."""
    assert fleet.obstacle(Policy("web", (hpa(),), start), replace(World(), metrics=metrics), Settings())


def test_the_largest_that_fits_does_not_overflow():
    """Sums of milli-units just below the limit match the plain engine."""
    start = Start("web", 2, "web", 1000, 2**37, None, None)
    load = Load(0.0, np.full(60, 3.0), np.ones(60), np.full(60, 2.0**37))
    tried = Policy("web", (hpa(),), start)
    assert not fleet.obstacle(tried, World(), Settings())
    from hypot.replay.engine.engine import replay  # noqa: PLC0415  next to its counterpart

    compiled = fleet.replay(tried, "web", load, World(), Settings())
    plain = replay(tried, "web", load, World(), Settings())
    assert all(np.array_equal(a, b) for a, b in zip(compiled.ticks, plain.ticks, strict=True))


def test_a_limit_beyond_any_integer_is_left_to_the_plain_engine():
    """A request of one byte with a limit of 32 GiB: scaled in proportion, the limit would overflow."""
    start = Start("web", 2, "app", 1000, 1, None, 2**35)
    tried = Policy("web", (VPA("deployment/web", mode="InPlaceOrRecreate"),), start)
    world = replace(World(), memory=Heap(base=20 * 2**30))
    load = Load(0.0, np.full(60, 3.0), np.ones(60), np.zeros(60))
    with pytest.raises(TooLargeError, match="exceeds the capacity of the compiled engine"):
        fleet.replay(tried, "web", load, world, Settings())


def test_without_a_writable_cache_compiled_code_is_temporary(monkeypatch, tmp_path):
    """Existing code is copied and used, and child processes find the copy."""
    monkeypatch.setenv(machine_code.COPY, "")
    there = tmp_path / "there"
    there.mkdir()
    (there / "code").write_text("compiled")
    monkeypatch.setattr(tempfile, "TemporaryFile", refused)
    copy = machine_code._writable(there)
    assert (copy / "code").read_text() == "compiled"
    assert copy != there
    assert machine_code._writable(there) == copy
    shutil.rmtree(copy)


def refused(**_):
    raise PermissionError


def test_old_code_is_deleted(tmp_path, monkeypatch):
    """The code of this version stays, however old."""
    monkeypatch.delenv(machine_code.COPY, raising=False)
    old, fresh, own = (tmp_path / name for name in ("fleet-old", "fleet-fresh", "fleet-own"))
    for folder in (old, fresh, own):
        folder.mkdir()
    os.utime(old, (0, 0))
    assert machine_code._writable(own) == own
    assert not old.exists()
    assert fresh.exists()


def test_every_number_that_is_compiled_in_changes_the_folder(monkeypatch):
    """This includes numbers imported from a module without compiled functions."""
    for module in sources.MODULES:
        before = sources.constants_of(module)
        for name, value in list(vars(module).items()):
            if isinstance(value, int | float) and not name.startswith("__"):
                with monkeypatch.context() as changed:
                    changed.setattr(module, name, 0.123456)
                    assert sources.constants_of(module) != before, f"{module.__name__}.{name}"


def test_imported_numbers_are_among_them():
    """The number of columns of a row is from a module without compiled functions."""
    assert f"COLUMNS={COLUMNS}" in sources.constants_of(rows)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder for compiled code."""
    monkeypatch.delenv(machine_code.COPY, raising=False)
    monkeypatch.setattr(machine_code, "cache_folder", lambda: tmp_path)
    return tmp_path


def test_a_loop_is_compiled_by_one_process_only(monkeypatch, folder):
    """While another process compiles it, this one waits, and then has nothing left to compile."""
    compiled = []
    monkeypatch.setattr(machine_code, "_compiled", lambda wanted, _: compiled.append([*wanted]) or b"code")
    with machine_code._alone(folder):
        waiting = threading.Thread(target=machine_code.make, args=[{"hpa_loop": int}])
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        machine_code._keep({"hpa_loop": int}, b"code of another process")
    waiting.join(60)
    assert compiled == []
    for _ in range(2):
        machine_code.make({"hpa_loop": int, "wpa_loop": int})
    assert compiled == [["wpa_loop"]]


@pytest.mark.usefixtures("folder")
def test_arguments_of_another_form_get_code_of_their_own():
    """A number that is whole in one world and a fraction in another is compiled for both."""
    assert form_of((1, 2.0, np.float64(3.0))) == form_of((4, 5.0, 6.0))
    assert form_of((1, np.ones(2))) != form_of((1, np.ones((2, 2))))
    machine_code._keep({"hpa_loop": form_of((1, 2.0))}, b"code")
    assert machine_code.is_there("hpa_loop", form_of((3, 4.0)))
    assert not machine_code.is_there("hpa_loop", form_of((3, 4)))
    assert not machine_code.is_there("hpa_loop", form_of((True, 4.0)))


@pytest.mark.usefixtures("folder")
def test_progress_is_reported_while_it_compiles():
    """The number of functions that are done, and a total that does not change."""
    reported = []
    form = fleet._usual_form("count_loop")
    machine_code.make({"count_loop": form}, lambda *progress: reported.append(progress))
    assert machine_code.is_there("count_loop", form)
    done, totals = zip(*reported, strict=True)
    assert list(done) == sorted(done)
    assert len(set(totals)) == 1
    assert 1 < done[-1] < totals[0]


def test_code_that_does_not_compile_is_an_error(folder, capfd):
    """The traceback of the compiler is shown, and nothing is kept."""
    with pytest.raises(RuntimeError, match="could not be compiled"):
        machine_code.make({"count_loop": form_of((1, 2))})
    assert "Error" in capfd.readouterr().err
    assert {one.name for one in folder.iterdir()} == {"lock"}


def test_a_changed_constant_changes_the_result(tmp_path):
    """The cache folder depends on all sources, so that old compiled code is never run for new sources."""
    copied = tmp_path / "src"
    shutil.copytree(SOURCE / "hypot", copied / "hypot", ignore=shutil.ignore_patterns("__pycache__"))
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(copied), "PYTHONDONTWRITEBYTECODE": "1"}

    def counted():
        done = subprocess.run([sys.executable, "-c", COUNT], env=env, check=True, capture_output=True, text=True)
        return done.stdout.split()

    before = counted()
    file = copied / "hypot/core/replicas/ratio.py"
    file.write_text(file.read_text().replace("usage * 100, requests", "usage * 200, requests"))
    after = counted()
    assert (before[1], after[1]) == ("50", "100")
    assert before[0] != after[0]
