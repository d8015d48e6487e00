"""Numbers that no user would write but some API server accepts: none of them raises out of `decide`."""

import copy
import json
import os
import random

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.policy.decide import decide
from hypot.policy.families import seen_by
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State
from hypot.policy.observe.snapshot import Snapshot
from hypot.policy.valid import in_the_way
from property import hvpa_worlds, tortoise_worlds, worlds
from property.autoscaler_worlds import autoscalers
from property.policy.test_vpa_decide import DUMP
from unit.policy.autoscaler.test_autoscaler import STEP, world
from unit.policy.sizes_world import NOW
from unit.policy.tortoise.tortoise_world import WEEK, World

# `make fuzz N=100000` tries that many manifests of each kind. To make a world takes much longer than to decide, so each
# world sees several attacks on its manifest.
TRIES = int(os.environ.get("HYPOT_FUZZ") or 100)
ATTACKS = 10 if TRIES >= 1000 else 1
# Where a test's own number is smaller than N, tests/conftest.py multiplies it for each so many of N.
FIRST = min(TRIES, 10_000)
often = settings(
    max_examples=FIRST // ATTACKS, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
NUMBERS = (0, -1, 1, 2, 100, 101, 2**31 - 1, -(2**31), 2**31, 2**63, 10**30, 0.0, 0.5, -0.5, 1e308, 5e-324)
UNREAL = (float("nan"), float("inf"), float("-inf"), True)
QUANTITIES = ("0", "-1", "0m", "1n", "1e30", "1e-30", "9" * 40, "0.0001", "-5Gi", "1Ei", "NaN", "0%", "100%", "1e400")
HOSTILE = (*NUMBERS, *UNREAL, *QUANTITIES)

NOTHING = State()


def numbers_in(value, path=()):
    """The paths of numbers and quantities."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_in(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for i, inner in enumerate(value):
            yield from numbers_in(inner, (*path, i))
    elif isinstance(value, int | float) or (isinstance(value, str) and value[:1].isdigit()):
        yield path


@st.composite
def attacked(draw, manifests):
    """Copies of a manifest, each with one to three hostile numbers in its spec or its annotations."""
    whole, chosen = draw(manifests), random.Random(draw(st.integers(0, 2**32)))  # noqa: S311  no secrets
    inside = {"spec": whole.get("spec"), "metadata": {"annotations": whole["metadata"].get("annotations")}}
    places = list(numbers_in(inside))
    return [_attacked(copy.deepcopy(whole), places, chosen) for _ in range(ATTACKS)]


def _attacked(data, places, chosen):
    for path in chosen.choices(places, k=chosen.randint(1, 3)) if places else ():
        outer = data
        for key in path[:-1]:
            outer = outer[key]
        number = chosen.choice(HOSTILE)
        outer[path[-1]] = str(number) if path[0] == "metadata" else number
    return data


def check_decisions(autoscalers, seen, state=NOTHING, setup=None):
    """Decide on each object as read, and on its readable part; each decision has steps or an error."""
    for autoscaler in autoscalers:
        for spec in (autoscaler, autoscaler.readable()):
            decision, after = decide(spec, seen, state, setup or Settings())
            assert decision.steps or decision.error
            json.dumps(decision.to_dict(), allow_nan=False)
            after.to_dict()


def resource(**target):
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def hpa(metric):
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": HPA.API_VERSION,
        "kind": HPA.KIND,
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9, "metrics": [metric]},
    }


STEADY = worlds.steady_world([500, 500])


@often
@given(attacked(worlds.hpas().map(HPA.to_dict)), worlds.any_world, worlds.any_state, worlds.settings_of)
@example([hpa(resource(type="Utilization", averageUtilization=0))], STEADY, NOTHING, Settings())
@example([hpa(resource(type="AverageValue", averageValue="0"))], STEADY, NOTHING, Settings())
def test_a_horizontal_autoscaler(manifests, seen, state, setup):
    """Targets of zero, counts beyond any integer, and endless periods."""
    check_decisions(map(HPA.from_dict, manifests), seen, state, setup)


@often
@given(attacked(worlds.wpas().map(WPA.to_dict)), worlds.any_world, worlds.any_state)
def test_a_watermark_autoscaler(manifests, seen, state):
    """Watermarks, factors and delays."""
    check_decisions(map(WPA.from_dict, manifests), seen, state)


@often
@given(attacked(hvpa_worlds.written), hvpa_worlds.likely_worlds() | hvpa_worlds.odd_worlds())
def test_both_axes(manifests, seen):
    """Intervals, changes and the templates of both sources."""
    check_decisions(map(Hvpa.from_dict, manifests), seen)


@often
@given(attacked(st.sampled_from([one for one in DUMP if one["kind"] == VPA.KIND])))
def test_a_vertical_autoscaler(manifests):
    """Bounds, thresholds and requirements."""
    for data in manifests:
        snapshot = Snapshot([data, *[one for one in DUMP if one["kind"] != VPA.KIND]])
        vpa = VPA.from_dict(data)
        check_decisions([vpa], seen_by(snapshot, vpa, NOW, Settings()))


@often
@given(attacked(tortoise_worlds.tortoises(decides=False).map(Tortoise.to_dict)), st.sampled_from([0, 1, 4]))
def test_a_tortoise(manifests, replicas):
    """Bounds of containers and all its settings, some weeks after it was created, and a week later."""
    for data in manifests:
        world = World(tortoise=data, replicas=replicas, peak={"app": {"cpu": 700, "memory": 300 << 20}})
        for later in (0.0, WEEK):
            decision = world.step(later)
            assert decision.steps or decision.error
            json.dumps(decision.to_dict(), allow_nan=False)
            json.dumps(world.state.to_dict(), allow_nan=False)


# Some in order, so that something is learned from them.
USAGES = st.lists(st.sampled_from([0, 1, 400, 1190, 2**31, 10**12, 10**18, 10**30, None]), min_size=1, max_size=3)


@often
@given(attacked(autoscalers().map(WorkloadAutoscaler.to_dict)), USAGES, st.sampled_from([0, 1, 3, 40]))
def test_an_autoscaler(manifests, usages, replicas):
    """Bounds, deadlines and prices that its rules allow, and usage as strange, from one decision to the next."""
    for data in manifests:
        autoscaler, state = WorkloadAutoscaler.from_dict(data), NOTHING
        if in_the_way(autoscaler, Settings()):
            continue
        for step, used in enumerate(usages):
            decision, state = decide(autoscaler, world(replicas, used, NOW + step * STEP), state, Settings())
            assert decision.steps or decision.error
            json.dumps(decision.to_dict(), allow_nan=False)
            json.dumps(state.to_dict(), allow_nan=False)
