"""The knobs of a grid: which field of a manifest each name changes."""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from hypot.core.amount import RESOURCES
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.rules import IN_HPA
from hypot.kinds.units import SECONDS
from hypot.kinds.vpa import VPA
from hypot.kinds.vpa.knobs import ANNOTATIONS, PREFIX, Knobs, knobs_from
from hypot.kinds.wpa import WPA

Path = tuple[str | int, ...]
Change = Callable[[dict[str, Any], str], None]
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_TRUTH = {"true": True, "false": False}
_TARGETS = ("averageUtilization", "averageValue", "value")


class NotHere(Exception):  # noqa: N818  reported together with what else cannot be set
    """A knob that this object does not have."""


class _ManifestPlace(NamedTuple):
    """A place in a manifest, and how to convert the text of a value for it."""

    path: Path
    write: Callable[[str], Any]


def scalar(text: str) -> Any:
    """A value as a manifest has it: a whole number, true or false; anything else (such as a quantity) is text."""
    return int(text) if _WHOLE.fullmatch(text) else _TRUTH.get(text, text)


def _seconds(text: str) -> Any:
    try:
        seconds = SECONDS.read(text)
    except ValueError:
        return text
    return int(seconds) if seconds == int(seconds) else text


def _duration(text: str) -> str:
    return f"{text}s" if text.isdigit() else text


def _percentage(text: str) -> dict[str, Any]:
    return {"percentage": scalar(text)}


_UP, _DOWN = ("behavior", "scaleUp"), ("behavior", "scaleDown")
# Paths below the spec of an HPA, or of the HPA template of an Hvpa.
_HPA: dict[str, tuple[_ManifestPlace, ...]] = {
    "min": (_ManifestPlace(("minReplicas",), scalar),),
    "max": (_ManifestPlace(("maxReplicas",), scalar),),
    "up-window": (_ManifestPlace((*_UP, "stabilizationWindowSeconds"), _seconds),),
    "down-window": (_ManifestPlace((*_DOWN, "stabilizationWindowSeconds"), _seconds),),
    "tolerance": (_ManifestPlace((*_UP, "tolerance"), scalar), _ManifestPlace((*_DOWN, "tolerance"), scalar)),
}
_WPA: dict[str, tuple[_ManifestPlace, ...]] = {
    "min": (_ManifestPlace(("minReplicas",), scalar),),
    "max": (_ManifestPlace(("maxReplicas",), scalar),),
    "tolerance": (_ManifestPlace(("tolerance",), scalar),),
    "up-forbidden-window": (_ManifestPlace(("upscaleForbiddenWindowSeconds",), _seconds),),
    "down-forbidden-window": (_ManifestPlace(("downscaleForbiddenWindowSeconds",), _seconds),),
    "up-factor": (_ManifestPlace(("scaleUpLimitFactor",), scalar),),
    "down-factor": (_ManifestPlace(("scaleDownLimitFactor",), scalar),),
    "up-delay": (_ManifestPlace(("upscaleDelayAboveWatermarkSeconds",), _seconds),),
    "down-delay": (_ManifestPlace(("downscaleDelayBelowWatermarkSeconds",), _seconds),),
}
_MARKS = {"high": "highWatermark", "low": "lowWatermark"}
_LEAST_UP = tuple(_ManifestPlace(("scaleUp", "minChange", resource), _percentage) for resource in RESOURCES)
_LEAST_DOWN = tuple(_ManifestPlace(("scaleDown", "minChange", resource), _percentage) for resource in RESOURCES)
_HVPA: dict[str, tuple[_ManifestPlace, ...]] = {
    "overlap": tuple(_ManifestPlace(("scalingIntervalsOverlap", resource), _percentage) for resource in RESOURCES),
    "min-change": (*_LEAST_UP, *_LEAST_DOWN),
    "min-change-up": _LEAST_UP,
    "min-change-down": _LEAST_DOWN,
    "up-stabilization": (_ManifestPlace(("scaleUp", "stabilizationDuration"), _duration),),
    "down-stabilization": (_ManifestPlace(("scaleDown", "stabilizationDuration"), _duration),),
}
_WEIGHT = "weight"
# Short names for several annotations at once; each annotation is a knob as well.
_ANNOTATED = {
    "percentile": (),
    "margin": ("safety-margin",),
    "half-life": ("cpu-half-life", "memory-half-life"),
    **{key.removeprefix(PREFIX): (key.removeprefix(PREFIX),) for key in ANNOTATIONS},
}
_SHORT = ("percentile", "margin", "half-life")
_OF_VPA: Path = ("metadata", "annotations")
_IN_VPA: Path = ("spec", "vpa", "template", "metadata", "annotations")


HPA_KNOBS = ("cpu", "memory", "METRIC", *_HPA)
WPA_KNOBS = ("high", "low", "METRIC.high", "METRIC.low", *_WPA)
VPA_KNOBS = _SHORT
HVPA_KNOBS = (*_HVPA, _WEIGHT, *_SHORT, *HPA_KNOBS)


def path_change(data: Mapping[str, Any], knob: str) -> Change:
    """A knob that is a path, such as spec.a.0.b."""
    return _set_all([_ManifestPlace(_path(data, knob), scalar)])


def no_change(_autoscaler: Autoscaler, _data: Mapping[str, Any], knob: str) -> Change:
    """For kinds that have only paths."""
    raise _unknown((), knob)


def hpa_change(_hpa: HPA, data: Mapping[str, Any], knob: str) -> Change:
    return _set_all(_hpa_places(data, ("spec",), knob, HPA_KNOBS))


def wpa_change(_wpa: WPA, data: Mapping[str, Any], knob: str) -> Change:
    return _set_all(_wpa_places(data, knob))


def vpa_change(_vpa: VPA, _data: Mapping[str, Any], knob: str) -> Change:
    if knob not in _ANNOTATED:
        raise _unknown(VPA_KNOBS, knob)
    return _annotate(_OF_VPA, knob)


def _unknown(knobs: tuple[str, ...], knob: str, has: str = "") -> NotHere:
    known = ", ".join(knobs)
    return NotHere(f"unknown knob {knob}{has}; the knobs are {known}{' and ' if known else ''}paths such as spec.a.0.b")


def _set_all(places: list[_ManifestPlace]) -> Change:
    def apply(data: dict[str, Any], value: str) -> None:
        for place in places:
            _put(data, place.path, place.write(value))

    return apply


def _put(data: Any, path: Path, value: Any) -> None:
    """Sets the value at a path; missing mappings on the way are created."""
    for key, following in pairwise(path):
        if isinstance(key, str) and not isinstance(data.get(key), dict | list) and isinstance(following, str):
            data[key] = {}
        data = data[key]
    data[path[-1]] = value


def _path(data: Mapping[str, Any], knob: str) -> Path:
    """The path as keys and list indexes, as far as the manifest goes."""
    found: list[str | int] = []
    here: Any = data
    for part in knob.split("."):
        if isinstance(here, list):
            if not part.isdigit() or int(part) >= len(here):
                raise NotHere(f"{knob}: {part!r} is not an index of a list of {len(here)}")
            found.append(int(part))
            here = here[int(part)]
        elif here is None or isinstance(here, dict):
            if not part:
                raise NotHere(f"{knob}: a name is missing between two dots")
            found.append(part)
            here = None if here is None else here.get(part)
        else:
            raise NotHere(f"{knob}: there is nothing below {'.'.join(map(str, found))}")
    if isinstance(here, dict | list):
        raise NotHere(f"{knob} is not a single value; continue the path to a value below it")
    return tuple(found)


def _hpa_places(data: Mapping[str, Any], root: Path, knob: str, knobs: tuple[str, ...]) -> list[_ManifestPlace]:
    if knob in _HPA:
        return [_ManifestPlace((*root, *place.path), place.write) for place in _HPA[knob]]
    metrics = _at(data, (*root, "metrics")) or []
    if not metrics and knob == "cpu":
        return [_ManifestPlace((*root, "metrics"), _cpu_metric)]
    named = list(_hpa_metrics(metrics))
    found = [(*root, "metrics", *path) for name, path in named if name == knob]
    if not found:
        raise _unknown(knobs, knob, f", and its metrics are {', '.join(name for name, _ in named) or 'none'}")
    if len(found) > 1:
        raise NotHere(f"it has {len(found)} metrics called {knob}; write a path such as spec.metrics.0...")
    return [_ManifestPlace(found[0], scalar)]


def _cpu_metric(text: str) -> list[dict[str, Any]]:
    """The metric of an HPA that names none: cpu."""
    target = {"type": "Utilization", "averageUtilization": scalar(text)}
    return [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]


def _hpa_metrics(metrics: list[Any]) -> Iterator[tuple[str, Path]]:
    """Every metric by name, with the path of its target."""
    for i, metric in enumerate(metrics):
        kind = str(metric.get("type") or "")
        block = kind[:1].lower() + kind[1:]
        source = metric.get(block) or {}
        name = source.get("name") or _at(source, ("metric", "name"))
        target = source.get("target") or {}
        key = next((key for key in _TARGETS if target.get(key) is not None), "")
        if name and key:
            yield str(name), (i, block, "target", key)


def _at(data: Any, path: Path) -> Any:
    for key in path:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _wpa_places(data: Mapping[str, Any], knob: str) -> list[_ManifestPlace]:
    if knob in _WPA:
        return [_ManifestPlace(("spec", *place.path), place.write) for place in _WPA[knob]]
    metric, _, mark = knob.rpartition(".")
    bands = list(_wpa_bands(_at(data, ("spec", "metrics")) or []))
    has = f", and its metrics are {', '.join(name for name, _ in bands) or 'none'}"
    if mark not in _MARKS:
        raise _unknown(WPA_KNOBS, knob, has)
    found = [path for name, path in bands if metric in {"", name}]
    if not found:
        raise _unknown(WPA_KNOBS, knob, has)
    if len(found) > 1:
        raise NotHere(f"it has several metrics; write one of {', '.join(f'{name}.{mark}' for name, _ in bands)}")
    return [_ManifestPlace((*found[0], _MARKS[mark]), scalar)]


def _wpa_bands(metrics: list[Any]) -> Iterator[tuple[str, Path]]:
    for i, metric in enumerate(metrics):
        block = str(metric.get("type") or "").lower()
        source = metric.get(block) or {}
        yield str(source.get("metricName") or source.get("name") or ""), ("spec", "metrics", i, block)


def _annotate(at: Path, knob: str) -> Change:
    if knob == "percentile":
        return lambda data, value: _set_percentile(data, at, value)
    return _set_all([_ManifestPlace((*at, PREFIX + name), str) for name in _ANNOTATED[knob]])


def _set_percentile(data: dict[str, Any], at: Path, value: str) -> None:
    """Sets the target for cpu and memory. Moves a bound that it would pass, or every pod would be out of bounds."""
    written: Mapping[str, Any] = _at(data, at) or {}
    knobs = knobs_from(written, Knobs())
    for resource in RESOURCES:
        _put(data, (*at, f"{PREFIX}target-{resource}-percentile"), value)
        for bound, pick in (("lower", min), ("upper", max)):
            held = getattr(knobs, f"{bound}_{resource}_percentile")
            if _is_number(value) and pick(held, float(value)) != held:
                _put(data, (*at, f"{PREFIX}{bound}-{resource}-percentile"), value)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9]*\.?[0-9]+", text) is not None


def hvpa_change(hvpa: Hvpa, data: Mapping[str, Any], knob: str) -> Change:
    if knob == _WEIGHT:
        if not hvpa.is_weight_based:
            raise NotHere("it has no weights; only the released form of an Hvpa has them")
        count = len(hvpa.weights or ())
        return _set_all(
            [_ManifestPlace(("spec", "weightBasedScalingIntervals", i, "vpaWeight"), scalar) for i in range(count)]
        )
    if knob in _HVPA:
        if hvpa.is_weight_based:
            raise NotHere(f"{knob} is for scaling intervals, but it has weights; write a path")
        return _set_all([_ManifestPlace(("spec", *place.path), place.write) for place in _HVPA[knob]])
    if knob in _ANNOTATED:
        return _in_block("vpa", _annotate(_IN_VPA, knob), used=hvpa.uses_vpa)
    places = _hpa_places(data, IN_HPA, knob, HVPA_KNOBS)
    return _in_block("hpa", _set_all(places), used=hvpa.uses_hpa)


def _in_block(name: str, apply: Change, *, used: bool) -> Change:
    """A missing block means that the recommender is on; once the block exists, it must say so."""
    if not used:
        raise NotHere(f"its {name} block is switched off, so nothing would change")

    def switched_on(data: dict[str, Any], value: str) -> None:
        _put(data, ("spec", name, "deploy"), True)  # noqa: FBT003  a value, not a flag of the call
        apply(data, value)

    return switched_on
