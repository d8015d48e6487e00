"""Install the CustomResourceDefinitions, and compare what an API server and the rules say about a manifest."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import yaml

from cluster.fuzz.changes import Manifest
from cluster.plane.api import JSON, MERGE, TABLE, Answer, Api, Object
from cluster.plane.waiting import eventually
from hypot.kinds.base import Kind
from hypot.kinds.catalogue import CATALOGUE
from hypot.kinds.problem import Problem

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
NAMESPACE = "definitions"
SERVED_WITHIN = 20.0
HYPOT = Path(sys.executable).with_name("hypot")
OPEN: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
# The API server adds this when it stopped early: CEL rules need values that fit the schema.
NOT_CHECKED = "some validation rules were not checked"
# Rules that report unusable values: no other rule can check such a value.
_UNUSABLE = {"quantity", "min-replicas", "max-replicas"}
_numbers = count()


@cache
def printed() -> tuple[Object, ...]:
    """The definitions that the command prints."""
    written = subprocess.run([HYPOT, "crds"], capture_output=True, text=True, check=True).stdout
    return tuple(yaml.safe_load_all(written))


@cache
def serving(api: Api) -> Api:
    """An API server that serves the kinds in a namespace of their own; it accepted the definitions without warnings."""
    api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for definition in printed():
        assert installed(api, definition) == []
    for definition in printed():
        eventually(lambda definition=definition: established(api, definition), SERVED_WITHIN)
    return api


def installed(api: Api, definition: Object) -> list[str]:
    """Create the definition, or replace it where an earlier test installed it; returns the server's warnings."""
    status, warnings = reported(api, "POST", CRDS, definition)
    if status == 409:
        path = f"{CRDS}/{definition['metadata']['name']}"
        version = {"resourceVersion": api.get(path)["metadata"]["resourceVersion"]}
        replaced = {**definition, "metadata": {**definition["metadata"], **version}}
        status, warnings = reported(api, "PUT", path, replaced)
    assert status in {200, 201}, status
    return warnings


def reported(api: Api, method: str, path: str, body: Any, content: str = JSON) -> tuple[int, list[str]]:
    """The status of an answer and its warnings, which kubectl would print."""
    connection = api._connect(30)
    try:
        headers = {"Authorization": f"Bearer {api.token}", "Content-Type": content}
        connection.request(method, path, json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get_all("Warning") or []
    finally:
        connection.close()


def conditions_of(api: Api, definition: Object) -> dict[str, str]:
    held = api.get(f"{CRDS}/{definition['metadata']['name']}")
    return {each["type"]: each["status"] for each in held.get("status", {}).get("conditions") or ()}


def established(api: Api, definition: Object) -> bool:
    """Whether the definition is accepted and served: the server serves a kind shortly after it is established."""
    spec = definition["spec"]
    path = f"/apis/{spec['group']}/{spec['versions'][0]['name']}/{spec['names']['plural']}"
    return conditions_of(api, definition).get("Established") == "True" and api.call("GET", path).ok


def path_of(kind: type[Kind]) -> str:
    return f"/apis/{kind.API_VERSION}/namespaces/{NAMESPACE}/{CATALOGUE[kind.KIND].plural}"


# Compare the rules with the server.


def always(problem: Problem) -> bool:
    del problem
    return True


@dataclass(frozen=True)
class Unsaid:
    """A rule that a definition does not have: the fields it checks, why it is missing, a manifest that breaks it."""

    rule: str
    field: str
    why: str
    shown_by: Manifest
    only_if: Callable[[Problem], bool] = always

    def covers(self, problem: Problem) -> bool:
        placed = re.fullmatch(self.field, problem.field) is not None
        return problem.rule == self.rule and placed and self.only_if(problem)


def errors(kind: type[Kind], manifest: Manifest) -> list[Problem]:
    return [problem for problem in kind.from_dict(manifest).problems() if problem.severity == "error"]


def judged(api: Api, kind: type[Kind], manifest: Manifest) -> Answer:
    return api.call("POST", path_of(kind), manifest, query={"dryRun": "All", "fieldValidation": "Strict"})


def beside(field: str, unreadable: set[str]) -> bool:
    """Whether another field of the same block cannot be read, so that either side may leave this field out."""
    block, _, _ = field.rpartition(".")
    return block != "spec" and any(other.rpartition(".")[0] == block for other in unreadable)


def agree(
    api: Api,
    kind: type[Kind],
    manifest: Manifest,
    unsaid: Iterable[Unsaid] = (),
    follows: Callable[[str, set[str]], bool] = beside,
) -> set[str]:
    """Both accept the manifest or both refuse it, for faults in the same places; returns the rules that were broken.

    `follows` says whether either side may leave a field out, because of other fields that it cannot use.
    """
    answer = judged(api, kind, manifest)
    found = errors(kind, manifest)
    said = [problem for problem in found if not any(rule.covers(problem) for rule in unsaid)]
    assert answer.status in ({400, 422} if said else {201}), (answer.body, found)
    if answer.status == 422:
        same_places(answer, said, follows)
    return {problem.rule for problem in found}


def same_places(answer: Answer, problems: list[Problem], follows: Callable[[str, set[str]], bool]) -> None:
    """The server reports no other fields; it reports fewer only where it says that it did not check everything."""
    complained = {_as_one(field.removeprefix(".")) for field in fields_of(answer)}
    found = {_as_one(problem.field) for problem in problems}
    unreadable = {problem.field for problem in problems if problem.kind == "Decode" or problem.rule in _UNUSABLE}
    unsaid, unfound = (
        [field for field in one if not named_in(other, field) and not follows(field, unreadable)]
        for one, other in ((found, complained), (complained, found))
    )
    assert unfound == [], (answer.body, problems)
    assert unsaid == [] or NOT_CHECKED in answer.body["message"], (answer.body, problems)


def fields_of(answer: Answer) -> set[str]:
    """The fields that a refusal complains about; for some schema keywords, only the message names them."""
    causes = [cause for cause in answer.body["details"]["causes"] if not is_echo(cause["message"])]
    named = [[c["field"]] if c["field"] != "<nil>" else re.findall(r"\bspec[\w.]*", c["message"]) for c in causes]
    return {_dotted(field) for each in named for field in each}


def _dotted(field: str) -> str:
    """Keys of a mapping in the notation of the rules; numbers are positions in a list."""
    return re.sub(r"\[((?!\d)[^]]*)\]", r".\1", field)


def _as_one(field: str) -> str:
    """Cut paths into metrics and selectors: metrics may be in an old form, selectors are read whole or not at all."""
    return re.sub(r"(\.hpa\.template\.spec\.metrics\[\d+\]|\.[hv]pa\.selector).*", r"\1", field)


def is_echo(message: str) -> bool:
    """Whether a rule could not be evaluated: this only repeats that a value is unreadable. Type rules are excepted."""
    return "evaluating rule" in message and not message.endswith("[type]")


def named_in(fields: set[str], field: str) -> bool:
    """Whether a field is one of these fields, or is within one, or contains one."""
    return any(
        f"{one}.".startswith((f"{two}.", f"{two}[")) for each in fields for one, two in ((each, field), (field, each))
    )


# Stored objects.


def named(manifest: Manifest) -> Manifest:
    """A copy with a unique name."""
    return {**manifest, "metadata": {**manifest["metadata"], "name": f"made-{next(_numbers)}"}}


def at(kind: type[Kind], manifest: Object) -> str:
    return f"{path_of(kind)}/{manifest['metadata']['name']}"


def created(api: Api, kind: type[Kind], manifest: Manifest, status: Object | None = None) -> Object:
    """Create the object, with a status if one is given; returns the stored object."""
    manifest = named(manifest)
    held = api.create(path_of(kind), manifest)
    return held if status is None else api.patch(f"{at(kind, manifest)}/status", {"status": status}, MERGE)


def kept_as_written(api: Api, kind: type[Kind], manifest: Manifest) -> None:
    """No default is added, nothing is pruned, a number stays a number and a string stays a string."""
    manifest = named(manifest)
    api.create(path_of(kind), manifest)
    held = api.get(at(kind, manifest))
    assert exactly(held["spec"]) == exactly(manifest["spec"])
    assert {key: held["metadata"].get(key, {}) for key in ("labels", "annotations")} == {
        key: manifest["metadata"].get(key, {}) for key in ("labels", "annotations")
    }
    assert errors(kind, held) == []


def exactly(data: Any) -> str:
    """JSON in which 1 and "1" differ, but 1 and 1.0 do not, and the order of keys does not count."""
    return json.dumps(json.loads(json.dumps(data), parse_float=_plainly), sort_keys=True)


def _plainly(written: str) -> float:
    number = float(written)
    return int(number) if number.is_integer() else number


def within(part: Any, whole: Any) -> bool:
    """Whether everything in a value is also in another value, where mappings may have more keys."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(key in whole and within(part[key], whole[key]) for key in part)
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(within, part, whole))
    return type(part) is type(whole) and part == whole


def cells(api: Api, kind: type[Kind], manifest: Object) -> dict[str, Any]:
    """What `kubectl get -o wide` shows."""
    table = api.get(at(kind, manifest), accept=TABLE)
    return dict(zip([column["name"] for column in table["columnDefinitions"]], table["rows"][0]["cells"], strict=True))


def tightened(api: Api, kind: type[Kind], stored: Mapping[str, Manifest], refused: Manifest) -> str:
    """The path of objects that were stored under a laxer definition; the current definition refuses `refused`."""
    definition = deepcopy(definition_of(kind))
    group, spec = f"{kind.KIND.lower()}.before.example", definition["spec"]
    definition["metadata"] = {"name": f"{spec['names']['plural']}.{group}"}
    spec["group"] = group
    lax = deepcopy(definition)
    lax["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = OPEN
    api.create(CRDS, lax)
    eventually(lambda: established(api, lax), SERVED_WITHIN)
    version = f"{group}/{spec['versions'][0]['name']}"
    path = f"/apis/{version}/namespaces/{NAMESPACE}/{spec['names']['plural']}"
    for name, manifest in stored.items():
        metadata = {"name": name, "finalizers": [f"{group}/finalizer"]}
        api.create(path, {**manifest, "apiVersion": version, "metadata": metadata})
    api.patch(f"{CRDS}/{definition['metadata']['name']}", {"spec": spec})
    tried = {**refused, "apiVersion": version}
    eventually(lambda: not api.call("POST", path, tried, query={"dryRun": "All"}).ok, SERVED_WITHIN)
    return path


def definition_of(kind: type[Kind]) -> Object:
    return next(each for each in printed() if each["spec"]["names"]["kind"] == kind.KIND)
