"""Rules for the input itself."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import PurePath

from hypot.kinds.misspelt import meant_by
from hypot.kinds.problem import some
from hypot.lint.input.item import Folder, Item, Key, text
from hypot.lint.input.placeholders import how_to_fill_in, placeholders_in
from hypot.lint.input.world import InputWorld
from hypot.lint.rule import POINTING, Hit, RuleFamily

GIVEN = RuleFamily("Input", "The input as a whole, and the rules that it silences.")

IGNORE_ANNOTATION = "hypot.dev/lint-ignore"
PLACEHOLDER = "placeholder"
UNREADABLE = "unreadable"

GIVEN.known(
    UNREADABLE,
    title="A file that cannot be read, and seems to hold objects that matter",
    why="kubectl rejects such a file as a whole, and nothing in it is checked here. Of a key that is given twice, "
    "kubectl takes the last one and says nothing; kustomize and the API server refuse it. Files without Kubernetes "
    "objects, templates, and objects that no rule looks at are not reported; -v lists them.",
    fix="correct the text at this place; `kubectl apply --dry-run=client -f FILE` reports the same",
    example="the key 'name' is given twice, first on line 4 (column 3)",
    kinds=("files",),
)


@GIVEN.rule(
    "unknown-kind",
    "error",
    title="A kind that its API group does not have, and one that is similar",
    why="The API server refuses the object, and no rule looks at it. Kinds that are similar to no other one are not "
    "reported: they may be newer than hypot.",
    fix="write the kind that is meant",
    example="autoscaling/v2 has no kind HorizontalPodAutoscalr",
    kinds=(*POINTING, "ScaledObject", "workloads", "policies of a namespace"),
)
def unknown_kind(world: InputWorld) -> Iterator[Hit]:
    for item in world.items:
        if hint := meant_by(item.api_version, item.kind):
            place = "apiVersion" if "apiVersion" in hint else "kind"
            yield Hit(item, (place,), f"{item.api_version} has no kind {item.kind}", hint)


@GIVEN.rule(
    "duplicate-object",
    "warning",
    title="An object that is in the input twice",
    why="The object that is applied last wins. Rules that need the pods of a workload skip a workload that is in one "
    "file twice, because it is unclear which of the two applies. Definitions in different folders are alternatives, as "
    "of overlays and examples, and are not reported. Nor are files of a folder that share most of their objects, such "
    "as two installations, nor a workload that nothing scales.",
    fix="keep one of them, or move variants into folders of their own",
    example="HorizontalPodAutoscaler shop/web is also defined in the same file, line 1",
    kinds=(*POINTING, "ScaledObject", "workloads that are scaled"),
)
def duplicate_object(world: InputWorld) -> Iterator[Hit]:
    watched = objects_that_matter(world)
    found: dict[tuple[Key, Folder], list[Item]] = defaultdict(list)
    for item in world.items:
        if item.name:
            found[item.key._replace(variant=""), item.applied_with].append(item)
    for *earlier, item in found.values():
        if earlier and any(one.key in watched for one in (*earlier, item)):
            places = some([place for one in earlier if (place := _place(one, item))])
            yield Hit(item, ("metadata", "name"), f"{item} is also defined{f' in {places}' if places else ''}")


def objects_that_matter(world: InputWorld) -> set[Key | None]:
    """The autoscalers and their targets."""
    scaling = {one.item.key for one in world.autoscalers} | {one.key for one in world.scaled_objects}
    return scaling | {one.target for one in world.autoscalers} | set(world.claims)


def _place(item: Item, beside: Item) -> str:
    """The file by its name, if it is in the folder of the other one."""
    if item.source is None:
        return ""
    file = item.source.file
    if beside.source is not None and not item.source.rendered:
        file = "the same file" if beside.source.file == file else PurePath(file).name
    return file if item.source.rendered else f"{file}, line {item.source.line}"


@GIVEN.rule(
    PLACEHOLDER,
    "advice",
    title="A value that is filled in later",
    why="${REPLICAS}, $(REPLICAS), <NAME> and the like are replaced before the object is applied. What depends on them "
    "cannot be checked, so it is not reported.",
    fix="check the result too: `envsubst < FILE | hypot lint -`, `flux envsubst`, `kustomize build`, or your own tool",
    example="${APP} is filled in later, so what depends on it was not checked",
    kinds=(*POINTING, "ScaledObject"),
)
def placeholder(world: InputWorld) -> Iterator[Hit]:
    watched = [one.item for one in world.autoscalers] + world.scaled_objects
    for item in watched:
        found = dict.fromkeys(placeholders_in({key: item.data.get(key) for key in ("metadata", "spec")}))
        if found:
            are, it = ("is", "it") if len(found) == 1 else ("are", "them")
            message = f"{some(list(found))} {are} filled in later, so what depends on {it} was not checked"
            yield Hit(item, (), message, f"check the result too: {how_to_fill_in(found, 'hypot lint -')}")


def ignored_by(item: Item) -> tuple[str, ...]:
    """The rule ids that an object's annotation silences."""
    written = text(item.annotations.get(IGNORE_ANNOTATION))
    return tuple(part for part in (word.strip() for word in written.split(",")) if part)
