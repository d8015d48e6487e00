"""Events of Kubernetes as they are written: all servers write them alike."""

from typing import Any, NamedTuple

from hypot.core.instant import show_time

REPORTER = "hypot"
# The API server accepts messages of up to so many bytes.
LONGEST_MESSAGE = 1024


class EventSubject(NamedTuple):
    """The object that an event is about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str = ""
    resource_version: str = ""


class Occurrences(NamedTuple):
    """When an event occurred first and last, and how often."""

    first: float
    last: float
    times: int = 1


def cut(text: str, most: int) -> str:
    """The text cut to at most this many bytes, without half a character at the end."""
    raw = text.encode(errors="replace")
    if len(raw) <= most:
        return raw.decode()
    return raw[: most - 3].decode(errors="ignore") + "…"


def event_name(subject: str, number: int) -> str:
    """A unique name for an event; a long name of the subject is cut."""
    return f"{subject[:200].rstrip('-.')}.{number:x}"


def event_object(
    about: EventSubject, name: str, kind: str, reason: str, message: str, seen: Occurrences, instance: str
) -> dict[str, Any]:
    """`kind` is Normal or Warning."""
    involved = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "uid": about.uid,
        "resourceVersion": about.resource_version,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": about.namespace or "default"},
        "involvedObject": {key: value for key, value in involved.items() if value},
        "type": kind,
        "reason": reason,
        "message": message,
        "count": seen.times,
        "firstTimestamp": show_time(seen.first),
        "lastTimestamp": show_time(seen.last),
        "source": {"component": REPORTER},
        "reportingComponent": REPORTER,
        "reportingInstance": instance,
    }
