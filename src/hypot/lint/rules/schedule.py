"""Rules for planned minimums, the annotation `hypot.dev/schedule` of any autoscaler."""

from collections.abc import Iterator

from hypot.kinds.catalogue import info_of
from hypot.kinds.problem import Where
from hypot.lint.input.world import AnyAutoscaler, InputWorld
from hypot.lint.rule import POINTING, Hit, RuleFamily
from hypot.policy.model.schedule import SCHEDULE, PlannedMinimum, ScheduleError, schedule_of

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
    fix="raise maxReplicas, or lower the planned minimum",
    example="20 replicas are planned, but maxReplicas is 10",
)
def schedule_above_max(world: InputWorld) -> Iterator[Hit]:
    for one, found in _scheduled(world):
        most = getattr(one.spec, "max_replicas", None)
        if isinstance(found, ScheduleError) or not isinstance(most, int):
            continue
        planned = max([entry.floor.replicas for entry in found], default=0)
        if planned > most:
            yield Hit(one.item, _PLACE, f"{planned} replicas are planned, but maxReplicas is {most}")


@SCHEDULES.rule(
    "schedule-unused",
    "warning",
    title="A planned minimum that this kind cannot set",
    why="A kind that only counts replicas does not size pods, and the other way round.",
    fix="put it on the autoscaler that sets this value",
    example="a HorizontalPodAutoscaler does not size pods, so minAllowed has no effect",
)
def schedule_unused(world: InputWorld) -> Iterator[Hit]:
    for one, found in _scheduled(world):
        if isinstance(found, ScheduleError):
            continue
        info = info_of(one.spec)
        if not info.counts and any(entry.floor.replicas for entry in found):
            yield Hit(one.item, _PLACE, f"a {info.name} does not count replicas, so minReplicas has no effect")
        if not info.sizes and any(entry.floor.sizes for entry in found):
            yield Hit(one.item, _PLACE, f"a {info.name} does not size pods, so minAllowed has no effect")
