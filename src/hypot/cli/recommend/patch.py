"""The manifests of what saves, for `kubectl apply`. An Autoscaler only reports at first."""

import textwrap
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from hypot.cli.pair.manifests import by_rate, text_of, written
from hypot.cli.recommend.output import Recommended, RecommendOutcome
from hypot.cli.recommend.planning import COUNTER
from hypot.core.amount import show
from hypot.face.style import printable
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.node import replaced
from hypot.kinds.text.write import to_yaml
from hypot.replay.advice.candidates import PAIR, RIGHT_SIZED

_WIDTH = 100
_NOTHING = "# Nothing to change: no workload has a choice that clearly saves.\n"
# What a cluster adds to an object.
_KEPT = ("name", "namespace", "labels", "annotations")
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def patches(outcome: RecommendOutcome) -> str:
    """The largest saving first."""
    saving = [one for one in outcome.workloads if not one.advice.keeps]
    saving.sort(key=lambda one: (-one.advice.best.saving.monthly, one.advice.workload))
    return "---\n".join("\n".join(_part(one)) + "\n" for one in saving) or _NOTHING


def _part(one: Recommended) -> Iterator[str]:
    advice = one.advice
    best, subject = advice.best, advice.plan.subject
    saved = f"${best.saving.monthly:.2f} a month"
    if best.saving.interval is not None:
        saved += " ({:.2f} to {:.2f})".format(*best.saving.interval)
    yield from _comment(f"{subject.target}: {best.choice} saves {saved}, confidence {advice.confidence}.")
    for doubt in advice.doubts:
        yield from _comment(f"Check before: {doubt}.")
    if best.name == PAIR:
        signal = by_rate(COUNTER, best.policy.name.removeprefix(f"{PAIR} "))
        yield text_of(one.pair, signal, written(one.pair, signal), with_rule=True).rstrip("\n")
    elif best.name == RIGHT_SIZED:
        yield from _resized(one)
    else:
        yield from _scaled(one, best.policy.autoscalers[0])


def _scaled(one: Recommended, chosen: Autoscaler) -> Iterator[str]:
    others = [each for each in one.advice.plan.subject.autoscalers if not _is_same(each, chosen)]
    names = " and ".join(f"{info_of(each).abbreviation} {each.name}" for each in others)
    if isinstance(chosen, WorkloadAutoscaler):
        chosen = replaced(chosen, update_mode="Off")
        space = f" -n {chosen.namespace}" if one.advice.plan.subject.namespace else ""
        yield from _comment("It only reports at first, so it may stand next to other autoscalers.")
        yield from _comment(
            f"1. Apply it, and watch what it would do: kubectl describe autoscaler{space} {chosen.name}"
        )
        before = f"delete {names}, and then " if names else ""
        yield from _comment(f"2. When that is right, {before}write updateMode: Auto.")
    elif names:
        yield from _comment(f"Delete {names} before: it scales the same target.")
    yield _text(chosen)


def _is_same(one: Autoscaler, other: Autoscaler) -> bool:
    return (one.KIND, one.name) == (other.KIND, other.name)


def _text(one: Kind) -> str:
    return to_yaml(_plain(one.to_dict())).rstrip("\n")


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """Without what a cluster adds."""
    made = deepcopy({key: value for key, value in data.items() if key != "status"})
    metadata = {key: made["metadata"][key] for key in _KEPT if made["metadata"].get(key)}
    if isinstance(metadata.get("annotations"), dict):
        metadata["annotations"].pop(_APPLIED, None)
    return {**made, "metadata": {key: value for key, value in metadata.items() if value}}


def _resized(one: Recommended) -> Iterator[str]:
    """The manifest of the workload with another request."""
    start, workload = one.advice.best.policy.workload, one.advice.plan.subject.workload
    size = show("cpu", start.cpu)
    if workload is None:
        yield from _comment(f"Its manifest is not in the input: set the cpu request of its container to {size}.")
        return
    data = _plain(workload.data)
    pod = data["spec"]["template"]["spec"]
    [container] = [each for each in pod["containers"] if each.get("name") == start.container]
    resources = container.setdefault("resources", {})
    before = (resources.get("requests") or {}).get("cpu", "none")
    resources["requests"] = {**(resources.get("requests") or {}), "cpu": size}
    if start.cpu_limit is not None:
        resources["limits"] = {**(resources.get("limits") or {}), "cpu": show("cpu", start.cpu_limit)}
    yield from _comment(f"The cpu request of container {start.container} was {before}. Its pods restart once.")
    yield to_yaml(data).rstrip("\n")


def _comment(text: str) -> list[str]:
    return textwrap.wrap(printable(text), _WIDTH, initial_indent="# ", subsequent_indent="#   ", break_on_hyphens=False)
