"""What the API server and hypot say about a manifest, and whether they agree."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from cluster.plane.api import JSON, Answer, Api
from hypot.kinds.hpa import HPA
from hypot.kinds.hpa.defaults import stored
from hypot.kinds.problem import Problem

KUBERNETES = (1, 36)
GATES = {"HPAScaleToZero": True}
STRICT_DRY_RUN = {"dryRun": "All", "fieldValidation": "Strict"}
REASONS = {
    "Required": "FieldValueRequired",
    "Invalid": "FieldValueInvalid",
    "NotSupported": "FieldValueNotSupported",
    "Forbidden": "FieldValueForbidden",
    "TooLong": "FieldValueTooLong",
}


@dataclass(frozen=True)
class Verdict:
    """Accepted as a spec, refused as unreadable, or refused for causes."""

    kind: str
    causes: frozenset[tuple[str, str]] = frozenset()
    spec: Any = None


def post(api: Api, namespace: str, body: bytes, content: str = JSON, version: str = "v2") -> Answer:
    path = f"/apis/autoscaling/{version}/namespaces/{quote(namespace)}/horizontalpodautoscalers"
    return api.call("POST", path, body, query=STRICT_DRY_RUN, content=content)


def as_json(data: Any) -> bytes:
    """As the Kubernetes encoder writes it: characters are not escaped, except two that end a line."""
    text = json.dumps(data, ensure_ascii=False)
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").encode()


def of_server(answer: Answer) -> Verdict:
    if answer.ok:
        return Verdict("accepted", spec=answer.body["spec"])
    if answer.status == 422:
        return Verdict("invalid", frozenset(answer.causes))
    assert answer.status == 400, answer
    return Verdict("unreadable")


def of_hypot(data: Mapping[str, Any]) -> tuple[Verdict, tuple[Problem, ...]]:
    hpa = HPA.from_dict(data)
    problems = tuple(p for p in hpa.problems(KUBERNETES, GATES) if p.severity == "error")
    if problems:
        return of_problems(problems), problems
    return Verdict("accepted", spec=stored(hpa, KUBERNETES, GATES).to_dict()["spec"]), problems


def of_problems(problems: tuple[Problem, ...]) -> Verdict:
    """The verdict for these problems; it has no spec."""
    if any(_unreadable(problem) for problem in problems):
        return Verdict("unreadable")
    return (
        Verdict("invalid", frozenset((p.field, REASONS[p.kind]) for p in problems)) if problems else Verdict("accepted")
    )


def _unreadable(problem: Problem) -> bool:
    """An invalid namespace cannot be part of a request, so the server refuses the request itself."""
    return problem.kind in {"Decode", "Version"} or problem.rule in {"quantity", "namespace"}


def shown_in_v2(api: Api, namespace: str, data: Mapping[str, Any]) -> Verdict:
    """Create the object under a generated name, without dry run, and read it in autoscaling/v2."""
    metadata = data["metadata"]
    kept = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
    made = {**data, "metadata": {**kept, "generateName": "shown-"}}
    path = f"namespaces/{namespace}/horizontalpodautoscalers"
    name = api.create(f"/apis/autoscaling/v1/{path}", made)["metadata"]["name"]
    return Verdict("accepted", spec=api.get(f"/apis/autoscaling/v2/{path}/{name}")["spec"])


def disagreement(sent: Any, answer: Answer, theirs: Verdict, ours: Verdict, problems: Iterable[Problem]) -> str:
    """Everything that is needed to see which side is right."""
    lines = [
        "the API server and hypot disagree about",
        sent if isinstance(sent, str) else json.dumps(sent),
        f"server: {answer.status} {theirs.kind} {sorted(theirs.causes)} {answer.body.get('message', '')}",
        f"hypot: {ours.kind} {sorted(ours.causes)}",
        *(f"  {problem} [{problem.rule}]" for problem in problems),
    ]
    if theirs.kind == ours.kind == "accepted":
        lines += [f"server holds: {json.dumps(theirs.spec)}", f"hypot holds:  {json.dumps(ours.spec)}"]
    return "\n".join(lines)
