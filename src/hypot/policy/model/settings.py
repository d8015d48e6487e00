"""The settings of a controller: its flags, its version and its feature gates."""

from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, Self

from hypot.core.dataclass import dataclass
from hypot.kinds.hpa.controller import SYNC_PERIOD, TOLERANCE
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.tortoise.settings import schema as tortoise_schema
from hypot.kinds.values.names import wire_name
from hypot.kinds.values.version import GATES, NEWEST, Version, gate_open, parse_version, show_version
from hypot.kinds.vpa.knobs import Knobs
from hypot.kinds.vpa.knobs import schema as knobs_schema


class SettingsError(ValueError):
    """Invalid settings; the message names the wrong setting."""


def _seconds(default: float, why: str, flag: str = "") -> float:
    described: float = field(default=default, metadata={"unit": "seconds", "why": why, "flag": flag})
    return described


def _number(default: float, why: str, flag: str = "") -> float:
    described: float = field(default=default, metadata={"unit": "", "why": why, "flag": flag})
    return described


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; each default is that of the Kubernetes controller.

    >>> Settings(kubernetes=(1, 34)).tolerance
    0.1
    """

    kubernetes: Version = field(default=NEWEST, metadata={"why": "The version of the cluster, whose rules apply."})
    gates: Mapping[str, bool] = field(
        default_factory=dict, hash=False, metadata={"why": "Feature gates that differ from the version's defaults."}
    )
    tolerance: float = _number(
        TOLERANCE,
        "How far usage may be from its target, as a fraction, before the replica count changes.",
        "--horizontal-pod-autoscaler-tolerance",
    )
    sync_period: float = _seconds(
        SYNC_PERIOD, "How often the controller decides.", "--horizontal-pod-autoscaler-sync-period"
    )
    downscale_window: float = _seconds(
        300.0,
        "How long the highest recommendation counts if no behavior says otherwise.",
        "--horizontal-pod-autoscaler-downscale-stabilization",
    )
    cpu_initialization_period: float = _seconds(
        300.0,
        "Pods use extra cpu while they start: cpu samples of younger pods count only once the pod is ready.",
        "--horizontal-pod-autoscaler-cpu-initialization-period",
    )
    initial_readiness_delay: float = _seconds(
        30.0,
        "A pod that became unready within this time after its start counts as never ready.",
        "--horizontal-pod-autoscaler-initial-readiness-delay",
    )
    scale_up_factor: float = _number(2.0, "Without a behavior, one decision multiplies the count by at most this.")
    scale_up_floor: float = _number(4.0, "Without a behavior, one decision may always reach this count.")
    vpa: Knobs = field(
        default=Knobs(), metadata={"why": "The flags of the Vertical Pod Autoscaler's components, by their own names."}
    )
    tortoise: TortoiseSettings = field(
        default=TortoiseSettings(),
        metadata={"why": "What holds for every Tortoise; annotations of a namespace and of an object override it."},
    )

    def gate(self, name: str) -> bool:
        return gate_open(name, self.kubernetes, self.gates)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read and check settings by name; an unknown name is an error."""
        names = {wire_name(f.name): f.name for f in fields(cls)}
        for name in data:
            if name not in names:
                raise SettingsError(f"{name}: no such setting; known are {', '.join(names)}")
        return cls(**{names[name]: _checked(name, value) for name, value in data.items()})

    def to_dict(self) -> dict[str, Any]:
        values = {wire_name(f.name): getattr(self, f.name) for f in fields(self)}
        shown = {"kubernetes": show_version(self.kubernetes), "gates": dict(self.gates), "vpa": self.vpa.to_mapping()}
        return {**values, **shown, "tortoise": self.tortoise.to_mapping()}


def _checked(name: str, value: Any) -> Any:
    if name == "kubernetes":
        try:
            return parse_version(str(value))
        except ValueError as error:
            raise SettingsError(f"kubernetes: {error}") from error
    if name == "gates":
        return _checked_gates(value)
    if name == "vpa":
        return _checked_section("vpa", value, "safetyMargin: 0.1", Knobs.from_mapping)
    if name == "tortoise":
        return _checked_section("tortoise", value, "minimumMinReplicas: 3", TortoiseSettings.from_mapping)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise SettingsError(f"{name}: {value!r} is not a number of at least 0")
    if name == "syncPeriod" and value == 0:
        raise SettingsError("syncPeriod: must be more than 0")
    return float(value)


def _checked_section(name: str, value: Any, example: str, read: Callable[[Mapping[str, Any]], Any]) -> Any:
    if not isinstance(value, Mapping):
        raise SettingsError(f"{name}: write a mapping, such as '{example}'")
    try:
        return read(value)
    except ValueError as error:
        raise SettingsError(f"{name}: {error}") from error


def _checked_gates(value: Any) -> dict[str, bool]:
    if not isinstance(value, Mapping):
        raise SettingsError("gates: write a mapping of feature gate to true or false")
    for gate, is_open in value.items():
        if gate not in GATES:
            raise SettingsError(f"gates: {gate} does not affect decisions; known are {', '.join(sorted(GATES))}")
        if not isinstance(is_open, bool):
            raise SettingsError(f"gates: {gate} must be true or false, not {is_open!r}")
    return dict(value)


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    properties: dict[str, Any] = {}
    for f in fields(Settings):
        properties[wire_name(f.name)] = {"description": f.metadata["why"], "type": "number", "minimum": 0}
    kubernetes, gates = properties["kubernetes"], properties["gates"]
    properties["kubernetes"] = {"description": kubernetes["description"], "type": ["string", "number"]}
    properties["gates"] = {
        "description": gates["description"],
        "type": "object",
        "properties": {gate: {"type": "boolean"} for gate in sorted(GATES)},
        "additionalProperties": False,
    }
    properties["syncPeriod"]["exclusiveMinimum"] = 0
    for name, schema in (("vpa", knobs_schema()), ("tortoise", tortoise_schema())):
        properties[name] = {"description": properties[name]["description"], **schema}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "hypot settings",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }
