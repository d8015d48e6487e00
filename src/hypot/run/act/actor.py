"""Carries out decisions: the only place that changes workloads."""

from collections.abc import Iterable

import structlog

from hypot.cluster.discovery import Discovery, path_of
from hypot.cluster.port import Answer, MayNotWriteError, Port, RefusedError, Request, UnreachableError
from hypot.kinds.base import count_of
from hypot.kinds.values.nested import inner
from hypot.policy.model.decision import Name
from hypot.policy.model.seen import Scale, Seen
from hypot.policy.model.size import Size
from hypot.policy.plan.pursue import Action, EvictPod, RecordSize, ResizePod, ScaleTo, SetTemplate
from hypot.run.observe.rows import Object
from hypot.run.observe.watches import PODS, ApiResource, Watches
from hypot.run.outcome import FINE, Done
from hypot.run.requests import (
    WRITE_WITHIN,
    NotSeenError,
    evict_request,
    resize_request,
    scale_request,
    template_request,
)

log = structlog.get_logger()


class DryRunPort:
    """The single gate of a dry run: it answers writes with success and does not send them."""

    def __init__(self, port: Port) -> None:
        self._port = port
        self.watch = port.watch

    async def call(self, request: Request) -> Answer:
        if not request.writes:
            return await self._port.call(request)
        return Answer(200, b"{}")


class Actor:
    """Carries out actions on targets; each action returns its own result."""

    def __init__(self, port: Port, watches: Watches, discovery: Discovery, *, dry_run: bool = False) -> None:
        """In a dry run the same writes repeat in every reconcile, so they are logged at debug level only."""
        self._port, self._watches, self._discovery, self._dry_run = port, watches, discovery, dry_run

    async def do(self, target: Name, action: Action, seen: Seen) -> Done:
        """Act on the observed state, and only if it has not changed; the next reconcile handles the rest."""
        try:
            return await self._do(target, action, seen)
        except NotSeenError as error:
            return Done(str(error), overtaken=True)

    async def _do(self, target: Name, action: Action, seen: Seen) -> Done:
        space = target.namespace
        match action:
            case ScaleTo(replicas, expected):
                return await self.scale(target, expected, replicas, _uid(seen))
            case ResizePod(pod, uid, sizes):
                version = _version_of_pod(seen, pod, uid)
                return await self.write(resize_request(_pod_path(space, pod), uid, version, sizes))
            case EvictPod(pod, uid):
                version = _version_of_pod(seen, pod, uid)
                return await self.write(evict_request(_pod_path(space, pod), space, pod, uid, version))
            case SetTemplate(sizes):
                return await self._set_template(target, sizes, seen)
            case RecordSize():
                return FINE

    async def scale(self, target: Name, expected: int, replicas: int, uid: str = "") -> Done:
        """Set the count of the observed object, if it still has the count that the decision is based on.

        Nothing else of the target is written, so other changes to it are no reason to wait: after a conflict the write
        is tried once more if the count is unchanged. An object recreated under the same name is another target.
        """
        try:
            return await self._scale(target, expected, replicas, uid)
        except NotSeenError as error:
            return Done(str(error), overtaken=True)

    async def _scale(self, target: Name, expected: int, replicas: int, uid: str) -> Done:
        path = await self._path(target)
        if path is None:
            return Done(f"{target}: no resource of its kind was found in this cluster")
        known = self._workload(target)
        version = _version(known)
        _must_be(target, known, uid)
        if known is not None and version and inner(known, "spec").get("replicas", 1) == expected:
            done = await self.write(scale_request(path, target.namespace, target.name, version, replicas, uid))
            if not done.overtaken:
                return done
        return await self._scale_again(path, target, expected, replicas, uid)

    async def _scale_again(self, path: str, target: Name, expected: int, replicas: int, uid: str) -> Done:
        try:
            answer = await self._port.call(Request("GET", f"{path}/scale", timeout=WRITE_WITHIN))
        except UnreachableError as error:
            return Done(str(error))
        if not answer.ok:
            return Done(f"the scale of {target} cannot be read: {answer.message}")
        there = answer.json()
        _must_be(target, there, uid)
        found = inner(there, "spec").get("replicas", 0)
        if found != expected:
            now = f"{target} has {count_of(found, 'replica')} now"
            return Done(f"{now}, not the {expected} of the decision", overtaken=True)
        return await self.write(scale_request(path, target.namespace, target.name, _version(there), replicas, uid))

    async def _set_template(self, target: Name, sizes: Iterable[Size], seen: Seen) -> Done:
        path = await self._path(target)
        if path is None or self._workload(target) is None:
            return Done(f"{target} is not watched, so its pod template cannot be changed")
        return await self.write(template_request(path, seen.target_uid, seen.target_version, sizes))

    async def write(self, request: Request) -> Done:
        try:
            answer = await self._port.call(request)
        except UnreachableError as error:
            return Done(str(error), unsure=True)
        except MayNotWriteError as error:
            return Done(str(error))
        if answer.ok:
            if self._dry_run:
                log.debug("would write", method=request.method, path=request.path)
            else:
                log.info("wrote", method=request.method, path=request.path)
            return FINE
        overtaken = answer.conflict or answer.gone
        log.warning("refused", method=request.method, path=request.path, status=answer.status, message=answer.message)
        return Done(f"{answer.status} {answer.message}", overtaken=overtaken)

    def _workload(self, target: Name) -> Object | None:
        return self._watches.workload(target.group, target.kind, (target.namespace, target.name))

    async def _path(self, target: Name) -> str | None:
        """The path of the target; None without a name, which would mean all objects of its kind."""
        if not target.namespace or not target.name:
            return None
        watched: ApiResource | None = self._watches.watches(target.group, target.kind)
        if watched is not None:
            return f"{watched.path(target.namespace)}/{target.name}"
        try:
            resource = await self._discovery.resource_of(target.group, target.kind)
        except (UnreachableError, RefusedError):
            return None
        return None if resource is None else path_of(resource, target.namespace, target.name)


def _pod_path(namespace: str, name: str) -> str:
    return f"{PODS.path(namespace)}/{name}"


def _version_of_pod(seen: Seen, name: str, uid: str) -> str:
    """The version that was decided on, not the newest one; empty if this pod was not observed."""
    return next((pod.version for pod in seen.pods if pod.name == name and pod.uid == uid), "")


def _uid(seen: Seen) -> str:
    return seen.scale.uid if isinstance(seen.scale, Scale) else ""


def _must_be(target: Name, there: Object | None, uid: str) -> None:
    """Raise NotSeenError if another object has the target's name by now."""
    found = str(inner(there, "metadata").get("uid") or "")
    if uid and found and found != uid:
        raise NotSeenError(f"{target} was deleted and recreated after the decision")


def _version(data: Object | None) -> str:
    return str(inner(data, "metadata").get("resourceVersion") or "")
