"""Objects that cannot be decided, and what is reported for them."""

from collections.abc import Iterable

from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.problem import Problem
from hypot.policy.families import family_of
from hypot.policy.model.decision import Conditions, Event, Move, Name, with_condition
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import without_conditions
from hypot.policy.observe.targets import target_of
from hypot.policy.stages.report import sentence


def in_the_way(autoscaler: Autoscaler, settings: Settings) -> list[Problem]:
    """The problems that make a decision impossible."""
    return blocking(autoscaler, autoscaler.problems(settings.kubernetes, settings.gates))


def blocking(autoscaler: Autoscaler, problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if _forbids(autoscaler, problem)]


def _forbids(autoscaler: Autoscaler, problem: Problem) -> bool:
    """Whether this problem makes a decision impossible. Unknown fields do not: a newer cluster may have them."""
    if problem.severity != "error" or problem.rule == "unknown-field":
        return False
    return family_of(autoscaler).is_undecidable(problem)


def refusal(autoscaler: Autoscaler, problems: list[Problem], now: float) -> Move:
    """A move that decides nothing and gives the reason."""
    ref, namespace = target_of(autoscaler), autoscaler.namespace
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Move(
        autoscaler=Name(autoscaler.API_VERSION, autoscaler.KIND, namespace, autoscaler.name),
        target=Name(ref.api_version or "", ref.kind or "", namespace, ref.name or ""),
        at=now,
        current=None,
        desired=None,
        error=f"the object is not valid: {problems[0]}{more}",
        error_kind="spec",
        decided=False,
    )


def explained(refused: Move, autoscaler: Autoscaler, conditions: Conditions, why: str = "") -> Move:
    """The refusal with its status: the old status stays, and a condition says why nothing is scaled.

    An event says it too: a server with a newer, stricter schema may reject a status write to such an object.
    """
    kind, word, usual = family_of(autoscaler).undecidable
    reason = why or usual
    old = autoscaler.status if isinstance(autoscaler.status, dict) else {}
    return refused._replace(
        unwritten=with_condition(conditions, kind, word, reason, refused.error, refused.at),
        warnings=(Event("Warning", reason, sentence(refused.error)),),
        observed=without_conditions(old),
    )
