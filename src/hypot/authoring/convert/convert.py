"""Which conversions there are, and what holds for all of them."""

from collections.abc import Callable, Iterator
from typing import Literal

from hypot.authoring.convert import to_autoscaler, to_hpa, to_hvpa, to_tortoise, to_wpa
from hypot.authoring.convert.result import (
    UNKNOWN,
    CannotConvertError,
    Converted,
    Note,
    TargetWorkload,
    notes_of_metadata,
)
from hypot.kinds.authored.written import written_part
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import InvalidAutoscaler, Kind
from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.hvpa.fields import OFF, ScalePolicy, ScaleType
from hypot.kinds.node import replaced
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA
from hypot.lint import check
from hypot.policy.families import family_of

To = Literal["hpa", "wpa", "hvpa", "tortoise", "autoscaler"]
KINDS: dict[To, type[Kind]] = {
    "hpa": HPA,
    "wpa": WPA,
    "hvpa": Hvpa,
    "tortoise": Tortoise,
    "autoscaler": WorkloadAutoscaler,
}


def convert(one: Autoscaler, to: To, workload: TargetWorkload = UNKNOWN) -> Converted:
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
    known = _errors_in(one)
    brought = [text for rule, text in _errors_in(*made.objects).items() if rule not in known]
    if brought:
        raise CannotConvertError(f"the result would not work: {'; '.join(brought)}")
    if isinstance(one, HPA) and to == "tortoise":
        return made  # the HPA stays
    kept = to == "autoscaler"  # until the new one may act
    return Converted(
        made.objects, (*made.notes, *notes_of_metadata(one, made.objects), *([] if kept else [_to_delete(one)]))
    )


def _errors_in(*objects: Kind) -> dict[str, str]:
    """What lint finds wrong with them: a message of each rule."""
    return {finding.rule: finding.message for finding in check(*objects).errors}


def _converted(one: Autoscaler, to: To, workload: TargetWorkload) -> Converted:
    match to:
        case "hpa":
            made = _as_hpa(one)
            return to_hpa.named_as_edited(made, one) if isinstance(one, Tortoise) else made
        case "tortoise":
            return _as_tortoise(one, workload)
        case "autoscaler":
            return _as_autoscaler(one)
        case "wpa":
            if isinstance(one, VPA):
                raise CannotConvertError("a VPA sizes pods, and a WatermarkPodAutoscaler counts them")
            return _through_hpa(one, lambda hpa: to_wpa.from_hpa(hpa, workload))
        case "hvpa":
            return to_hvpa.from_vpa(one, workload) if isinstance(one, VPA) else _through_hpa(one, to_hvpa.from_hpa)


def _as_hpa(one: Autoscaler) -> Converted:
    """An HPA acts: there is none that only reports."""
    if not isinstance(one, VPA) and family_of(one).is_off(one):
        text = (
            f"it only reports, as it has {_switch(one)}, and an HPA would act at once; change that first if it is meant"
        )
        raise CannotConvertError(text)
    return _counting(one)


def _switch(one: Autoscaler) -> str:
    """The field that switches an object off."""
    match one:
        case WPA():
            return "dryRun"
        case Hvpa():
            return "updateMode Off in both directions"
        case _:
            return "updateMode Off"


def _counting(one: Autoscaler) -> Converted:
    """What counts pods, as an HPA."""
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
        case WorkloadAutoscaler():
            return to_hpa.from_autoscaler(one)


def _as_autoscaler(one: Autoscaler) -> Converted:
    match one:
        case HPA():
            return to_autoscaler.from_hpa(one)
        case WPA():
            return to_autoscaler.from_wpa(one)
        case VPA():
            return to_autoscaler.from_vpa(one)
        case Hvpa():
            return to_autoscaler.from_hvpa(one)
        case Tortoise():
            return to_autoscaler.from_tortoise(one)
        case WorkloadAutoscaler():
            return Converted((one,), ())


def _through_hpa(one: Autoscaler, onwards: Callable[[HPA], Converted]) -> Converted:
    """What counts pods is written as an HPA first, and that as the other kind. What only reports still does."""
    first = _counting(one)
    second = onwards(_hpa_in(first))
    made = Converted(second.objects, (*first.notes, *second.notes))
    if family_of(one).is_off(one):
        made = made._replace(objects=tuple([_switched_off(each) for each in made.objects]))
    return to_hpa.beside_edited(made, one) if isinstance(one, Tortoise) else made


def _switched_off(made: Kind) -> Kind:
    if isinstance(made, Hvpa):
        return replaced(made, scale_up=_off(made.scale_up), scale_down=_off(made.scale_down))
    return replaced(made, dry_run=True)


def _off(held: ScaleType | None) -> ScaleType:
    return replaced(held or ScaleType(), update_policy=ScalePolicy(OFF))


def _as_tortoise(one: Autoscaler, workload: TargetWorkload) -> Converted:
    """A VPA alone; everything else as an HPA and a Tortoise that edits it."""
    if isinstance(one, VPA):
        return to_tortoise.from_vpa(one, workload)
    first = _as_hpa(one)
    second = to_tortoise.from_hpa(_hpa_in(first), workload)
    if isinstance(one, HPA):
        return second
    both = Converted((*first.objects, *second.objects), (*first.notes, *second.notes))
    return to_tortoise.with_bounds(both, one) if isinstance(one, Hvpa) else both


def _hpa_in(made: Converted) -> HPA:
    hpa = made.objects[0]
    if not isinstance(hpa, HPA):
        raise TypeError(f"{hpa.KIND} is not an HPA")
    return hpa


def _about_version(one: Kind) -> Iterator[Note]:
    if one.read_from:
        yield Note("assumed", f"{one.read_from} is written as {one.API_VERSION}")
    else:
        yield Note("check", f"its kind is {one.KIND} already: nothing changes")


def _to_delete(one: Kind) -> Note:
    text = f"delete {one.KIND} {one.name} before you apply this: two autoscalers of a workload disturb each other"
    return Note("check", text)
