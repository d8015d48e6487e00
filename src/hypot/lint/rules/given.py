"""Rules for the input itself."""

from collections.abc import Iterator

from hypot.lint.input.item import Item, Key, text
from hypot.lint.input.world import InputWorld
from hypot.lint.rule import POINTING, Hit, RuleFamily

GIVEN = RuleFamily("Input", "The input as a whole, and the rules that it silences.")

IGNORE_ANNOTATION = "hypot.dev/lint-ignore"


@GIVEN.rule(
    "duplicate-object",
    "warning",
    title="An object that is in the input twice",
    why="The object that is applied last wins. Rules that need the pods of a workload skip a workload that is in the "
    "input twice, because it is unclear which of the two applies. Patches of an overlay look like this.",
    fix="pass each object once; for overlays run `kustomize build overlays/prod | hypot lint -f -`",
    example="HorizontalPodAutoscaler shop/web is also defined in base/web.yaml, line 1",
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
            yield Hit(item, ("metadata", "name"), f"{item} is also defined{place}")


def ignored_by(item: Item) -> tuple[str, ...]:
    """The rule ids that an object's annotation silences."""
    written = text(item.annotations.get(IGNORE_ANNOTATION))
    return tuple(part for part in (word.strip() for word in written.split(",")) if part)
