"""All rules, by id."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import NamedTuple

from hypot.core.similar import similar
from hypot.kinds.floor import SCHEDULE
from hypot.lint.input.world import InputWorld
from hypot.lint.rule import HVPA_ONLY, SIZING, TORTOISE_ONLY, WPA_ONLY, Hit, Rule, RuleFamily
from hypot.lint.rules.given import GIVEN, IGNORE_ANNOTATION, ignored_by


class RuleModule(NamedTuple):
    """Where a family of rules is; it is imported when an input has something to check for it.

    To import all that rules need takes longer than to check ten files.
    """

    module: str
    name: str
    # Kinds of which there must be an object, or the annotation that one must have; without both it is always imported.
    kinds: tuple[str, ...] = ()
    annotation: str = ""
    # What the kinds themselves report: texts without checks, which are imported when one of them was found.
    reported: bool = False

    def family(self) -> RuleFamily:
        found: RuleFamily = getattr(import_module(f"hypot.lint.rules.{self.module}"), self.name)
        return found

    def checks(self, world: InputWorld) -> bool:
        if self.annotation:
            return any(self.annotation in item.annotations for item in world.items)
        return not self.reported and (not self.kinds or world.has(self.kinds))


# In the order of the docs.
RULE_MODULES = (
    RuleModule("target", "TARGET"),
    RuleModule("requests", "REQUESTS"),
    RuleModule("metrics", "METRICS"),
    RuleModule("conflicts", "CONFLICTS"),
    RuleModule("bounds", "BOUNDS"),
    RuleModule("pace", "PACE"),
    RuleModule("watermark", "WATERMARKS", WPA_ONLY),
    RuleModule("sizes", "SIZES", SIZING),
    RuleModule("axes", "AXES", HVPA_ONLY),
    RuleModule("tortoise", "TORTOISES", TORTOISE_ONLY),
    RuleModule("schedule", "SCHEDULES", annotation=SCHEDULE),
    RuleModule("served", "SERVED", ("MetricRules",)),
    RuleModule("versions", "VERSIONS"),
    RuleModule("given", "GIVEN"),
    RuleModule("own.objects", "OBJECTS", reported=True),
    RuleModule("own.fields", "FIELDS", reported=True),
    RuleModule("own.vpa", "VPA_FIELDS", reported=True),
    RuleModule("own.hvpa", "HVPA_FIELDS", reported=True),
    RuleModule("own.tortoise", "TORTOISE_FIELDS", reported=True),
    RuleModule("own.autoscaler", "AUTOSCALER_FIELDS", reported=True),
    RuleModule("own.objects", "UPDATES", reported=True),
)


@cache
def families() -> tuple[RuleFamily, ...]:
    return tuple([module.family() for module in RULE_MODULES])


@cache
def all_rules() -> dict[str, Rule]:
    """By id."""
    return {rule.id: rule for family in families() for rule in family.rules}


def rules_for(world: InputWorld) -> Iterator[Rule]:
    """Those that can find something in this input."""
    for module in RULE_MODULES:
        if module.checks(world):
            yield from module.family().rules


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
            if rule_id not in all_rules():
                yield Hit(item, ("metadata", "annotations", IGNORE_ANNOTATION), no_such_rule(rule_id))


@cache
def rule_of(rule_id: str) -> Rule:
    """The rule with that id. A problem that a kind reports with an unlisted id still gets a rule."""
    for module in sorted(RULE_MODULES, key=lambda module: not module.reported):
        for rule in module.family().rules:
            if rule.id == rule_id:
                return rule
    return Rule(rule_id, "error", rule_id, rule_id, "see the message", "", (), "Objects")


def no_such_rule(rule_id: str) -> str:
    near = similar(rule_id, all_rules(), 3, 0.6)
    return f"there is no rule {rule_id}" + (f"; did you mean {' or '.join(near)}?" if near else "")


def known_ids(rule_ids: Iterable[str]) -> frozenset[str]:
    """These ids. Raises UnknownRule if any of them does not exist."""
    asked = frozenset(rule_ids)
    unknown = sorted(asked - all_rules().keys()) if asked else []
    if unknown:
        raise UnknownRule("; ".join(no_such_rule(rule_id) for rule_id in unknown))
    return asked
