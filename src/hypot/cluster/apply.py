"""Applies authored objects to a cluster and reads them back: plain functions for scripts and notebooks."""

import asyncio
import re
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from hypot.kinds.base import Kind, count_of
from hypot.kinds.catalogue import CATALOGUE, info_of
from hypot.kinds.problem import did_you_mean
from hypot.kinds.written import written_part

try:
    from hypot.cluster.api import Api
    from hypot.cluster.config import Access, read_access
    from hypot.cluster.discovery import ServedKind, path_of
    from hypot.cluster.port import APPLY_PATCH, Answer, Port, Request, encoded
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"apply and live need {error.name}: pip install 'hypot[run]'", name=error.name) from error

# The owner of the fields that `apply` sets.
MANAGER = "hypot-authoring"
_OWNER = re.compile(r'conflict with "([^"]*)"')

K = TypeVar("K", bound=Kind)
R = TypeVar("R")


class FieldConflict(NamedTuple):
    """A field that another manager owns."""

    field: str
    manager: str

    def __str__(self) -> str:
        return f"{self.field} belongs to {self.manager}"


class ApplyConflict(Exception):  # noqa: N818  the name that Kubernetes uses
    """Other managers own fields that the object sets to another value. Nothing was changed."""

    def __init__(self, what: str, conflicts: tuple[FieldConflict, ...]) -> None:
        self.conflicts = conflicts
        lines = [f"  {i}. {one}" for i, one in enumerate(conflicts, 1)]
        hint = "  to take these fields over, apply with force=True; to leave them, remove them from the object"
        super().__init__("\n".join([f"{what}: {count_of(len(conflicts), 'conflict')}", *lines, hint]))


class ApplyRefused(Exception):  # noqa: N818  the cluster refused, which is an answer
    """The cluster refused a request. The message is the cluster's own, with what to do where that is known."""


def apply(
    one: K,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
    dry_run: bool = False,
    force: bool = False,
) -> K:
    """Apply the object with server-side apply, and return it as the cluster stores it.

    Its problems are raised before anything is sent: InvalidAutoscaler. Fields that others own raise ApplyConflict,
    unless `force` takes them over. With `dry_run` the cluster checks and answers, but stores nothing.
    """
    one.raise_if_refused()
    access = read_access(kubeconfig, context)
    return _waited_for(_applied(one, access, dry_run=dry_run, force=force))


def live(
    kind: type[K] | str,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> K | None:
    """The object as it is in the cluster, with its status; None if there is none. The kind may be a word such as hpa.

    Without a namespace, that of the kubeconfig's context is used.
    """
    known: Any = kind_named(kind) if isinstance(kind, str) else kind
    access = read_access(kubeconfig, context)
    return _waited_for(_read(known, name, namespace or access.namespace, access))


def kind_named(word: str) -> type[Kind]:
    """The kind of this name, in any case, or of this short name. Raises ValueError if there is none."""
    for info in CATALOGUE.values():
        if word.lower() in {info.name.lower(), info.plural, *info.short_names}:
            return info.kind
    words = [*CATALOGUE, *[short for info in CATALOGUE.values() for short in info.short_names]]
    raise ValueError(f"{word!r} is not a kind that hypot knows; {did_you_mean(word, words) or 'write hpa or vpa'}")


async def _applied(one: K, access: Access, *, dry_run: bool, force: bool) -> K:
    async with Api(access) as api:
        return await send(api, one, access.namespace, dry_run=dry_run, force=force)


async def send(port: Port, one: K, namespace: str, *, dry_run: bool, force: bool) -> K:
    """Apply through this connection. The namespace is used if the object names none."""
    manifest = written_part(one)
    where = manifest["metadata"].setdefault("namespace", namespace)
    query = {"fieldManager": MANAGER, "force": str(force).lower(), "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    path = path_of(_served(type(one)), where, one.name)
    answer = await port.call(Request("PATCH", path, query, encoded(manifest), APPLY_PATCH))
    if answer.conflict and (conflicts := tuple(_conflicts(answer))):
        raise ApplyConflict(f"{one.KIND} {where}/{one.name}", conflicts)
    if not answer.ok:
        raise _refused(type(one), f"{where}/{one.name}", answer)
    return type(one).from_dict(answer.json())


async def _read(kind: type[K], name: str, namespace: str, access: Access) -> K | None:
    async with Api(access) as api:
        answer = await api.call(Request("GET", path_of(_served(kind), namespace, name)))
    if answer.gone and answer.reason == "NotFound" and _is_served(answer):
        return None
    if not answer.ok:
        raise _refused(kind, f"{namespace}/{name}", answer)
    return kind.from_dict(answer.json())


def _served(kind: type[Kind]) -> ServedKind:
    return ServedKind(kind.API_VERSION, kind.KIND, CATALOGUE[kind.KIND].plural)


def _is_served(answer: Answer) -> bool:
    """Whether the object is missing, and not its kind: then the server's answer does not name the object."""
    body = answer.json()
    details = body.get("details") if isinstance(body, dict) else None
    return isinstance(details, dict) and bool(details.get("name"))


def _conflicts(answer: Answer) -> Iterator[FieldConflict]:
    body = answer.json()
    details = body.get("details") if isinstance(body, dict) else None
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, dict) and cause.get("reason") == "FieldManagerConflict":
            message = str(cause.get("message"))
            owner = _OWNER.search(message)
            yield FieldConflict(str(cause.get("field")).removeprefix("."), owner[1] if owner else message)


def _refused(kind: type[Kind], what: str, answer: Answer) -> ApplyRefused:
    message = f"{kind.KIND} {what}: {answer.message}"
    if answer.gone and not _is_served(answer):
        return ApplyRefused(
            f"{kind.KIND} {what}: the cluster does not serve {kind.API_VERSION}; "
            "install it: hypot crds | kubectl apply --server-side -f -"
        )
    if answer.status in {401, 403}:
        message += f"; it needs the verbs get and patch for {info_of(kind).plural}"
    return ApplyRefused(message)


def _waited_for(work: Coroutine[Any, Any, R]) -> R:
    """The result, also in a notebook, whose event loop is already running: then another thread waits."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
