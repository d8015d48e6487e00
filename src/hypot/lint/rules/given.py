"""Rules over the input itself."""

from collections.abc import Iterator

from hypot.lint.input.item import Item, Key, text
from hypot.lint.input.world import InputWorld
from hypot.lint.rule import POINTING, Hit, RuleFamily

GIVEN = RuleFamily("Input", "The input as a whole, and what is silenced in it.")

IGNORE_ANNOTATION = "hypot.dev/lint-ignore"


@GIVEN.rule(
    "duplicate-object",
    "warning",
    title="An object that is given twice",
    why="Whichever is applied last wins. Rules that need the pods of a workload skip one that is given twice, because "
    "nothing says which of them counts; patches of an overlay look like this.",
    fix="give each object once; for overlays `kustomize build overlays/prod | hypot lint -f -`",
    example="HorizontalPodAutoscaler shop/web is also given in base/web.yaml, line 1",
    kinds=(*POINTING, "ScaledObject", "workloads"),
)
def duplicate_object(world: InputWorld) -> Iterator[Hit]:
    first: dict[Key, Item] = {}
    watched = {id(one.item) for one in world.autoscalers} | {id(one) for one in world.scaled_objects}
    for item in world.items:
        if not item.name or not (id(item) in watched or item.key in world.workloads):
            continue
        earlier = first.setdefault(item.key, item)
        if earlier is not item:
            place = f" in {earlier.source.file}, line {earlier.source.line}" if earlier.source is not None else ""
            yield Hit(item, ("metadata", "name"), f"{item} is also given{place}")


def ignored_by(item: Item) -> tuple[str, ...]:
    """The rule ids that an object's annotation silences."""
    written = text(item.annotations.get(IGNORE_ANNOTATION))
    return tuple(part for part in (word.strip() for word in written.split(",")) if part)
