"""Which statuses a reconcile writes, and how: what people act on at once, the rest now and then."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from hypot.cluster.port import APPLY_PATCH, MERGE_PATCH, Request, encoded
from hypot.policy.model.decision import Conditions, Hold, status_with
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, reported_conditions, without_conditions
from hypot.policy.report import report
from hypot.run.config import OPT_IN_LABEL, OPT_IN_VALUE
from hypot.run.in_time import in_turns
from hypot.run.observe.rows import Manager
from hypot.run.outcome import Key, Outcome
from hypot.run.requests import MANAGER, WRITE_WITHIN
from hypot.serving.event_object import cut

# A status in which only messages and values differ is written at most this often, and this many per reconcile.
# All others are written as soon as there is time.
PATIENCE = 60.0
MOST_PATIENT = 50
# A message is for people; even a spec with a thousand problems needs no longer message.
LONGEST_MESSAGE = 4096

# The final hold in a status: hypot wrote this status and may no longer act there.
NOT_OPTED_IN = Hold(
    "NotOptedIn",
    "the namespace is no longer opted in: nothing is scaled, and this status stays as it is until the namespace has"
    f" the label {OPT_IN_LABEL}={OPT_IN_VALUE} again",
)

_NONE_DUE: Mapping[Key, float] = {}
# Most of a status, so they are passed quickly.
_PLAIN = frozenset({str, int, bool, float})
_COUNTS = ("currentReplicas", "desiredReplicas", "replicas")


class Written(NamedTuple):
    """The status of an object when it was last written or found, and the time of that on the boot clock."""

    conditions: Conditions
    reported: Mapping[str, Any]
    at: float


def wrote(outcome: Outcome, now_boot: float) -> Written:
    """What to keep after a successful write."""
    return Written(outcome.decision.conditions, outcome.decision.reported, now_boot)


def found(status: Any) -> Written:
    """The status of the object, whichever client wrote it: after a restart an unchanged status is not written again."""
    if not isinstance(status, Mapping):
        return Written((), {}, -inf)
    return Written(reported_conditions(status), without_conditions(status), -inf)


def is_ours(managers: Iterable[Manager]) -> bool:
    """Whether hypot wrote the status, and no other client after it or in the same second."""
    writers = [each for each in managers if each.subresource == "status"]
    last = max(writers, key=lambda each: (each.at, each.name != MANAGER), default=None)
    return last is not None and last.name == MANAGER


def last_report(outcome: Outcome, before: Written) -> Outcome | None:
    """The status as it is, plus the hold that it is no longer maintained; None if it has that hold already."""
    if any(condition.reason == NOT_OPTED_IN.reason for condition in before.conditions):
        return None
    decision = outcome.decision
    still = decision._replace(
        desired=decision.current,
        desired_sizes=decision.sizes,
        catches_up=False,
        actions=(),
        decided=False,
        unwritten=before.conditions,
        warnings=(),
        observed=before.reported,
        holds=(NOT_OPTED_IN,),
        wanted=None,
    )
    known = State(conditions=before.conditions)
    return replace(outcome, acting="act", decision=report(outcome.autoscaler, still, known, Settings()))


class Choice:
    """Which statuses of a reconcile are written, and in which order. Objects that are only observed have none.

    `due`: since when the statuses wait that the last reconcile had no time for; the first come first.
    """

    def __init__(self, written: Mapping[Key, Written], now_boot: float, due: Mapping[Key, float] = _NONE_DUE) -> None:
        self._written, self._now, self._due = written, now_boot, due
        self._urgent: list[Outcome] = []
        self._patient: list[tuple[float, Key, Outcome]] = []

    def look(self, outcome: Outcome) -> None:
        """Take one object, so that the caller can let other tasks run in between."""
        if outcome.acting == "observe":
            return
        before = self._written.get(outcome.key) or found(outcome.autoscaler.status)
        if _is_urgent(outcome, before):
            self._urgent.append(outcome)
        elif self._now - before.at >= PATIENCE and _differs(outcome, before):
            self._patient.append((before.at, outcome.key, outcome))

    def due(self) -> dict[Key, float]:
        """The urgent statuses, and since when they wait."""
        return {outcome.key: self._due.get(outcome.key, self._now) for outcome in self._urgent}

    def chosen(self) -> list[Outcome]:
        """All urgent statuses, first come first, with fair turns; then a few of the rest, oldest first."""
        due = self.due()
        urgent = sorted(in_turns(self._urgent, lambda outcome: outcome.key[1]), key=lambda outcome: due[outcome.key])
        waiting = sorted(self._patient, key=lambda each: each[:2])
        return urgent + [outcome for _, _, outcome in waiting[:MOST_PATIENT]]


def _is_urgent(outcome: Outcome, before: Written) -> bool:
    """Whether replicas, a size or a condition changed, apart from the condition's message."""
    reported, known = outcome.decision.reported, before.reported
    for key in _COUNTS:
        if (reported.get(key) or 0) != (known.get(key) or 0):
            return True
    if not _same_conditions(outcome.decision.conditions, before.conditions):
        return True
    return bool(_sizes(reported) != _sizes(known))


def _same_conditions(reported: Conditions, known: Conditions) -> bool:
    """Whether types, statuses and reasons are the same, in any order."""
    if reported == known or len(reported) != len(known):
        return len(reported) == len(known)
    one, two = [condition[:3] for condition in reported], [condition[:3] for condition in known]
    return one == two or sorted(one) == sorted(two)


def _sizes(reported: Mapping[str, Any]) -> Any:
    """The sizes that were set or recommended, without their bounds, which change all the time."""
    if "containers" in reported:
        return reported["containers"]
    scaling, advice = reported.get("lastScaling"), reported.get("recommendation")
    if isinstance(scaling, Mapping):
        return scaling.get("vpaStatus")
    listed = advice.get("containerRecommendations") if isinstance(advice, Mapping) else None
    if not isinstance(listed, list):
        return None
    return [(each.get("containerName"), each.get("target")) for each in listed if isinstance(each, Mapping)]


def _differs(outcome: Outcome, before: Written) -> bool:
    """Whether a write would change anything; a stored status has whole seconds and no nulls."""
    decision = outcome.decision
    if any(
        _stored_differs(key, decision.reported, before.reported) for key in {**decision.reported, **before.reported}
    ):
        return True
    reported, known = decision.conditions, before.conditions
    return len(reported) != len(known) or any(
        one[:4] != two[:4] or int(one.since) != int(two.since) for one, two in zip(reported, known, strict=True)
    )


def _stored_differs(key: str, reported: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Whether a field differs as the API server stores it: some counts are present even if they were not written."""
    one, two = reported.get(key), known.get(key)
    if one == two or (key in _COUNTS and not one and not two):
        return False
    return bool(without_nulls(one) != without_nulls(two))


def status_request(outcome: Outcome, path: str, resource_version: str) -> Request:
    """Apply the whole status server-side, to the version that was decided on; `path` is the path of the object."""
    name = outcome.decision.autoscaler
    body = {
        "apiVersion": name.api_version,
        "kind": name.kind,
        "metadata": {"name": name.name, "namespace": name.namespace, "resourceVersion": resource_version},
        "status": _status(outcome),
    }
    query = {"fieldManager": MANAGER, "force": "true"}
    return Request("PATCH", f"{path}/status", query, encoded(body), APPLY_PATCH, timeout=WRITE_WITHIN)


def _status(outcome: Outcome) -> dict[str, Any]:
    report = outcome.decision.report
    conditions = [each._replace(message=cut(each.message, LONGEST_MESSAGE)) for each in report.conditions]
    reported: dict[str, Any] = without_nulls(status_with(report._replace(conditions=tuple(conditions))))
    return reported


def patch_request(outcome: Outcome, path: str, resource_version: str) -> Request:
    """The same by a merge patch, for an object that no longer matches its schema: apply fails for it.

    If the spec does not match, only the conditions are written: the rest comes from the object and may not match.
    """
    status = _status(outcome)
    if outcome.decision.error_kind == "spec":
        status = {"conditions": status.get("conditions", [])}
    body = {"metadata": {"resourceVersion": resource_version}, "status": status}
    query = {"fieldManager": MANAGER}
    return Request("PATCH", f"{path}/status", query, encoded(body), MERGE_PATCH, timeout=WRITE_WITHIN)


def without_nulls(value: Any) -> Any:
    """The same without nulls: a CustomResourceDefinition refuses null for a number."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return {
            key: each if type(each) in _PLAIN else without_nulls(each)
            for key, each in value.items()
            if each is not None
        }
    if isinstance(value, list | tuple):
        return [without_nulls(each) for each in value if each is not None]
    return value
