"""Objects that cannot be decided on, and what is said of them."""

from collections.abc import Iterable
from dataclasses import replace

from hypot.kinds.catalogue import Autoscaler
from hypot.kinds.problem import Problem
from hypot.policy.families import family_of
from hypot.policy.model.decision import Conditions, Decision, Event, Name, with_condition
from hypot.policy.model.settings import Settings
from hypot.policy.observe.snapshot import target_of
from hypot.policy.stages.report import sentence


def in_the_way(autoscaler: Autoscaler, settings: Settings) -> list[Problem]:
    """The problems with which nothing can be decided."""
    return blocking(autoscaler, autoscaler.problems(settings.kubernetes, settings.gates))


def blocking(autoscaler: Autoscaler, problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if _forbids(autoscaler, problem)]


def _forbids(autoscaler: Autoscaler, problem: Problem) -> bool:
    """Whether an object with this problem could not be decided on. A newer cluster may hold fields unknown here."""
    if problem.severity != "error" or problem.rule == "unknown-field":
        return False
    return family_of(autoscaler).is_undecidable(problem)


def refusal(autoscaler: Autoscaler, problems: list[Problem], now: float) -> Decision:
    """Nothing is decided, and why."""
    ref, namespace = target_of(autoscaler), autoscaler.namespace
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return Decision(
        autoscaler=Name(autoscaler.API_VERSION, autoscaler.KIND, namespace, autoscaler.name),
        target=Name(ref.api_version or "", ref.kind or "", namespace, ref.name or ""),
        at=now,
        current=None,
        desired=None,
        reason="",
        steps=(),
        conditions=(),
        unwritten=(),
        error=f"the object is not valid: {problems[0]}{more}",
        error_kind="spec",
        decided=False,
    )


def told(refused: Decision, autoscaler: Autoscaler, conditions: Conditions, why: str = "") -> Decision:
    """The same as a status tells it: what stood there stays, with a condition that says why nothing moves.

    An event says it too: a server that has a stricter schema by now may take no status of such an object.
    """
    kind, word, usual = family_of(autoscaler).undecidable
    reason = why or usual
    said = with_condition(conditions, kind, word, reason, refused.error, refused.at)
    old = autoscaler.status if isinstance(autoscaler.status, dict) else {}
    reported = {key: value for key, value in old.items() if key != "conditions"}
    warning = Event("Warning", reason, sentence(refused.error))
    return replace(refused, conditions=said, unwritten=said, reported=reported, events=(warning,))
