"""Which conversions there are, and what holds for all of them."""

from collections.abc import Iterator
from typing import Literal

from hypot.authoring.convert import to_hpa, to_hvpa, to_tortoise, to_wpa
from hypot.authoring.convert.result import UNKNOWN, CannotConvertError, Converted, Note, Workload, notes_of_metadata
from hypot.kinds.base import InvalidAutoscaler, Kind
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.kinds.written import written_part

To = Literal["hpa", "wpa", "hvpa", "tortoise"]
KINDS: dict[To, type[Kind]] = {"hpa": HPA, "wpa": WPA, "hvpa": Hvpa, "tortoise": Tortoise}


def convert(one: Autoscaler, to: To, workload: Workload = UNKNOWN) -> Converted:
    """The nearest equivalent as that kind. Raises CannotConvertError if there is none."""
    errors = [problem for problem in one.problems() if problem.severity == "error"]
    if errors:
        raise CannotConvertError("it is not valid: " + "; ".join(map(str, errors)))
    if isinstance(one, KINDS[to]):
        same = type(one).from_dict(written_part(one))
        return Converted((same,), tuple(_about_version(one)))
    try:
        made = _converted(one, to, workload)
    except InvalidAutoscaler as error:
        raise CannotConvertError("the result would not be valid: " + "; ".join(map(str, error.problems))) from error
    return Converted(made.objects, (*made.notes, *notes_of_metadata(one), *_about_both(one, made)))


def _converted(one: Autoscaler, to: To, workload: Workload) -> Converted:
    if to == "hpa":
        return _as_hpa(one)
    if to == "tortoise":
        return _as_tortoise(one, workload)
    if isinstance(one, VPA):
        if to == "hvpa":
            return to_hvpa.from_vpa(one, workload)
        raise CannotConvertError("a VPA sizes pods, and a WatermarkPodAutoscaler counts them")
    return _through_hpa(one, to, workload)


def _as_hpa(one: Autoscaler) -> Converted:
    match one:
        case HPA():
            return Converted((one,), ())
        case WPA():
            return to_hpa.from_wpa(one)
        case Hvpa():
            return to_hpa.from_hvpa(one)
        case Tortoise():
            return to_hpa.from_tortoise(one)
        case VPA():
            text = "a VPA sizes pods, and an HPA counts them; hypot pair makes an HPA beside a VPA"
            raise CannotConvertError(text)


def _through_hpa(one: Autoscaler, to: To, workload: Workload) -> Converted:
    """What counts pods is written as an HPA first, and that as the other kind."""
    first = _as_hpa(one)
    hpa = first.objects[0]
    if not isinstance(hpa, HPA):
        raise TypeError(f"{hpa.KIND} is not an HPA")
    second = to_wpa.from_hpa(hpa, workload) if to == "wpa" else to_hvpa.from_hpa(hpa, workload)
    return Converted(second.objects, (*first.notes, *second.notes))


def _as_tortoise(one: Autoscaler, workload: Workload) -> Converted:
    """A VPA alone; everything else as an HPA and a Tortoise that edits it."""
    if isinstance(one, VPA):
        return to_tortoise.from_vpa(one)
    first = _as_hpa(one)
    hpa = first.objects[0]
    if not isinstance(hpa, HPA):
        raise TypeError(f"{hpa.KIND} is not an HPA")
    second = to_tortoise.from_hpa(hpa, workload)
    if isinstance(one, HPA):
        return second
    both = Converted((*first.objects, *second.objects), (*first.notes, *second.notes))
    return to_tortoise.with_bounds(both, one) if isinstance(one, Hvpa) else both


def _about_version(one: Kind) -> Iterator[Note]:
    if one.read_from:
        yield Note("assumed", f"{one.read_from} is written as {one.API_VERSION}")
    else:
        yield Note("check", f"it is a {one.KIND} already: nothing changes")


def _about_both(one: Kind, made: Converted) -> Iterator[Note]:
    if not (isinstance(one, HPA) and isinstance(made.objects[0], Tortoise)):
        text = f"delete {one.KIND} {one.name} before you apply this: two autoscalers of a workload disturb each other"
        yield Note("check", text)
