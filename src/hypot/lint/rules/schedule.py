"""Rules for planned minimums, the annotation `hypot.dev/schedule` of any autoscaler."""

from collections.abc import Iterator

from hypot.core.amount import brief
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.catalogue import sets_replicas, sets_sizes
from hypot.kinds.floor import SCHEDULE
from hypot.kinds.pod_template import Template, unsized_container
from hypot.kinds.problem import Where
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.tortoise.fields import TortoiseSpec
from hypot.kinds.tortoise.policies import OFF, scales_horizontally, written_policies
from hypot.kinds.tortoise.settings import TortoiseSettings
from hypot.kinds.vpa.allowed import allowed
from hypot.kinds.vpa.fields import ANY_CONTAINER
from hypot.lint.input.world import AnyAutoscaler, InputWorld
from hypot.lint.rule import POINTING, Hit, RuleFamily
from hypot.policy.model.schedule import PlannedMinimum, ScheduleError, schedule_of

SCHEDULES = RuleFamily("Schedules", "Minimums that are planned for a time.", kinds=POINTING)
_PLACE: Where = ("metadata", "annotations", SCHEDULE)


def _scheduled(world: InputWorld) -> Iterator[tuple[AnyAutoscaler, tuple[PlannedMinimum, ...] | ScheduleError]]:
    for one in world.autoscalers:
        written = one.item.annotations.get(SCHEDULE)
        if written is None:
            continue
        try:
            yield one, schedule_of(written)
        except ScheduleError as error:
            yield one, error


@SCHEDULES.rule(
    "schedule-unreadable",
    "error",
    title="A schedule that cannot be read",
    why="hypot does not know what is planned, so it scales nothing down until the schedule can be read.",
    fix='write a JSON list such as [{"cron": "0 8 * * mon-fri", "duration": "10h", "minReplicas": 6}]',
    example="the schedule cannot be read: entry 1: it needs either startAt and finishAt, or cron and duration",
)
def schedule_unreadable(world: InputWorld) -> Iterator[Hit]:
    for one, found in _scheduled(world):
        if isinstance(found, ScheduleError):
            yield Hit(one.item, _PLACE, f"the schedule cannot be read: {found}")


@SCHEDULES.rule(
    "schedule-above-max",
    "warning",
    title="A planned minimum above the maximum",
    why="The maximum holds, so the workload gets fewer replicas than planned.",
    fix="raise the maximum, or lower the planned minimum",
    example="20 replicas are planned, but maxReplicas is 10",
)
def schedule_above_max(world: InputWorld) -> Iterator[Hit]:
    for one, found in _scheduled(world):
        if isinstance(found, ScheduleError):
            continue
        planned = max([entry.floor.replicas for entry in found], default=0)
        most, what = getattr(one.spec, "max_replicas", None), "maxReplicas"
        if isinstance(one.spec, Tortoise):
            own, _ = TortoiseSettings().overridden({}, one.spec.annotations)
            if not isinstance(most, int) or own.maximum_max_replicas < most:
                most, what = own.maximum_max_replicas, "the administrator's maximum (by default)"
        if isinstance(most, int) and planned > most:
            yield Hit(one.item, _PLACE, f"{planned} replicas are planned, but {what} is {most}")
        if isinstance(one.spec, Tortoise):
            yield from (Hit(one.item, _PLACE, message) for message in _too_large(one.spec, found))


def _too_large(tortoise: TortoiseSpec, entries: tuple[PlannedMinimum, ...]) -> Iterator[str]:
    for name in dict.fromkeys(name for entry in entries for name, _ in entry.floor.sizes):
        most = allowed(tortoise, name).most
        amounts = [amount for entry in entries for amount in entry.floor.least(name).items()]
        for resource, planned in dict(sorted(amounts)).items():
            limit = most.get(resource)
            if limit and planned > limit:
                listed = f"{brief(resource, planned)} of {resource} are planned for {name}"
                yield f"{listed}, but maxAllocatedResources is {brief(resource, limit)}"


@SCHEDULES.rule(
    "schedule-unused",
    "warning",
    title="A planned minimum that this object cannot set",
    why="A kind that only counts replicas does not size pods, and the other way round. A Tortoise changes nothing that "
    "is Off, and no container that the pods do not have.",
    fix="put it on the autoscaler that sets this value, or correct the container or its policy",
    example="a HorizontalPodAutoscaler does not size pods, so minAllowed has no effect",
)
def schedule_unused(world: InputWorld) -> Iterator[Hit]:
    for one, found in _scheduled(world):
        if isinstance(found, ScheduleError):
            continue
        if not sets_replicas(one.spec) and any(entry.floor.replicas for entry in found):
            yield Hit(one.item, _PLACE, f"{_named(one)} does not count replicas, so minReplicas has no effect")
        if not sets_sizes(one.spec) and any(entry.floor.sizes for entry in found):
            yield Hit(one.item, _PLACE, f"{_named(one)} does not size pods, so minAllowed has no effect")
        if isinstance(one.spec, Tortoise):
            yield from (Hit(one.item, _PLACE, text) for text in _unused(one, one.spec, found, world.template_of(one)))


def _named(one: AnyAutoscaler) -> str:
    axes = f" with the axes {one.spec.axes}" if isinstance(one.spec, WorkloadAutoscaler) else ""
    return f"{'an' if axes else 'a'} {one.item.kind}{axes}"


def _unused(
    one: AnyAutoscaler, tortoise: TortoiseSpec, entries: tuple[PlannedMinimum, ...], template: Template | None
) -> Iterator[str]:
    """What a Tortoise does not scale, and containers that its pods do not have."""
    written = tortoise.autoscaling_policy
    if written and not scales_horizontally(written) and any(entry.floor.replicas for entry in entries):
        yield "no resource is Horizontal, so minReplicas has no effect"
    policies = written_policies(written)
    places = [(name, resource) for entry in entries for name, amounts in entry.floor.sizes for resource, _ in amounts]
    for name, resource in dict.fromkeys(places):
        if name == ANY_CONTAINER:
            continue
        if template is not None and (missing := unsized_container(name, template, one.target)):
            yield f"{missing}, so minAllowed has no effect"
        elif written and policies.get(name, {}).get(resource, OFF) == OFF:
            yield f"{resource} of {name} is Off, so minAllowed has no effect"
