"""What `/metrics` reports: the proposal's seven gauges, those of every object, and those of the controller."""

import re
from collections import Counter
from dataclasses import replace
from math import isnan
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

import hypot.policy
from builders import NOW, seen, wpa
from hypot.kinds.node import replaced
from hypot.kinds.wpa.fields import Recommender, WatermarkRules, band
from hypot.policy.hold import Hold
from hypot.policy.model.seen import Reply
from hypot.policy.model.size import Size
from hypot.policy.model.state import State
from hypot.run.report import gauge_table as names
from hypot.run.report.events import table as reasons_table
from hypot.run.report.gauge_table import FAMILIES, table
from hypot.run.report.gauges import (
    BLOCKING,
    BLOCKING_PODS,
    CUTTING,
    MOST_SERIES,
    Histogram,
    MetricsSnapshot,
    dropped_series,
    exposition,
    labelled,
    object_samples,
    shown,
)
from unit.policy.tortoise import tortoise_world
from unit.run.outcomes import (
    CONFLICT,
    FREE,
    PAUSED,
    between,
    crowded,
    items,
    learner,
    outcome,
    priced,
    representative,
    sized,
    tortoise,
    using,
    vpa,
)

ROOT = Path(__file__).resolve().parents[4]
OUTCOMES = representative()
REASONS = ("within_bounds", "upscale_capping", "downscale_capping")
AT_MOST = {"resourcePolicy": {"containerPolicies": [{"containerName": "app", "maxAllowed": {"cpu": "1500m"}}]}}
# The KEP's limits: at most half as many more, at most three tenths fewer.
STEPS = {
    "scale_up": WatermarkRules(percent=50, forbidden_window=30),
    "scale_down": WatermarkRules(percent=30, forbidden_window=60),
}


def text(snapshot):
    return b"".join(exposition(snapshot)).decode()


def parsed(snapshot):
    """As Prometheus reads it: name -> samples."""
    return {
        sample.name: [each for each in family.samples if each.name == sample.name]
        for family in text_string_to_metric_families(text(snapshot))
        for sample in family.samples
    }


def reported(one, name, now=NOW, **labels):
    """The values of one gauge of an object, where its labels are these."""
    samples = parsed(MetricsSnapshot(now, outcomes=[one])).get(name, [])
    return [sample.value for sample in samples if labels.items() <= sample.labels.items()]


def restricted(one):
    """Which of the three reasons restrict scaling; each reason must be reported."""
    values = {reason: reported(one, names.RESTRICTED, reason=reason) for reason in REASONS}
    assert all(value in ([0.0], [1.0]) for value in values.values())
    return [reason for reason, value in values.items() if value == [1.0]]


def kep(**fields):
    """Two watermarks at 150 and 400."""
    return between(150, 400, **{**STEPS, **fields})


# The seven gauges of the proposal.


def test_value_and_both_watermarks():
    """The values are in milli-units and labelled by metric; the first graph draws the value with its watermarks."""
    one = outcome(kep(), items(300_000))
    (sample,) = parsed(MetricsSnapshot(NOW, outcomes=[one]))["wpa_controller_value"]
    assert sample.labels == {
        "wpa_name": "web",
        "wpa_namespace": "default",
        "resource_namespace": "default",
        "resource_name": "web",
        "resource_kind": "Deployment",
        "metric_name": "queue{map[]}",
    }
    assert sample.value == 300_000
    assert reported(one, "wpa_controller_high_watermark", metric_name="queue{map[]}") == [400_000]
    assert reported(one, "wpa_controller_low_watermark", metric_name="queue{map[]}") == [150_000]


def test_the_value_changes_and_disappears():
    """It is the last compared value, and is missing where no value could be read."""
    assert reported(outcome(kep(), items(310_000)), names.VALUE) == [310_000]
    blind = outcome(kep(), seen(10))
    for name in (names.VALUE, names.HIGH, names.LOW, names.PROPOSAL, names.RESTRICTED):
        assert reported(blind, name) == []


def test_one_watermark_counts_for_both():
    """High and low watermark are equal then."""
    one = outcome(wpa(band("queue", high=100)), items(100_000))
    assert reported(one, names.HIGH) == reported(one, names.LOW) == [100_000]


def test_the_marks_of_a_recommender():
    """Its answer has a value too."""
    spec = wpa(recommender=Recommender("https://advice.example/", high="800m", low="500m"), **FREE)
    one = outcome(spec, seen(10, reply=Reply(12, 11, 13, "", 0.9)))
    assert [reported(one, name) for name in (names.VALUE, names.HIGH, names.LOW)] == [[900], [800], [500]]
    assert reported(one, names.PROPOSAL) == [12]


def test_within_the_bounds_scaling_is_restricted_and_outside_it_is_not():
    """The reason is set between the watermarks, and reset on either side."""
    assert restricted(outcome(kep(), items(300_000))) == ["within_bounds"]
    assert "within_bounds" not in restricted(outcome(kep(), items(450_000)))
    assert "within_bounds" not in restricted(outcome(kep(), items(120_000)))


def test_a_step_inside_the_band_is_not_restricted():
    """It moves, although the value is between the watermarks."""
    one = outcome(kep(converge="highwatermark"), items(200_000))
    assert one.decision.desired == 9
    assert restricted(one) == []


def test_upscale_capping():
    """The KEP's example: a proposal of more than half as many again is cut; reset once it is within that."""
    capped = outcome(kep(), items(800_000))
    assert (reported(capped, names.PROPOSAL), reported(capped, names.EFFECTIVE)) == ([20], [15])
    assert restricted(capped) == ["upscale_capping"]
    free = outcome(kep(), items(500_000))
    assert (reported(free, names.PROPOSAL), reported(free, names.EFFECTIVE)) == ([13], [13])
    assert restricted(free) == []


def test_downscale_capping():
    """The same for scale-down; unlike the released controller, each direction resets the other."""
    capped = outcome(kep(), items(50_000))
    assert (reported(capped, names.PROPOSAL), reported(capped, names.EFFECTIVE)) == ([3], [7])
    assert restricted(capped) == ["downscale_capping"]
    free = outcome(kep(), items(120_000))
    assert (reported(free, names.PROPOSAL), reported(free, names.EFFECTIVE)) == ([8], [8])
    assert restricted(free) == []


def test_the_effective_count_is_that_after_windows():
    """The proposal waits and the count stays; in a dry run it is the count that would be set."""
    waiting = outcome(kep(), items(500_000), State(last_scale=NOW - 5))
    assert (reported(waiting, names.PROPOSAL), reported(waiting, names.EFFECTIVE)) == ([13], [10])
    assert reported(outcome(kep(dry_run=True), items(500_000)), names.EFFECTIVE) == [13]


def test_the_countdown_of_both_transitions():
    """Each counts down to zero for its own window."""
    one = outcome(kep(), items(300_000), State(last_scale=NOW - 10))
    assert reported(one, "wpa_controller_transition_countdown", transition="upscale") == [20]
    assert reported(one, "wpa_controller_transition_countdown", transition="downscale") == [50]
    assert reported(one, names.COUNTDOWN, now=NOW + 30, transition="upscale") == [0]
    assert reported(one, names.COUNTDOWN, now=NOW + 30, transition="downscale") == [20]
    assert reported(one, names.COUNTDOWN, now=NOW + 60) == [0, 0]


def test_any_move_resets_both_countdowns():
    """Before the first move there is no countdown."""
    assert reported(outcome(kep(), items(300_000)), names.COUNTDOWN) == []
    moved = outcome(kep(), items(500_000), State(last_scale=NOW - 1000))
    assert reported(moved, names.COUNTDOWN, transition="upscale") == [30]
    assert reported(moved, names.COUNTDOWN, transition="downscale") == [60]


def test_unset_windows_have_the_defaults_of_the_controller():
    """One minute up, five minutes down."""
    one = outcome(between(), items(30_000), State(last_scale=NOW))
    assert reported(one, names.COUNTDOWN) == [60, 300]


def test_an_unreadable_window_has_no_countdown():
    """It does not break the page either."""
    one = outcome(kep(), items(300_000), State(last_scale=NOW))
    spoilt = replace(one, autoscaler=replaced(one.autoscaler, up_forbidden_window="soon"))
    assert reported(spoilt, names.COUNTDOWN) == [60]


def test_two_metrics_of_one_name_are_reported_once():
    """A duplicate series would make Prometheus refuse the whole page."""
    twins = [band("queue", high=400, low=150), band("queue", high=300, low=100)]
    assert reported(outcome(wpa(*twins), items(300_000)), names.HIGH) == [400_000]


# Every object.


def test_counts():
    """The current and the decided counts are reported."""
    one = OUTCOMES["hvpa moves"]
    assert (reported(one, names.CURRENT_REPLICAS), reported(one, names.DESIRED_REPLICAS)) == ([2], [3])
    assert reported(OUTCOMES["hvpa without scale"], names.CURRENT_REPLICAS) == []


def test_sizes_are_in_cores_and_bytes():
    """They are per container, current and desired."""
    one = OUTCOMES["vpa evicts"]
    assert reported(one, names.CONTAINER_CPU, container="app", at="current") == [1.0]
    assert reported(one, names.CONTAINER_CPU, container="app", at="desired") == [2.0]
    assert reported(one, names.CONTAINER_MEMORY, container="app", at="current") == [2**30]


def test_a_container_without_requests_has_no_size():
    """Unset is not zero."""
    bare = OUTCOMES["vpa evicts"].decision._replace(sizes=(Size("app"),), desired_sizes=(Size("app"),))
    assert reported(replace(OUTCOMES["vpa evicts"], decision=bare), names.CONTAINER_CPU) == []


@pytest.mark.parametrize(
    ("one", "reason"),
    [
        (outcome(kep(), items(800_000)), "ScaleUpLimit"),
        (outcome(kep(max_replicas=12), items(500_000)), "TooManyReplicas"),
        (outcome(vpa(spec=AT_MOST), sized()), "CutAtAllowed"),
    ],
    ids=["wpa speed", "wpa bound", "vpa bound"],
)
def test_limited_by(one, reason):
    """It is the reason of the condition or the rule that cut a size; without a limit there is no series."""
    assert reported(outcome(kep(), items(300_000)), names.LIMITED) == []
    assert reported(one, names.LIMITED) == reported(one, names.LIMITED, reason=reason) == [1]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("wpa waits", "forbidden-window"),
        ("wpa guarded", "lifecycle-blocked"),
        ("wpa blind", "hold-on-failure"),
        ("vpa evicts", "disruption-budget"),
    ],
)
def test_blocked_by(name, reason):
    """The rules that hold a move back are the reasons."""
    assert reported(OUTCOMES[name], names.BLOCKED, reason=reason) == [1]


def test_what_moves_is_not_blocked():
    """A rule that evicts a pod does not block."""
    assert reported(OUTCOMES["wpa moves"], names.BLOCKED) == []


def test_every_rule_that_blocks_or_cuts_exists():
    """A renamed step must be renamed here too."""
    source = "".join(path.read_text(encoding="utf-8") for path in Path(hypot.policy.__file__).parent.rglob("*.py"))
    spelt = set(re.findall(r'"([a-z-]+)"', source))
    # Some are made from a word: the gates of an Hvpa, and the states of a resize.
    made = {re.sub(r"(?<!^)(?=[A-Z])", "-", word).lower() for word in re.findall(r'"([A-Z][A-Za-z]+)"', source)}
    resizes = {f"resize-{state}" for state in spelt}
    assert BLOCKING | BLOCKING_PODS | CUTTING.keys() <= spelt | made | resizes


def test_held():
    """Each reason is a series, which ends with the hold."""
    one = outcome(kep(), items(500_000), holds=(PAUSED, CONFLICT, Hold("Paused", "twice")))
    assert reported(one, names.HELD, reason="Paused") == reported(one, names.HELD, reason="Conflict") == [1]
    assert reported(one, names.DESIRED_REPLICAS) == [10]
    assert reported(outcome(kep(), items(500_000)), names.HELD) == []


OF_A_METRIC = (names.VALUE, names.HIGH, names.LOW, names.PROPOSAL)


def shown_metrics(samples):
    """The gauges of each metric, by name."""
    found = {}
    for sample in samples:
        if sample.name in OF_A_METRIC:
            found.setdefault(re.search(r'metric_name="([^"]*)"', sample.labels)[1], []).append(sample.name)
    return found


@pytest.mark.parametrize(
    ("metrics", "holds", "shown", "number"),
    [(4, 0, 4, 24), (5, 0, 4, 24), (15, 0, 4, 24), (5, 1, 4, 25), (5, 2, 3, 22), (5, 8, 2, 24), (1, 17, 0, 25)],
)
def test_a_metric_is_shown_with_all_its_series_or_not_at_all(metrics, holds, shown, number):
    """Two counts, six gauges of the kind and four for each metric; the decision and the first metrics are kept."""
    one = crowded(metrics, holds, State(last_scale=NOW - 1))
    samples = object_samples(one, NOW)
    assert len(samples) == number
    assert [sample.name for sample in samples[:2]] == [names.CURRENT_REPLICAS, names.DESIRED_REPLICAS]
    assert shown_metrics(samples) == {f"metric-{i}{{map[]}}": [*OF_A_METRIC] for i in range(shown)}
    assert dropped_series(one) == [f"metric metric-{i}{{map[]}}" for i in range(shown, metrics)]


@pytest.mark.parametrize("resources", [("cpu",), ("cpu", "memory")])
@pytest.mark.parametrize("containers", [1, 5, 12])
def test_a_container_is_shown_with_all_its_series_or_not_at_all(containers, resources):
    """Current and desired requests of all its resources."""
    sizes = tuple(Size(f"c{i}", dict.fromkeys(resources, 1000)) for i in range(containers))
    one = OUTCOMES["vpa resizes"]
    one = replace(one, decision=one.decision._replace(sizes=sizes, desired_sizes=sizes))
    shown = Counter(
        sample.labels.split('container="')[1].split('"')[0]
        for sample in object_samples(one, NOW)
        if sample.name in {names.CONTAINER_CPU, names.CONTAINER_MEMORY}
    )
    assert set(shown.values()) == {2 * len(resources)}
    dropped = [about for about in dropped_series(one) if about.startswith("container ")]
    assert sorted([*dropped, *(f"container {name}" for name in shown)]) == sorted(
        f"container {size.container}" for size in sizes
    )


@given(st.integers(1, 15), st.integers(0, 30), st.booleans())
def test_whatever_does_not_fit_is_named(metrics, holds, scaled):
    """Every metric and every reason has all its series, or is reported as dropped."""
    one = crowded(metrics, holds, State(last_scale=NOW - 1) if scaled else None)
    samples, dropped = object_samples(one, NOW), dropped_series(one)
    assert len(samples) <= MOST_SERIES
    shown = shown_metrics(samples)
    assert all(series == [*OF_A_METRIC] for series in shown.values())
    left_out = [about for about in dropped if about.startswith("metric ")]
    assert sorted([*left_out, *(f"metric {name}" for name in shown)]) == sorted(
        f"metric metric-{i}{{map[]}}" for i in range(metrics)
    )
    held = [sample for sample in samples if sample.name == names.HELD]
    assert len(held) + sum(about.startswith(names.HELD) for about in dropped) == holds


@pytest.mark.parametrize("name", OUTCOMES)
def test_nothing_is_dropped_of_a_usual_object(name):
    """Each kind and state fits."""
    assert dropped_series(OUTCOMES[name]) == []


def test_objects_can_be_switched_off():
    """Their number is still reported."""
    snapshot = MetricsSnapshot(NOW, outcomes=list(OUTCOMES.values()), of_objects=False)
    assert parsed(snapshot).keys() <= {family.name for family in names.CONTROLLER_FAMILIES}
    kinds = {sample.labels["kind"]: sample.value for sample in parsed(snapshot)[names.OBJECTS]}
    assert kinds["Hvpa"] == sum(one.key[0] == "Hvpa" for one in OUTCOMES.values())


def test_a_series_ends_with_its_object():
    """No series is stored."""
    both = MetricsSnapshot(NOW, outcomes=[OUTCOMES["wpa moves"], OUTCOMES["vpa evicts"]])
    assert "WatermarkPodAutoscaler" in text(both)
    assert "WatermarkPodAutoscaler" not in text(replace(both, outcomes=[OUTCOMES["vpa evicts"]]))


# Tortoises.


def test_what_a_tortoise_learned():
    """The bounds of the slot of now, not those of the HPA; its target, its phase, and how much it knows."""
    one = outcome(*tortoise(state=tortoise_world.known((2000, "saturated", 12_000), target=65)))
    assert (reported(one, names.LEARNED_LOW), reported(one, names.LEARNED_HIGH)) == ([6.0], [24.0])
    assert reported(one, names.TARGET_UTILIZATION, container="app", resource="cpu") == [0.65]
    assert reported(one, names.PHASE, phase="PartlyWorking") == [1.0]
    assert (reported(one, names.LEARNED_SLOTS), reported(one, names.LEFT_OUT_SLOTS)) == ([168.0], [168.0])


def test_a_tortoise_that_gathers_data():
    """Bounds and slots are not known yet, and only one phase has a series."""
    one = OUTCOMES["tortoise gathers"]
    assert (reported(one, names.LEARNED_LOW), reported(one, names.LEARNED_HIGH)) == ([], [])
    assert reported(one, names.LEARNED_SLOTS) == [0.0]
    assert [sample.labels["phase"] for sample in parsed(MetricsSnapshot(NOW, outcomes=[one]))[names.PHASE]] == [
        "GatheringData"
    ]


def test_a_tortoise_that_cannot_be_decided():
    """What it learned is still there."""
    one = OUTCOMES["tortoise without scale"]
    assert reported(one, names.LEARNED_SLOTS) == [168.0]
    assert reported(one, names.PHASE, phase="Working") == [1.0]
    assert reported(one, names.LEARNED_LOW) == []


def test_a_tortoise_with_many_containers():
    """A container is shown with its sizes and its target, or not at all."""
    names_of = [f"c{i}" for i in range(9)]
    sizes = {name: {"cpu": 1000, "memory": 2**30} for name in names_of}
    places = tuple(f"{name}/cpu" for name in names_of)
    there = tortoise(
        sizes=sizes,
        demand=dict.fromkeys(names_of, 900),
        state=tortoise_world.known(places=places, place="c0/cpu"),
        hpa=tortoise_world.hpa(3, 20, *[tortoise_world.container_metric(name) for name in names_of]),
    )
    one = outcome(*there)
    samples = object_samples(one, NOW)
    assert len(samples) <= MOST_SERIES
    assert Counter(sample.name for sample in samples)[names.TARGET_UTILIZATION] == 3
    assert dropped_series(one) == [f"container c{i}" for i in range(3, 9)]


def test_series_of_a_tortoise_end_with_it():
    """No series is stored."""
    assert "Tortoise" in text(MetricsSnapshot(NOW, outcomes=[OUTCOMES["tortoise edits"]]))
    assert names.PHASE not in text(MetricsSnapshot(NOW, outcomes=[OUTCOMES["hvpa moves"]]))


# Autoscalers.


def test_what_an_autoscaler_plans_for():
    """The demand, what each axis plans for, and how steep lateness is; prices once there are any."""
    one = OUTCOMES["autoscaler moves"]
    assert reported(one, names.DEMAND) == [1.6]
    assert reported(one, names.PLANNED_DEMAND, axis="replicas") == [pytest.approx(1.6 * 1.1)]
    assert reported(one, names.PLANNED_DEMAND, axis="size") == [pytest.approx(1.6 * 1.1)]
    assert reported(one, names.KAPPA) == [6.0]
    assert reported(one, names.RULE_PRICE) == []


def test_the_price_of_the_deciding_rule():
    """As a share of what an HPA at 70 % would have cost; of the axes that it sets."""
    assert reported(OUTCOMES["autoscaler knows"], names.RULE_PRICE, axis="size") == [0.75]
    assert reported(OUTCOMES["autoscaler knows"], names.RULE_PRICE, axis="replicas") == [0.75]
    one = outcome(learner(axes="Replicas"), using(400), priced())
    assert reported(one, names.RULE_PRICE) == reported(one, names.RULE_PRICE, axis="replicas") == [0.75]


def test_an_autoscaler_that_observed_nothing_yet():
    """Neither demand nor plans are known."""
    one = OUTCOMES["autoscaler blind"]
    assert [reported(one, name) for name in (names.DEMAND, names.PLANNED_DEMAND, names.KAPPA)] == [[], [], []]


# The controller.


def test_the_gauges_of_the_controller():
    """It reports known values; ages and durations are in seconds."""
    snapshot = MetricsSnapshot(
        NOW,
        leads=True,
        reconciles=7,
        reconcile_seconds=1.25,
        decision_seconds=0.5,
        reconcile_age=3.0,
        calls={("PATCH", "Pod", "4xx"): 2, ("GET", "Pod", "2xx"): 5},
        stale_share=0.25,
        governor_holding=4,
        state_unwritten=2,
        state_used=0.5,
        certificate_seconds=86_400.0,
        plans={"growing": 1, "infeasible": 2},
    )
    found = parsed(snapshot)
    plain = {name: samples[0].value for name, samples in found.items() if not samples[0].labels}
    assert plain == {
        "hypot_leader": 1,
        "hypot_reconciles_total": 7,
        "hypot_reconcile_duration_seconds": 1.25,
        "hypot_decision_duration_seconds": 0.5,
        "hypot_reconcile_age_seconds": 3,
        "hypot_stale_share": 0.25,
        "hypot_governor_holding": 4,
        "hypot_state_unwritten": 2,
        "hypot_state_used_ratio": 0.5,
        "hypot_certificate_expiry_seconds": 86_400,
    }
    calls = [({**sample.labels}, sample.value) for sample in found["hypot_api_calls_total"]]
    assert calls == [
        ({"verb": "GET", "kind": "Pod", "code": "2xx"}, 5),
        ({"verb": "PATCH", "kind": "Pod", "code": "4xx"}, 2),
    ]
    assert {sample.labels["state"]: sample.value for sample in found["hypot_plans"]} == {"growing": 1, "infeasible": 2}


def test_before_the_first_reconcile_little_is_known():
    """Unknown values are missing: an age of zero would look like a reconcile."""
    found = parsed(MetricsSnapshot(NOW))
    assert found["hypot_leader"][0].value == 0
    assert names.RECONCILE_AGE not in found
    assert names.CERTIFICATE not in found


# The text.


def test_every_series_is_as_the_table_says():
    """Name, type, help and labels agree; the parser reads all of it."""
    everything = MetricsSnapshot(
        NOW,
        outcomes=[replace(one, key=(one.key[0], "shop", f"web-{i}")) for i, one in enumerate(OUTCOMES.values())],
        reconcile_seconds=1.0,
        decision_seconds=1.0,
        reconcile_age=1.0,
        calls={("GET", "Pod", "2xx"): 1},
        stale_share=0.1,
        state_unwritten=0,
        state_used=0.0,
        certificate_seconds=1.0,
        plans={"growing": 1},
        webhook_seconds=Histogram([(0.5, 3)], 4, 2.5),
    )
    families = list(text_string_to_metric_families(text(everything)))
    expected = {family.name: family for family in FAMILIES}
    for family in families:
        suffixes = ("_bucket", "_sum", "_count") if family.type == "histogram" else ("",)
        (name,) = {sample.name.removesuffix(suffix) for sample in family.samples for suffix in suffixes} & set(expected)
        reported = expected.pop(name)
        assert {sample.name for sample in family.samples} == {f"{name}{suffix}" for suffix in suffixes}
        assert (family.type, family.documentation) == (reported.type, reported.help)
        assert {tuple(label for label in sample.labels if label != "le") for sample in family.samples} == {
            reported.labels
        }
    assert expected == {}
    lines = text(everything).splitlines()
    assert len(lines) == 2 * len(families) + sum(len(family.samples) for family in families)


def test_many_objects_come_in_small_slices():
    """There are breaks between objects, and no slice is long."""
    many = MetricsSnapshot(NOW, outcomes=[OUTCOMES["wpa moves"]] * 2000)
    slices = list(exposition(many))
    assert slices.count(b"") == 100
    assert max(each.count(b"\n") for each in slices) == 500


@given(st.text())
@example('back\\slash "quote"\nline')
@example("\\n")
@example("ü\r\x00\x85\u2028")
def test_label_values_come_back_as_they_were(value):
    """Any name of a metric is escaped correctly."""
    line = f"hypot_plans{{{labelled(state=value)}}} 1\n"
    (family,) = text_string_to_metric_families(line)
    assert family.samples[0].labels == {"state": value}


@given(st.floats() | st.integers(-(2**53), 2**53))
def test_values_come_back_as_they_were(value):
    """NaN and infinities are included."""
    (family,) = text_string_to_metric_families(f"hypot_plans {shown(value)}\n")
    back = family.samples[0].value
    assert back == value or (isnan(back) and isnan(value))


def test_the_page_has_both_tables():
    """The page has them as generated."""
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    assert f"<!-- generated: gauges -->\n{table()}\n<!-- end -->" in page
    assert f"<!-- generated: events -->\n{reasons_table()}\n<!-- end -->" in page
