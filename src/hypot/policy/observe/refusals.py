"""What a cluster did not show: the `Status` that it answered, whose `selfLink` is the path that was asked."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from hypot.kinds.base import Ref
from hypot.kinds.metric_values import RESOURCE
from hypot.kinds.values.nested import inner
from hypot.policy.model.seen import Failure
from hypot.policy.observe.absent import Absent
from hypot.policy.observe.read_scale import plural


class ApiPath(NamedTuple):
    """What a path of the API names: a collection, in all namespaces or in one, or one of its objects."""

    group: str
    resource: str
    namespace: str = ""
    name: str = ""


def read_path(path: str) -> ApiPath | None:
    """The parts of the path; None if it is not the path of a resource."""
    parts = [unquote(part) for part in urlsplit(path).path.split("/")]
    if parts[:2] == ["", "api"]:
        group, rest = "", parts[3:]
    elif parts[:2] == ["", "apis"]:
        group, rest = "".join(parts[2:3]), parts[4:]
    else:
        return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    return ApiPath(group, rest[0], namespace, "".join(rest[1:2])) if rest else None


class Refusals:
    """The messages for what was not found: first why it could not be read, if that is known."""

    def __init__(self, otherwise: Absent) -> None:
        self._otherwise = otherwise
        self._found: dict[ApiPath, str] = {}

    def take(self, link: str, message: str) -> None:
        path = read_path(link)
        if path is not None:
            self._found[path] = message

    def pods(self, namespace: str) -> str:
        """Why the pods of this namespace could not be read; empty if they could."""
        return self._of("", "pods", namespace)

    def samples(self, namespace: str) -> str:
        return self._of(RESOURCE, "pods", namespace) or self._otherwise.samples(namespace)

    def target(self, ref: Ref, namespace: str, elsewhere: str, key: str) -> Failure:
        message = self._of(ref.group, plural(ref.kind or ""), namespace, ref.name or "")
        return Failure(message) if message else self._otherwise.target(ref, namespace, elsewhere, key)

    def _of(self, group: str, resource: str, namespace: str, name: str = "") -> str:
        for place in dict.fromkeys([(namespace, name), (namespace, ""), ("", "")]):
            if message := self._found.get(ApiPath(group, resource, *place)):
                return f"{resource}{f'.{group}' if group else ''} could not be read: {message}"
        return ""


def refused(data: Mapping[str, Any]) -> tuple[str, str]:
    """The path and the message of a `Status`; the path is empty if it names none."""
    link, message = inner(data, "metadata").get("selfLink"), data.get("message")
    return (link if isinstance(link, str) else "", message if isinstance(message, str) else "")
