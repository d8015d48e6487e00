"""All rules, by id."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from hypot.lint.input.world import InputWorld
from hypot.lint.rule import Hit, Rule, RuleFamily
from hypot.lint.rules.axes import AXES
from hypot.lint.rules.bounds import BOUNDS
from hypot.lint.rules.conflicts import CONFLICTS
from hypot.lint.rules.given import GIVEN, IGNORE_ANNOTATION, ignored_by
from hypot.lint.rules.metrics import METRICS
from hypot.lint.rules.own.autoscaler import AUTOSCALER_FIELDS
from hypot.lint.rules.own.fields import FIELDS
from hypot.lint.rules.own.hvpa import HVPA_FIELDS
from hypot.lint.rules.own.objects import OBJECTS, UPDATES
from hypot.lint.rules.own.tortoise import TORTOISE_FIELDS
from hypot.lint.rules.own.vpa import VPA_FIELDS
from hypot.lint.rules.pace import PACE
from hypot.lint.rules.requests import REQUESTS
from hypot.lint.rules.schedule import SCHEDULES
from hypot.lint.rules.served import SERVED
from hypot.lint.rules.sizes import SIZES
from hypot.lint.rules.target import TARGET
from hypot.lint.rules.tortoise import TORTOISES
from hypot.lint.rules.versions import VERSIONS
from hypot.lint.rules.watermark import WATERMARKS

FAMILIES: tuple[RuleFamily, ...] = (
    TARGET,
    REQUESTS,
    METRICS,
    CONFLICTS,
    BOUNDS,
    PACE,
    WATERMARKS,
    SIZES,
    AXES,
    TORTOISES,
    SCHEDULES,
    SERVED,
    VERSIONS,
    GIVEN,
    OBJECTS,
    FIELDS,
    VPA_FIELDS,
    HVPA_FIELDS,
    TORTOISE_FIELDS,
    AUTOSCALER_FIELDS,
    UPDATES,
)


class UnknownRule(ValueError):  # noqa: N818  the name says what was written
    """An unknown rule id, with suggestions of similar ids."""


@GIVEN.rule(
    "unknown-ignore",
    "warning",
    title="An annotation that silences a rule that does not exist",
    why="A mistyped id silences nothing, and after a rename the finding comes back unnoticed.",
    fix=f"write ids of rules in {IGNORE_ANNOTATION}, separated by commas",
    example="there is no rule request-mising; did you mean request-missing or target-missing?",
    kinds=("every object",),
)
def unknown_ignore(world: InputWorld) -> Iterator[Hit]:
    for item in world.items:
        for rule_id in ignored_by(item):
            if rule_id not in RULES:
                yield Hit(item, ("metadata", "annotations", IGNORE_ANNOTATION), no_such_rule(rule_id))


RULES: dict[str, Rule] = {rule.id: rule for family in FAMILIES for rule in family.rules}


def rule_of(rule_id: str) -> Rule:
    """The rule with that id. A problem that a kind reports with an unlisted id still gets a rule."""
    return RULES.get(rule_id) or Rule(rule_id, "error", rule_id, rule_id, "see the message", "", (), "Objects")


def no_such_rule(rule_id: str) -> str:
    near = get_close_matches(rule_id, RULES, 3, 0.6)
    return f"there is no rule {rule_id}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def known_ids(rule_ids: Iterable[str]) -> frozenset[str]:
    """These ids. Raises UnknownRule if any of them does not exist."""
    asked = frozenset(rule_ids)
    unknown = sorted(asked - RULES.keys())
    if unknown:
        raise UnknownRule("; ".join(no_such_rule(rule_id) for rule_id in unknown))
    return asked
