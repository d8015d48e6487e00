"""Applies authored objects to a cluster and reads them back: plain functions for scripts and notebooks."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar, overload

from hypot.cluster.config import Access, read_access
from hypot.cluster.discovery import ServedKind, path_of
from hypot.cluster.port import APPLY_PATCH, Answer, Port, Request, UnreachableError, encoded
from hypot.kinds.authored.written import written_part
from hypot.kinds.autoscaler import WorkloadAutoscaler
from hypot.kinds.base import Kind, count_of
from hypot.kinds.catalogue import CATALOGUE, info_of
from hypot.kinds.hpa import HPA
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.problem import did_you_mean
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.names import dns_label, dns_subdomain
from hypot.kinds.vpa import VPA
from hypot.kinds.wpa import WPA

if TYPE_CHECKING:
    from hypot.cluster.api import Api

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
    """Other managers own fields that the object sets to another value. Nothing was changed.

    >>> try:
    ...     stored = apply(HPA("deployment/web", max_replicas=10))
    ... except ApplyConflict as error:
    ...     print([conflict.manager for conflict in error.conflicts])
    ... else:
    ...     print("nobody else owns these fields")
    nobody else owns these fields
    """

    def __init__(self, what: str, conflicts: tuple[FieldConflict, ...]) -> None:
        self.what, self.conflicts = what, conflicts
        lines = [f"  {i}. {one}" for i, one in enumerate(conflicts, 1)]
        hint = "  to take these fields over, apply with force=True; to leave them, remove them from the object"
        super().__init__("\n".join([f"{what}: {count_of(len(conflicts), 'conflict')}", *lines, hint]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies, also to another process."""
        return type(self), (self.what, self.conflicts)


class ApplyRefused(Exception):  # noqa: N818  the cluster refused, which is an answer
    """The cluster refused to apply. The message is the cluster's own, with what to do where that is known.

    >>> try:
    ...     stored = apply(HPA("deployment/web", max_replicas=10))
    ... except ApplyRefused as error:
    ...     print(error)
    """


class LiveRefused(Exception):  # noqa: N818  likewise
    """The cluster refused to show an object. The message is the cluster's own, with what to do where that is known.

    >>> try:
    ...     found = live("hpa", "web")
    ... except LiveRefused as error:
    ...     print(error)
    """


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
    unless `force` takes them over. With `dry_run` the cluster checks and answers, but stores nothing. Other refusals
    are ApplyRefused; AccessError is about the kubeconfig, and UnreachableError about the connection.

    >>> apply(HPA("deployment/web", max_replicas=10), dry_run=True).max_replicas
    10
    """
    if not isinstance(one, Kind):
        _refuse_type("apply takes an autoscaler; read a manifest with HPA.from_dict or from_yaml", one)
    one.raise_if_refused()
    access = read_access(kubeconfig, context)
    return _waited_for(_applied(one, access, dry_run=dry_run, force=force))


_HpaWord = Literal["hpa", "HPA", "horizontalpodautoscaler", "horizontalpodautoscalers", "HorizontalPodAutoscaler"]
_WpaWord = Literal["wpa", "WPA", "watermarkpodautoscaler", "watermarkpodautoscalers", "WatermarkPodAutoscaler"]
_VpaWord = Literal["vpa", "VPA", "verticalpodautoscaler", "verticalpodautoscalers", "VerticalPodAutoscaler"]
_HvpaWord = Literal["hvpa", "hvpas", "Hvpa", "HVPA"]
_TortoiseWord = Literal["tortoise", "tortoises", "Tortoise"]
_AutoscalerWord = Literal["asc", "autoscaler", "autoscalers", "Autoscaler"]
KindWord = _HpaWord | _WpaWord | _VpaWord | _HvpaWord | _TortoiseWord | _AutoscalerWord


@overload
def live(
    kind: type[K], name: str, namespace: str | None = None, *, kubeconfig: str | None = None, context: str | None = None
) -> K | None: ...
@overload
def live(
    kind: _HpaWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> HPA | None: ...
@overload
def live(
    kind: _WpaWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> WPA | None: ...
@overload
def live(
    kind: _VpaWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> VPA | None: ...
@overload
def live(
    kind: _HvpaWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> Hvpa | None: ...
@overload
def live(
    kind: _TortoiseWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> Tortoise | None: ...
@overload
def live(
    kind: _AutoscalerWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> WorkloadAutoscaler | None: ...
def live(
    kind: type[Kind] | KindWord,
    name: str,
    namespace: str | None = None,
    *,
    kubeconfig: str | None = None,
    context: str | None = None,
) -> Kind | None:
    """The object as it is in the cluster, with its status; None if there is none. The kind may be a word such as hpa.

    Without a namespace, that of the kubeconfig's context is used. A refusal is LiveRefused; AccessError is about the
    kubeconfig, and UnreachableError about the connection.

    >>> live("hpa", "web", "shop").reported.desired_replicas
    3
    """
    known: Any = kind_named(kind) if isinstance(kind, str) else kind
    if not (isinstance(known, type) and issubclass(known, Kind) and known.KIND in CATALOGUE):
        _refuse_type('live takes a kind such as HPA or "hpa"', kind)
    _check_name(name, dns_subdomain, "the name of an object")
    if namespace is not None:
        _check_name(namespace, dns_label, "a namespace")
    access = read_access(kubeconfig, context)
    return _waited_for(_read(known, name, namespace or access.namespace, access))


def _check_name(given: Any, faults: Callable[[str], Iterator[str]], what: str) -> None:
    """What is no name would become part of another path, such as that of the whole collection."""
    if not isinstance(given, str) or any(faults(given)):
        raise ValueError(f"{given!r} is not {what}")


def _refuse_type(message: str, given: object) -> NoReturn:
    raise TypeError(f"{message}, not {type(given).__name__}")


def kind_named(word: str) -> type[Kind]:
    """The kind of this name, in any case, or of this short name. Raises ValueError if there is none."""
    for info in CATALOGUE.values():
        if word.lower() in {info.name.lower(), info.plural, *info.short_names}:
            return info.kind
    words = [*CATALOGUE, *[short for info in CATALOGUE.values() for short in info.short_names]]
    raise ValueError(f"{word!r} is not a kind that hypot knows; {did_you_mean(word, words) or 'write hpa or vpa'}")


def _connected(access: Access) -> "Api":
    from hypot.cluster.api import Api  # noqa: PLC0415  `import hypot` is quick without it

    return Api(access)


async def _applied(one: K, access: Access, *, dry_run: bool, force: bool) -> K:
    async with _connected(access) as api:
        return await send(api, one, access.namespace, dry_run=dry_run, force=force)


async def send(port: Port, one: K, namespace: str, *, dry_run: bool, force: bool) -> K:
    """Apply through this connection. The namespace is used if the object names none."""
    manifest = written_part(one)
    where = manifest["metadata"].setdefault("namespace", namespace)
    query = {"fieldManager": MANAGER, "force": str(force).lower(), "fieldValidation": "Strict"}
    if dry_run:
        query["dryRun"] = "All"
    request = Request("PATCH", path_of(_served(type(one)), where, one.name), query, encoded(manifest), APPLY_PATCH)
    answer = await port.call(request)
    if answer.conflict and (conflicts := tuple(_conflicts(answer))):
        raise ApplyConflict(f"{one.KIND} {where}/{one.name}", conflicts)
    if not answer.ok:
        raise ApplyRefused(_refusal(type(one), f"{where}/{one.name}", answer, "patch, and create for new objects"))
    return _object_in(answer, type(one), one.name, request)


async def _read(kind: type[K], name: str, namespace: str, access: Access) -> K | None:
    async with _connected(access) as api:
        request = Request("GET", path_of(_served(kind), namespace, name))
        answer = await api.call(request)
    if answer.gone and answer.reason == "NotFound" and _is_served(answer):
        return None
    if not answer.ok:
        raise LiveRefused(_refusal(kind, f"{namespace}/{name}", answer, "get"))
    return _object_in(answer, kind, name, request)


def _object_in(answer: Answer, kind: type[K], name: str, request: Request) -> K:
    """The object of a good answer. What answers with anything else is not an API server."""
    body = answer.json()
    found = body if isinstance(body, dict) else {}
    metadata = found.get("metadata")
    named = metadata.get("name") if isinstance(metadata, dict) else None
    if (found.get("apiVersion"), found.get("kind"), named) == (kind.API_VERSION, kind.KIND, name):
        return kind.from_dict(found)
    start = answer.body[:60].decode(errors="replace")
    what = f"status {answer.status}, but not with {kind.KIND} {name} of {kind.API_VERSION}: {start!r}"
    raise UnreachableError(f"{request.method} {request.path}: the answer has {what}")


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


def _refusal(kind: type[Kind], what: str, answer: Answer, verbs: str) -> str:
    """The cluster's own words, and what to do."""
    message = f"{kind.KIND} {what}: {answer.message}"
    if answer.gone and not _is_served(answer):
        advice = "install it: hypot crds | kubectl apply --server-side -f -"
        if not info_of(kind).crd:
            advice = "Kubernetes has it from 1.23 on"
        return f"{kind.KIND} {what}: the cluster does not serve {kind.API_VERSION}; {advice}"
    if answer.status == 401:
        return f"{message}; the cluster does not accept these credentials: log in again, or check the kubeconfig"
    if answer.status == 403:
        return f"{message}; it needs the verbs {verbs}, for {info_of(kind).plural}"
    return message


def _waited_for(work: Coroutine[Any, Any, R]) -> R:
    """The result, also in a notebook, whose event loop is already running: then another thread waits."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
