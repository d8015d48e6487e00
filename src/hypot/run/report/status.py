"""Which statuses are written in a reconcile, and how: what people act on at once, the rest now and then."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

from hypot.cluster.port import APPLY_PATCH, MERGE_PATCH, Request, encoded
from hypot.policy.model.decision import Conditions, Hold
from hypot.policy.model.settings import Settings
from hypot.policy.model.state import State, read_conditions
from hypot.policy.report import report
from hypot.run.config import OPT_IN_LABEL, OPT_IN_VALUE
from hypot.run.observe.rows import Manager
from hypot.run.outcome import Key, Outcome
from hypot.run.report.events import cut
from hypot.run.requests import MANAGER, WRITE_WITHIN

# A status in which only words and values differ is written this seldom, and so many of them in one reconcile.
PATIENCE = 60.0
MOST_PATIENT = 50
# A message is for people; a spec with a thousand faults needs no more than this.
LONGEST_MESSAGE = 4096

# The last word in a status: who wrote it may not act there any more.
NOT_OPTED_IN = Hold(
    "NotOptedIn",
    "the namespace is not opted in any more: nothing is scaled, and this status stays as it is until the namespace has"
    f" the label {OPT_IN_LABEL}={OPT_IN_VALUE} again",
)

_COUNTS = ("currentReplicas", "desiredReplicas", "replicas")


class Written(NamedTuple):
    """What the status of an object said when it was last written or found, and when, on the boot clock."""

    conditions: Conditions
    reported: Mapping[str, Any]
    at: float


def wrote(outcome: Outcome, now_boot: float) -> Written:
    """To be kept after a successful write."""
    return Written(outcome.decision.conditions, outcome.decision.reported, now_boot)


def found(status: Any) -> Written:
    """The status as the object has it, whoever wrote it: after a restart nothing is written that stands there."""
    if not isinstance(status, Mapping):
        return Written((), {}, -inf)
    reported = {key: value for key, value in status.items() if key != "conditions"}
    return Written(read_conditions(status.get("conditions")), reported, -inf)


def is_ours(managers: Iterable[Manager]) -> bool:
    """Whether hypot, and nobody else after it or in the same second, wrote the status."""
    writers = [each for each in managers if each.subresource == "status"]
    last = max(writers, key=lambda each: (each.at, each.name != MANAGER), default=None)
    return last is not None and last.name == MANAGER


def last_words(outcome: Outcome, before: Written) -> Outcome | None:
    """The status as it stands, and that nobody keeps it any more; None where it says so already."""
    if any(condition.reason == NOT_OPTED_IN.reason for condition in before.conditions):
        return None
    decision = outcome.decision
    still = replace(
        decision,
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
    """Which statuses of a reconcile are written now. What is only observed has none."""

    def __init__(self, written: Mapping[Key, Written], now_boot: float) -> None:
        self._written, self._now = written, now_boot
        self._urgent: list[Outcome] = []
        self._patient: list[tuple[float, Key, Outcome]] = []

    def look(self, outcome: Outcome) -> None:
        """One object after the other, so that whoever looks can take a breath in between."""
        if outcome.acting == "observe":
            return
        before = self._written.get(outcome.key) or found(outcome.autoscaler.status)
        if _is_urgent(outcome, before):
            self._urgent.append(outcome)
        elif self._now - before.at >= PATIENCE and _differs(outcome, before):
            self._patient.append((before.at, outcome.key, outcome))

    def chosen(self) -> list[Outcome]:
        """All that people act on, then a few of the rest, oldest first."""
        waiting = sorted(self._patient, key=lambda each: each[:2])
        return self._urgent + [outcome for _, _, outcome in waiting[:MOST_PATIENT]]


def _is_urgent(outcome: Outcome, before: Written) -> bool:
    """Whether replicas, a size or a condition changed; not what its message says."""
    reported, known = outcome.decision.reported, before.reported
    for key in _COUNTS:
        if (reported.get(key) or 0) != (known.get(key) or 0):
            return True
    if not _same_words(outcome.decision.conditions, before.conditions):
        return True
    return bool(_sizes(reported) != _sizes(known))


def _same_words(reported: Conditions, known: Conditions) -> bool:
    """Whether types, statuses and reasons are the same, in whichever order."""
    if reported == known or len(reported) != len(known):
        return len(reported) == len(known)
    one, two = [condition[:3] for condition in reported], [condition[:3] for condition in known]
    return one == two or sorted(one) == sorted(two)


def _sizes(reported: Mapping[str, Any]) -> Any:
    """The sizes that were given or recommended; the bounds around them move all the time."""
    scaling, advice = reported.get("lastScaling"), reported.get("recommendation")
    if isinstance(scaling, Mapping):
        return scaling.get("vpaStatus")
    listed = advice.get("containerRecommendations") if isinstance(advice, Mapping) else None
    if not isinstance(listed, list):
        return None
    return [(each.get("containerName"), each.get("target")) for each in listed if isinstance(each, Mapping)]


def _differs(outcome: Outcome, before: Written) -> bool:
    """Whether anything would be written otherwise; a status has whole seconds and no empty places."""
    decision = outcome.decision
    if decision.reported != before.reported and _stored(decision.reported) != _stored(before.reported):
        return True
    reported, known = decision.conditions, before.conditions
    return len(reported) != len(known) or any(
        one[:4] != two[:4] or int(one.since) != int(two.since) for one, two in zip(reported, known, strict=True)
    )


def _stored(reported: Mapping[str, Any]) -> Any:
    """As an API server keeps it: some counts are there whether they were written or not."""
    return without_nulls({key: value for key, value in reported.items() if value != 0 or key not in _COUNTS})


def status_request(outcome: Outcome, path: str, resource_version: str) -> Request:
    """The whole status by server-side apply, on the version that was decided on; `path` is the object's."""
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
    status = outcome.decision.status
    for condition in status.get("conditions", ()):
        condition["message"] = cut(condition["message"], LONGEST_MESSAGE)
    reported: dict[str, Any] = without_nulls(status)
    return reported


def patch_request(outcome: Outcome, path: str, resource_version: str) -> Request:
    """The same by a plain patch: an object that does not fit its schema, as an older one let it, cannot be applied to.

    Where it is the spec that does not fit, only the conditions are told: the rest was found there, and may not fit.
    """
    status = _status(outcome)
    if outcome.decision.error_kind == "spec":
        status = {"conditions": status.get("conditions", [])}
    body = {"metadata": {"resourceVersion": resource_version}, "status": status}
    query = {"fieldManager": MANAGER}
    return Request("PATCH", f"{path}/status", query, encoded(body), MERGE_PATCH, timeout=WRITE_WITHIN)


def without_nulls(value: Any) -> Any:
    """The same without places that hold nothing: a definition refuses null where it wants a number."""
    if isinstance(value, Mapping):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list | tuple):
        return [without_nulls(each) for each in value if each is not None]
    return value
