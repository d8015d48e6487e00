"""The settings of the deciding controller."""

import json

import jsonschema
import pytest

from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.values.version import NEWEST
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.settings import Settings, SettingsError, settings_schema

CHANGED = Settings(
    kubernetes=(1, 34),
    gates={"HPAScaleToZero": True},
    tolerance=0.05,
    sync_period=5.0,
    downscale_window=60.0,
    cpu_initialization_period=120.0,
    initial_readiness_delay=10.0,
    scale_up_factor=8.0,
    scale_up_floor=2.0,
)


def test_the_defaults_are_the_controller_s():
    """The defaults are the controller's flags in the newest version."""
    assert Settings().to_dict() == {
        "kubernetes": "1.37",
        "gates": {},
        "tolerance": 0.1,
        "syncPeriod": 15.0,
        "downscaleWindow": 300.0,
        "cpuInitializationPeriod": 300.0,
        "initialReadinessDelay": 30.0,
        "scaleUpFactor": 2.0,
        "scaleUpFloor": 4.0,
        "vpa": Knobs().to_mapping(),
        "tortoise": TortoiseSettings().to_mapping(),
    }
    assert NEWEST == (1, 37)


@pytest.mark.parametrize("settings", [Settings(), CHANGED])
def test_there_and_back(settings):
    """Settings survive JSON, and the written form fits the schema."""
    written = json.loads(json.dumps(settings.to_dict()))
    jsonschema.validate(written, settings_schema())
    assert Settings.from_dict(written) == settings


def test_the_schema_describes_every_setting():
    """Every setting is in the schema, with a description."""
    properties = settings_schema()["properties"]
    assert list(properties) == list(Settings().to_dict())
    assert all(found["description"].endswith(".") for found in properties.values())


@pytest.mark.parametrize(
    ("text", "version"), [("1.36", (1, 36)), ("v1.36.4", (1, 36)), ("1.36+", (1, 36)), (1.36, (1, 36))]
)
def test_versions(text, version):
    """Versions are read as people and clusters write them."""
    assert Settings.from_dict({"kubernetes": text}).kubernetes == version


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ({"tolerence": 0.1}, "tolerence"),
        ({"sync_period": 5}, "sync_period"),
        ({"tolerance": "0.1"}, "tolerance"),
        ({"tolerance": True}, "tolerance"),
        ({"tolerance": -0.1}, "tolerance"),
        ({"tolerance": float("nan")}, "tolerance"),
        ({"downscaleWindow": float("inf")}, "downscaleWindow"),
        ({"downscaleWindow": None}, "downscaleWindow"),
        ({"syncPeriod": 0}, "syncPeriod"),
        ({"kubernetes": "2.0"}, "kubernetes"),
        ({"kubernetes": "1.22"}, "kubernetes"),
        ({"kubernetes": None}, "kubernetes"),
        ({"gates": ["HPAScaleToZero"]}, "gates"),
        ({"gates": {"HPAMoon": True}}, "gates"),
        ({"gates": {"HPAScaleToZero": "true"}}, "gates"),
    ],
)
def test_what_cannot_be_used_is_named(data, name):
    """The message begins with the setting."""
    with pytest.raises(SettingsError, match=rf"^{name}: "):
        Settings.from_dict(data)


@pytest.mark.parametrize(
    ("gate", "version", "gates", "is_open"),
    [
        ("HPAScaleToZero", (1, 36), {}, False),
        ("HPAScaleToZero", (1, 37), {}, True),
        ("HPAScaleToZero", (1, 36), {"HPAScaleToZero": True}, True),
        ("HPAScaleToZero", (1, 37), {"HPAScaleToZero": False}, False),
        ("HPAConfigurableTolerance", (1, 34), {}, False),
        ("HPAConfigurableTolerance", (1, 35), {}, True),
        ("HPAConfigurableTolerance", (1, 37), {"HPAConfigurableTolerance": False}, True),
        ("HPAConfigurableTolerance", (1, 32), {"HPAConfigurableTolerance": True}, False),
        ("PodLevelResources", (1, 34), {}, True),
        ("PodLevelResources", (1, 33), {}, False),
    ],
)
def test_gates(gate, version, gates, is_open):
    """A gate is as the version has it, or as an administrator set it where that is possible."""
    assert Settings(kubernetes=version, gates=gates).gate(gate) is is_open


def test_settings_are_frozen_and_hashable():
    """Settings are a value, gates included."""
    assert hash(CHANGED) == hash(Settings.from_dict(CHANGED.to_dict()))
    with pytest.raises(AttributeError):
        CHANGED.tolerance = 0.2
