"""The settings for all Tortoises: files, and annotations of namespaces and objects."""

import json
from dataclasses import fields, replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.hpa.fields import Behavior
from hypot.kinds.tortoise.settings import (
    ANNOTATIONS,
    PREFIX,
    InvalidTortoiseSettings,
    TortoiseSettings,
    annotation_problems,
    schema,
)

BASE = TortoiseSettings()
CHANGED = {
    "slotHours": 6,
    "slotPeriod": "daily",
    "windowWeeks": 2,
    "timeZone": "Asia/Tokyo",
    "maxReplicasMultiplier": 3.5,
    "minReplicasMultiplier": 0.25,
    "minimumMinReplicas": 1,
    "maximumMinReplicas": 5,
    "preferredMaxReplicas": 10,
    "maximumMaxReplicas": 20,
    "targetRule": "plain",
    "minimumTargetUtilization": 50,
    "maximumTargetUtilization": 80,
    "targetMaxIncrease": 10,
    "targetUpdateInterval": "3h",
    "minimumCpuRequest": "10m",
    "minimumMemoryRequest": "20Mi",
    "maximumCpuRequest": 5,
    "maximumMemoryRequest": "8Gi",
    "minimumCpuRequestPerContainer": {"istio-proxy": "100m"},
    "minimumMemoryRequestPerContainer": {"istio-proxy": "1Mi"},
    "minimumCpuLimit": "1",
    "resourceLimitMultiplier": {"cpu": 3, "memory": 1},
    "verticalBuffer": 0.2,
    "maxScalingDownRatio": 0.5,
    "shrinksPerDay": 2,
    "replicaReductionFactor": 0.9,
    "emergencyGracePeriod": 60,
    "defaultHpaBehavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 60}]}},
}


def noted(**settings):
    return {f"{PREFIX}{name.replace('_', '-')}": text for name, text in settings.items()}


def test_every_setting_is_described():
    """Each has a reason, and all but hypot's own the key of the original."""
    for f in fields(TortoiseSettings):
        assert f.metadata["why"].endswith("."), f.name
    own = {f.name for f in fields(TortoiseSettings) if not f.metadata["flag"]}
    assert own == {"window_weeks", "target_rule", "shrinks_per_day"}


def test_the_defaults():
    """Those of the original, but in UTC."""
    assert BASE.to_mapping() == {
        "slotHours": 1,
        "slotPeriod": "weekly",
        "windowWeeks": 4,
        "timeZone": "UTC",
        "maxReplicasMultiplier": 2.0,
        "minReplicasMultiplier": 0.5,
        "minimumMinReplicas": 3,
        "maximumMinReplicas": 10,
        "preferredMaxReplicas": 30,
        "maximumMaxReplicas": 100,
        "targetRule": "fixed-point",
        "minimumTargetUtilization": 65,
        "maximumTargetUtilization": 90,
        "targetMaxIncrease": 5,
        "targetUpdateInterval": 86400.0,
        "minimumCpuRequest": "50m",
        "minimumMemoryRequest": "50Mi",
        "maximumCpuRequest": "10",
        "maximumMemoryRequest": "10Gi",
        "minimumCpuRequestPerContainer": {},
        "minimumMemoryRequestPerContainer": {},
        "minimumCpuLimit": "0",
        "resourceLimitMultiplier": {},
        "verticalBuffer": 0.1,
        "maxScalingDownRatio": 0.8,
        "shrinksPerDay": 1,
        "replicaReductionFactor": 0.95,
        "emergencyGracePeriod": 300.0,
        "defaultHpaBehavior": {
            "scaleUp": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 60}]},
            "scaleDown": {"policies": [{"type": "Percent", "value": 2, "periodSeconds": 90}]},
        },
    }
    assert TortoiseSettings.from_mapping({}) == BASE
    assert hash(BASE) == hash(TortoiseSettings())


def test_everything_can_be_set():
    """And is written as it is read."""
    changed = TortoiseSettings.from_mapping(CHANGED)
    assert set(CHANGED) == set(BASE.to_mapping())
    same = [f.name for f in fields(TortoiseSettings) if getattr(changed, f.name) == getattr(BASE, f.name)]
    assert same == []
    assert (changed.target_update_interval, changed.maximum_cpu_request) == (10800.0, 5000)
    assert changed.minimum_memory_request_per_container == {"istio-proxy": 1024**2}
    assert isinstance(changed.default_hpa_behavior, Behavior)
    assert TortoiseSettings.from_mapping(changed.to_mapping()) == changed
    json.dumps(changed.to_mapping())
    for data in (CHANGED, changed.to_mapping(), BASE.to_mapping(), {}):
        jsonschema.validate(data, schema())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"slotHours": 5}, "slotHours: 5 does not divide the 24 hours of a day"),
        ({"slotHours": 25}, "slotHours: 25 must be at least 1 and at most 24"),
        ({"slotHours": 0}, "slotHours: 0 must be at least 1 and at most 24"),
        ({"slotHours": "2"}, "slotHours: '2' is not a whole number such as 2"),
        ({"slotHours": True}, "slotHours: True is not a whole number such as 2"),
        ({"slotHours": None}, "slotHours: None is not a whole number such as 2"),
        ({"slotPeriod": "monthly"}, "slotPeriod: 'monthly' must be weekly or daily"),
        ({"targetRule": 3}, "targetRule: 3 must be fixed-point or plain"),
        ({"timeZone": "Mars/Olympus"}, "timeZone: 'Mars/Olympus' is not a time zone such as UTC or Europe/Berlin"),
        ({"timeZone": ""}, "timeZone: '' is not a time zone"),
        ({"timeZone": "../etc/passwd"}, "timeZone: '../etc/passwd' is not a time zone"),
        ({"timeZone": 9}, "timeZone: 9 is not a time zone"),
        ({"maximumTargetUtilization": 101}, "maximumTargetUtilization: 101 must be at least 1 and at most 100"),
        ({"targetMaxIncrease": 0}, "targetMaxIncrease: 0 must be at least 1 and at most 100"),
        (
            {"minimumTargetUtilization": 95},
            "minimumTargetUtilization: 95 must not be above maximumTargetUtilization, which is 90",
        ),
        ({"minimumMinReplicas": 10}, "minimumMinReplicas: 10 must be below maximumMinReplicas, which is 10"),
        (
            {"minimumMinReplicas": 99},
            "minimumMinReplicas: 99 leaves no count between it and maximumMaxReplicas, for the preferred maximum",
        ),
        ({"minimumMinReplicas": 0}, "minimumMinReplicas: 0 must be at least 1 and at most 10000"),
        ({"maximumMinReplicas": 101}, "maximumMinReplicas: 101 must not be above maximumMaxReplicas, which is 100"),
        ({"preferredMaxReplicas": 3}, "minimumMinReplicas: 3 must be below preferredMaxReplicas, which is 3"),
        ({"preferredMaxReplicas": 100}, "preferredMaxReplicas: 100 must be below maximumMaxReplicas, which is 100"),
        ({"maximumMaxReplicas": 10_001}, "maximumMaxReplicas: 10001 must be at least 3 and at most 10000"),
        ({"maxScalingDownRatio": 1.1}, "maxScalingDownRatio: 1.1 must be at least 0 and at most 1"),
        ({"minReplicasMultiplier": 0}, "minReplicasMultiplier: 0 must be above 0 and at most 1"),
        ({"maxReplicasMultiplier": 0.5}, "maxReplicasMultiplier: 0.5 must be at least 1"),
        ({"maxReplicasMultiplier": float("nan")}, "maxReplicasMultiplier: nan must be"),
        ({"minimumCpuRequest": "x"}, "minimumCpuRequest: 'x' is not a quantity"),
        ({"minimumCpuRequest": 11}, "minimumCpuRequest: 11 must not be above maximumCpuRequest, which is 10"),
        ({"resourceLimitMultiplier": {"cpu": 0}}, "resourceLimitMultiplier: {'cpu': 0} cpu: 0 must be at least 1"),
        ({"resourceLimitMultiplier": {"gpu": 1}}, "resourceLimitMultiplier: {'gpu': 1} gpu is not a resource"),
        ({"resourceLimitMultiplier": 2}, "resourceLimitMultiplier: 2 is not a mapping"),
        ({"minimumCpuRequestPerContainer": {"a": True}}, "minimumCpuRequestPerContainer: {'a': True} a: True is not"),
        (
            {"minimumMemoryRequestPerContainer": {"a": "11Gi"}},
            "minimumMemoryRequestPerContainer: a must not get more than maximumMemoryRequest, which is 10Gi",
        ),
        ({"defaultHpaBehavior": 3}, "defaultHpaBehavior: 3 is not a mapping with scaleUp or scaleDown"),
        ({"defaultHpaBehavior": {"up": {}}}, "defaultHpaBehavior: {'up': {}} up: strict decoding error: unknown field"),
        (
            {"defaultHpaBehavior": {"scaleUp": {"stabilizationWindowSeconds": -1}}},
            "defaultHpaBehavior: {'scaleUp': {'stabilizationWindowSeconds': -1}} scaleUp.stabilizationWindowSeconds",
        ),
        ({"slothours": 1}, "slothours: unknown setting; did you mean slotHours?"),
        ({"TimeZone": "UTC"}, "TimeZone: unknown setting; it is timeZone here"),
        (
            {"RangeOfMinMaxReplicasRecommendationHours": 2},
            "RangeOfMinMaxReplicasRecommendationHours: unknown setting; it is slotHours here",
        ),
        ({"x": 1}, "x: unknown setting; docs/settings.md lists those of tortoise"),
        ({"TortoiseUpdateInterval": "15s"}, "TortoiseUpdateInterval: unknown setting; it is syncPeriod outside of"),
        ({"FeatureFlags": []}, "FeatureFlags: unknown setting; leave it out: what they guard is always on"),
    ],
)
def test_wrong_settings(data, problem):
    """The message names the setting."""
    with pytest.raises(InvalidTortoiseSettings) as error:
        TortoiseSettings.from_mapping(data)
    assert any(text.startswith(problem) for text in error.value.problems), error.value.problems


def test_all_problems_at_once():
    """In one exception."""
    with pytest.raises(InvalidTortoiseSettings) as error:
        TortoiseSettings.from_mapping({"slotHours": 7, "timeZone": "x", "minimumMinReplicas": 50, "y": 1})
    names = [text.partition(":")[0] for text in error.value.problems]
    assert names == ["timeZone", "y", "slotHours", "minimumMinReplicas", "minimumMinReplicas"]
    assert str(error.value) == "; ".join(error.value.problems)


class TestOverrides:
    """Annotations of a namespace and of an object."""

    def test_an_object_wins_over_its_namespace(self):
        """And both over the administrator's file."""
        namespace = noted(maximum_max_replicas="200", time_zone="Asia/Tokyo")
        settings, problems = BASE.overridden(namespace, noted(maximum_max_replicas="300", target_update_interval="12h"))
        assert problems == ()
        assert settings == replace(
            BASE, maximum_max_replicas=300, time_zone="Asia/Tokyo", target_update_interval=43200.0
        )

    def test_others_are_ignored(self):
        """Without settings among them the same object is given back."""
        assert BASE.overridden({"a": "b", "hypot.dev/round-cpu": "1", 3: "4", f"{PREFIX}slot-hours": 3}) == (BASE, ())
        assert BASE.overridden({})[0] is BASE

    def test_every_plain_setting_has_an_annotation(self):
        """Mappings and the behavior are fields of the spec."""
        without = {f.name for f in fields(TortoiseSettings)} - set(ANNOTATIONS.values())
        assert without == {
            "minimum_cpu_request_per_container",
            "minimum_memory_request_per_container",
            "resource_limit_multiplier",
            "default_hpa_behavior",
        }

    @pytest.mark.parametrize(
        ("most", "least", "largest_least", "preferred"), [(8, 3, 8, 7), (5, 3, 5, 4), (4, 2, 4, 3), (3, 1, 3, 2)]
    )
    def test_a_low_maximum_alone_is_valid(self, most, least, largest_least, preferred):
        """What is not written gives way: a maximum that is ignored in silence costs what it should save."""
        settings, problems = BASE.overridden(noted(maximum_max_replicas=str(most)))
        assert problems == ()
        assert (settings.minimum_min_replicas, settings.maximum_min_replicas) == (least, largest_least)
        assert (settings.preferred_max_replicas, settings.maximum_max_replicas) == (preferred, most)

    def test_a_high_minimum_alone_is_valid(self):
        """As long as it leaves room below the maximum."""
        settings, problems = BASE.overridden(noted(minimum_min_replicas="50"))
        assert problems == ()
        assert (settings.maximum_min_replicas, settings.preferred_max_replicas) == (51, 51)

    @pytest.mark.parametrize(
        ("layers", "wrong", "kept"),
        [
            ([noted(slot_hours="7")], ["slot-hours"], {}),
            ([noted(slot_hours="x", window_weeks="2")], ["slot-hours"], {"window_weeks": 2}),
            ([noted(maximum_max_replicas="2")], ["maximum-max-replicas"], {}),
            ([noted(maximum_max_replicas="4", minimum_min_replicas="3")], ["minimum-min-replicas"], {}),
            ([noted(preferred_max_replicas="3")], ["preferred-max-replicas"], {}),
            ([noted(minimum_min_replicas="100")], ["minimum-min-replicas"], {}),
            ([noted(minimum_target_utilization="95")], ["minimum-target-utilization"], {}),
            (
                [noted(preferred_max_replicas="50", maximum_max_replicas="40", shrinks_per_day="0")],
                ["preferred-max-replicas"],
                {"shrinks_per_day": 0},
            ),
            # What an object writes cannot undo what its namespace says.
            (
                [noted(maximum_max_replicas="40"), noted(preferred_max_replicas="50")],
                ["preferred-max-replicas"],
                {"maximum_max_replicas": 40},
            ),
            ([noted(maximum_replicas="4")], ["maximum-replicas"], {}),
        ],
    )
    def test_what_is_wrong_is_ignored_and_reported(self, layers, wrong, kept):
        """The rest applies."""
        settings, problems = BASE.overridden(*layers)
        assert [problem.where for problem in problems] == [
            ("metadata", "annotations", f"{PREFIX}{name}") for name in wrong
        ]
        assert settings == replace(BASE, **kept)

    def test_an_object_is_checked_alone(self):
        """Two values of one object must agree. A file may allow what the defaults do not: that is a warning."""
        [alone] = annotation_problems(noted(preferred_max_replicas="500"))
        assert alone.severity == "warning"
        assert alone.message == (
            "is ignored unless the administrator has other settings: preferred-max-replicas 500 must be below "
            "maximum-max-replicas, which is 100 by default"
        )
        assert list(annotation_problems(noted(maximum_max_replicas="3"))) == []
        [low] = annotation_problems(noted(maximum_max_replicas="2"))
        assert (low.severity, low.message) == ("error", "must be at least 3 and at most 10000")
        both = noted(preferred_max_replicas="50", maximum_max_replicas="40")
        assert [problem.field for problem in annotation_problems(both)] == [
            "metadata.annotations.hypot.dev/tortoise-preferred-max-replicas"
        ]


texts = st.text(max_size=6) | st.sampled_from(["1", "2", "24", "200", "0.5", "1e3", "1Gi", "daily", "UTC", "-1", "nan"])
layers_of = st.lists(st.dictionaries(st.sampled_from(list(ANNOTATIONS)), texts, max_size=6), max_size=3)


@given(layers_of)
def test_overrides_never_break_the_rules(layers):
    """Whatever is annotated, the result is valid as a file."""
    settings, _ = BASE.overridden(*layers)
    assert TortoiseSettings.from_mapping(settings.to_mapping()) == settings


values = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.dictionaries(texts, texts, max_size=2)


@given(st.dictionaries(st.sampled_from(list(CHANGED)) | texts, values, max_size=5))
def test_anything_is_read_or_refused(data):
    """With one exception, of one type."""
    try:
        settings = TortoiseSettings.from_mapping(data)
    except InvalidTortoiseSettings:
        return
    jsonschema.validate(settings.to_mapping(), schema())
    assert TortoiseSettings.from_mapping(settings.to_mapping()) == settings
