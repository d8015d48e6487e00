"""The definition of a rule. Its texts are kept next to its code; docs, SARIF and messages read them from here."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hypot.core.dataclass import dataclass
from hypot.kinds import identity
from hypot.kinds.catalogue import CATALOGUE, autoscalers, names_of, sizing
from hypot.kinds.problem import NAMED, Severity, Where

if TYPE_CHECKING:
    from hypot.lint.input.item import Item
    from hypot.lint.input.world import InputWorld

HPA_ONLY = (identity.HPA.kind,)
WPA_ONLY = (identity.WPA.kind,)
BOTH = (*HPA_ONLY, *WPA_ONLY)
VPA_ONLY = (identity.VPA.kind,)
HVPA_ONLY = (identity.HVPA.kind,)
TORTOISE_ONLY = (identity.TORTOISE.kind,)
AUTOSCALER_ONLY = (identity.AUTOSCALER.kind,)
CHECKPOINT_ONLY = (identity.CHECKPOINT.kind,)
# Kinds that size pods; an Hvpa has the policies of a VerticalPodAutoscaler in a template.
SIZING = names_of(sizing())
# Kinds with the metrics of a HorizontalPodAutoscaler; an Hvpa has those in a template too.
MEASURING = (*HPA_ONLY, *HVPA_ONLY)
# Kinds that point at a workload.
POINTING = names_of(autoscalers())
EVERY = names_of(CATALOGUE.values())


class Hit(NamedTuple):
    """A rule violation: the object, the path in it, and what is wrong there."""

    item: "Item"
    where: Where
    message: str
    hint: str = ""
    # The first of the other objects that the message names.
    others: "tuple[Item, ...]" = ()


def first_of(items: "Iterable[Item]") -> "tuple[Item, ...]":
    """As many as a message names: all of them at each of them would be their square."""
    return tuple(islice(items, NAMED))


Check = Callable[["InputWorld"], Iterator[Hit]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. Rules that the kinds themselves report have no `check`."""

    id: str
    severity: Severity
    title: str
    why: str
    fix: str
    example: str
    kinds: tuple[str, ...]
    family: str
    check: Check | None = None
    since: str = "0.1"


@dataclass(frozen=True, slots=True)
class RuleFamily:
    """Related rules: one file, one section of the docs. `kinds` is the default for rules that name none."""

    title: str
    about: str
    kinds: tuple[str, ...] = ()
    rules: list[Rule] = field(default_factory=list)

    def known(
        self,
        rule_id: str,
        severity: Severity = "error",
        *,
        title: str,
        why: str,
        fix: str,
        example: str,
        kinds: tuple[str, ...] = (),
        check: Check | None = None,
    ) -> None:
        """Add a rule. The kinds themselves report a rule that has no check."""
        of = kinds or self.kinds
        self.rules.append(Rule(rule_id, severity, title, why, fix, example, of, self.title, check))

    def rule(self, rule_id: str, severity: Severity, **texts: Any) -> Callable[[Check], Check]:
        """Add the rule that the decorated function checks."""

        def declare(check: Check) -> Check:
            self.known(rule_id, severity, check=check, **texts)
            return check

        return declare
