"""The knobs of the size recommender: annotations, settings files, and overrides in the object."""

import json
from dataclasses import fields, replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.vpa.fields import ContainerPolicy, UpdatePolicy
from hypot.kinds.vpa.knobs import ANNOTATIONS, MIB, Knobs, for_container, for_updates, knob_problems, knobs_from, schema

BASE = Knobs()
WHERE = ("metadata", "annotations")
CHANGED = Knobs(
    lower_cpu_percentile=0.4,
    target_cpu_percentile=1 / 3,
    safety_margin=0.0,
    pod_min_cpu=10,
    pod_min_memory=1_000_001,
    cpu_half_life=6.5 * 3600,
    memory_interval_count=3,
    oom_bump_up_ratio=1.5,
    round_memory=16 * MIB,
    max_allowed_cpu=4000,
    max_allowed_memory=2**33,
    in_place_skips_budget=True,
)


def noted(**knobs):
    return {f"hypot.dev/{name.replace('_', '-')}": text for name, text in knobs.items()}


def test_every_knob_is_described():
    """Each has a reason, a unit, and the upstream flag that it stands for."""
    for f in fields(Knobs):
        assert f.metadata["why"].endswith("."), f.name
        assert f.metadata["flag"].startswith("--"), f.name
        assert f.metadata["unit"] in {"", "share", "seconds", "millicores", "bytes"}, f.name


def test_the_defaults_are_those_of_upstream():
    """As in its flags."""
    assert BASE.to_mapping() == {
        "lowerCpuPercentile": 0.5,
        "targetCpuPercentile": 0.9,
        "upperCpuPercentile": 0.95,
        "lowerMemoryPercentile": 0.5,
        "targetMemoryPercentile": 0.9,
        "upperMemoryPercentile": 0.95,
        "safetyMargin": 0.15,
        "podMinCpu": "25m",
        "podMinMemory": "250Mi",
        "confidenceIntervalCpu": 86400.0,
        "confidenceIntervalMemory": 86400.0,
        "cpuHalfLife": 86400.0,
        "memoryHalfLife": 86400.0,
        "memoryInterval": 86400.0,
        "memoryIntervalCount": 8,
        "oomBumpUpRatio": 1.2,
        "oomMinBumpUp": "100Mi",
        "roundCpu": "1m",
        "roundMemory": "1",
        "minReplicas": 2,
        "evictionTolerance": 0.5,
        "updateThreshold": 0.1,
        "lifetimeThreshold": 43200.0,
        "evictAfterOom": 600.0,
        "inPlaceSkipsBudget": False,
    }


READABLE = [
    ("target_cpu_percentile", "0.95", 0.95),
    ("upper_cpu_percentile", "1", 1.0),
    ("upper_memory_percentile", "990m", 0.99),
    ("safety_margin", "0", 0.0),
    ("safety_margin", "2.5", 2.5),
    ("pod_min_cpu", "0", 0),
    ("pod_min_cpu", "1.5", 1500),
    ("pod_min_memory", "100Mi", 100 * MIB),
    ("cpu_half_life", "6h", 21600.0),
    ("cpu_half_life", "6h30m", 23400.0),
    ("cpu_half_life", "1.5h", 5400.0),
    ("memory_half_life", "90", 90.0),
    ("memory_interval", "500ms", 0.5),
    ("memory_interval_count", "3", 3),
    ("oom_bump_up_ratio", "1", 1.0),
    ("oom_min_bump_up", "0", 0),
    ("round_cpu", "100m", 100),
    ("max_allowed_cpu", "4", 4000),
    ("max_allowed_memory", "none", None),
    ("min_replicas", "1", 1),
    ("eviction_tolerance", "0", 0.0),
    ("lifetime_threshold", "0s", 0.0),
    ("in_place_skips_budget", "true", True),
    ("in_place_skips_budget", "0", False),
]


@pytest.mark.parametrize(("name", "text", "value"), READABLE)
def test_an_annotation_sets_a_knob(name, text, value):
    """Only that knob changes."""
    base = replace(CHANGED, max_allowed_memory=5)
    knobs = knobs_from({**noted(**{name: text}), "hypot.dev/ignore": "x", "other": "y"}, base)
    assert knobs == replace(base, **{name: value})
    assert list(knob_problems(noted(**{name: text}), WHERE)) == []


UNREADABLE = [
    ("target_cpu_percentile", "0", "must be above 0 and at most 1"),
    ("target_cpu_percentile", "1.01", "must be above 0 and at most 1"),
    ("target_cpu_percentile", "95%", "is not a fraction such as 0.9"),
    ("target_cpu_percentile", "", "is not a fraction such as 0.9"),
    ("safety_margin", "-0.1", "must be at least 0"),
    ("safety_margin", "nan", "is not a number such as 0.15"),
    ("pod_min_cpu", "-1m", "must be at least 0"),
    ("pod_min_memory", "100MB", "is not a quantity such as 250Mi"),
    ("pod_min_memory", "1E", "must be at least 0 and at most 100T"),
    ("cpu_half_life", "0s", "must be above 0"),
    ("cpu_half_life", "1d", "is not seconds, or a duration such as 6h30m"),
    ("cpu_half_life", "-6h", "is not seconds, or a duration such as 6h30m"),
    ("memory_interval_count", "0", "must be at least 1"),
    ("memory_interval_count", "1.5", "is not a whole number such as 2"),
    ("oom_bump_up_ratio", "0.9", "must be at least 1"),
    ("round_cpu", "0", "must be at least 1m"),
    ("max_allowed_cpu", "0", "must be at least 1m"),
    ("pod_min_cpu", "none", "is not a quantity such as 25m"),
    ("eviction_tolerance", "1.1", "must be at least 0 and at most 1"),
    ("min_replicas", "0", "must be at least 1"),
    ("in_place_skips_budget", "yes", "is not true or false"),
]


@pytest.mark.parametrize(("name", "text", "message"), UNREADABLE)
def test_an_invalid_value_changes_nothing_and_is_reported(name, text, message):
    """The problem has the place and says what would be valid."""
    assert knobs_from(noted(**{name: text}), CHANGED) is CHANGED
    (problem,) = knob_problems(noted(**{name: text}), WHERE)
    (key,) = noted(**{name: ""})
    assert (problem.rule, problem.where, problem.severity) == ("knob", (*WHERE, key), "error")
    assert problem.message.startswith(message)


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("hypot.dev/target-cpu-percentil", "hypot.dev/target-cpu-percentile"),
        ("hypot.dev/half-life-cpu", None),
        ("hypot.dev/cpu-halflife", "hypot.dev/cpu-half-life"),
        ("hypot.dev/safetyMargin", "hypot.dev/safety-margin"),
        *[(f"hypot.dev/{word}", None) for word in ("ignore", "recommendations", "resize", "urgent")],
        ("other.dev/cpu-halflife", None),
    ],
)
def test_a_misspelt_knob_is_reported(key, meant):
    """Annotations that are not knobs are ignored."""
    hints = [problem.hint for problem in knob_problems({key: "1"}, WHERE)]
    assert hints == ([] if meant is None else [f"did you mean {meant}?"])


@pytest.mark.parametrize(
    ("knobs", "places"),
    [
        ({"target_cpu_percentile": "0.97"}, ["target-cpu-percentile"]),
        ({"target_cpu_percentile": "0.97", "upper_cpu_percentile": "0.99"}, []),
        ({"lower_memory_percentile": "0.99"}, ["lower-memory-percentile"]),
        ({"upper_cpu_percentile": "0.3"}, ["upper-cpu-percentile"]),
        ({"target_cpu_percentile": "0.5"}, []),
    ],
)
def test_percentiles_out_of_order_are_reported(knobs, places):
    """A pod of the recommended size would always be outside its bounds."""
    problems = list(knob_problems(noted(**knobs), WHERE))
    assert [problem.where[-1] for problem in problems] == [f"hypot.dev/{place}" for place in places]
    assert all((problem.rule, problem.severity) == ("knob-order", "warning") for problem in problems)


@given(st.dictionaries(st.sampled_from(list(ANNOTATIONS)) | st.text(max_size=8), st.text(max_size=8) | st.integers()))
def test_no_annotation_makes_reading_fail(annotations):
    """Accepted values are in range, and other values are reported."""
    knobs = knobs_from(annotations, BASE)
    assert Knobs.from_mapping(knobs.to_mapping()) == knobs
    wrong = {problem.where[-1] for problem in knob_problems(annotations, WHERE) if problem.severity == "error"}
    taken = {key: text for key, text in annotations.items() if key not in wrong}
    assert knobs_from(taken, BASE) == knobs


class TestSettings:
    """Knobs in a settings file."""

    @pytest.mark.parametrize("knobs", [BASE, CHANGED])
    def test_there_and_back(self, knobs):
        """Knobs survive JSON, and match the schema."""
        written = json.loads(json.dumps(knobs.to_mapping()))
        jsonschema.validate(written, schema())
        assert Knobs.from_mapping(written) == knobs

    def test_what_is_absent_has_its_default(self):
        """Also an empty mapping; null means no bound."""
        assert Knobs.from_mapping({}) == Knobs.from_mapping({"maxAllowedCpu": None}) == BASE
        assert Knobs.from_mapping({"cpuHalfLife": "6h", "podMinCpu": 0.5, "inPlaceSkipsBudget": True}) == replace(
            BASE, cpu_half_life=21600.0, pod_min_cpu=500, in_place_skips_budget=True
        )

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            ({"cpuHalflife": 1}, "cpuHalflife: unknown knob; did you mean cpuHalfLife?"),
            ({"colour": 1}, "colour: unknown knob; known are lowerCpuPercentile, "),
            ({"targetCpuPercentile": 2}, "targetCpuPercentile: 2 must be above 0 and at most 1"),
            ({"targetCpuPercentile": "0.9"}, "targetCpuPercentile: '0.9' is not a fraction such as 0.9"),
            ({"targetCpuPercentile": True}, "targetCpuPercentile: True is not a fraction such as 0.9"),
            ({"targetCpuPercentile": None}, "targetCpuPercentile: None is not a fraction such as 0.9"),
            ({"safetyMargin": float("inf")}, "safetyMargin: inf must be at least 0"),
            ({"memoryIntervalCount": 1.5}, "memoryIntervalCount: 1.5 is not a whole number such as 2"),
            ({"podMinMemory": []}, "podMinMemory: [] is not a quantity such as 250Mi"),
            ({"inPlaceSkipsBudget": "true"}, "inPlaceSkipsBudget: 'true' is not true or false"),
        ],
    )
    def test_a_wrong_knob_is_named(self, data, message):
        """The message says what would be valid."""
        with pytest.raises(ValueError, match=r".") as raised:
            Knobs.from_mapping(data)
        assert str(raised.value).startswith(message)

    @pytest.mark.parametrize(
        "data",
        [{"cpuHalfLife": "1d"}, {"cpuHalfLife": 0}, {"podMinCpu": "x"}, {"minReplicas": 0}, {"colour": 1}],
    )
    def test_the_schema_refuses_what_reading_refuses(self, data):
        """So an editor can show the error."""
        assert not jsonschema.Draft202012Validator(schema()).is_valid(data)
        with pytest.raises(ValueError, match=r"."):
            Knobs.from_mapping(data)


class TestOverlays:
    """Knobs that the object itself overrides."""

    def test_a_container_s_policy(self):
        """Its four fields override the knobs."""
        policy = ContainerPolicy(
            "app", oom_bump_up_ratio="1500m", oom_min_bump_up="1Mi", memory_interval=60, memory_interval_count=2
        )
        expected = {
            "oom_bump_up_ratio": 1.5,
            "oom_min_bump_up": MIB,
            "memory_interval": 60.0,
            "memory_interval_count": 2,
        }
        assert for_container(BASE, policy) == replace(BASE, **expected)

    @pytest.mark.parametrize(
        "policy",
        [
            None,
            ContainerPolicy("app"),
            ContainerPolicy("app", oom_bump_up_ratio="0.5", memory_interval=0, memory_interval_count=-1),
            ContainerPolicy("app", oom_bump_up_ratio=[], oom_min_bump_up="x", memory_interval="1h"),
        ],
    )
    def test_nothing_or_nonsense_changes_nothing(self, policy):
        """The same knobs are returned."""
        assert for_container(BASE, policy) is BASE

    def test_an_update_policy(self):
        """Its two fields override the knobs."""
        policy = UpdatePolicy("Off", min_replicas=5, evict_after_oom=30)
        assert for_updates(BASE, policy) == replace(BASE, min_replicas=5, evict_after_oom=30.0)
        assert for_updates(BASE, None) is for_updates(BASE, UpdatePolicy("Off", min_replicas=0)) is BASE
