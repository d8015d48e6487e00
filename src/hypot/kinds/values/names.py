"""Names of settings, and name checks of the API server: for objects, paths, labels and resources.

The messages are the API server's own, so that users can search for them.
"""

from collections.abc import Iterator
from typing import Any

from hypot.core.regex import regex

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED_CHARACTERS = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED_CHARACTERS})?"

_LABEL_RE = regex(_LABEL)
_SUBDOMAIN_RE = regex(SUBDOMAIN)
_QUALIFIED_RE = regex(_QUALIFIED_CHARACTERS)
_LABEL_VALUE_RE = regex(_LABEL_VALUE)

_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{SUBDOMAIN}')"
)
_QUALIFIED_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED_CHARACTERS}')"
)
_LABEL_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_LABEL_VALUE}')"
)

_CONTAINER_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})
_STANDARD_RESOURCES = _CONTAINER_RESOURCES | frozenset(
    {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"}
    | {"storage", "requests.storage", "services.nodeports", "services.loadbalancers"}
    | {f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER_RESOURCES}
)


def wire_name(name: str) -> str:
    """The name of a setting in a file, from its name in Python."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def group_of(api_version: Any) -> str:
    """The group of an apiVersion; the core group is empty. Objects are the same in all versions of a group."""
    return api_version.rpartition("/")[0] if isinstance(api_version, str) else ""


def path_segment(name: str) -> Iterator[str]:
    """A name that becomes part of a request path."""
    if name in {".", ".."}:
        yield f"may not be '{name}'"
        return
    for character in "/%":
        if character in name:
            yield f"may not contain '{character}'"


def dns_label(name: str) -> Iterator[str]:
    if byte_count(name) > 63:
        yield "must be no more than 63 bytes"
    if not _LABEL_RE.fullmatch(name):
        yield _LABEL_WORDS


def dns_subdomain(name: str) -> Iterator[str]:
    if byte_count(name) > 253:
        yield "must be no more than 253 bytes"
    if not _SUBDOMAIN_RE.fullmatch(name):
        yield _SUBDOMAIN_WORDS


def qualified_name(name: str) -> Iterator[str]:
    """A label or annotation key, or a resource name."""
    prefix, slash, base = name.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        yield f"a qualified name {_QUALIFIED_WORDS} {optional}"
        return
    if slash and not prefix:
        yield "prefix part must be non-empty"
    elif slash:
        yield from (f"prefix part {message}" for message in dns_subdomain(prefix))
    if not base:
        yield "name part must be non-empty"
    elif byte_count(base) > 63:
        yield "name part must be no more than 63 bytes"
    if not _QUALIFIED_RE.fullmatch(base):
        yield f"name part {_QUALIFIED_WORDS}"


def label_value(value: str) -> Iterator[str]:
    if byte_count(value) > 63:
        yield "must be no more than 63 bytes"
    if not _LABEL_VALUE_RE.fullmatch(value):
        yield _LABEL_VALUE_WORDS


def container_resource(name: str) -> Iterator[str]:
    """A resource that a container can have: standard, or properly qualified."""
    message = list(qualified_name(name))
    yield from message
    if "/" not in name:
        standard = name in _STANDARD_RESOURCES or name.startswith(("hugepages-", "requests.hugepages-"))
        if not message and not standard:
            yield "must be a standard resource type or fully qualified"
        if name not in _CONTAINER_RESOURCES and not name.startswith("hugepages-"):
            yield "must be a standard resource for containers"
    elif "kubernetes.io/" not in name and (name.startswith("requests.") or any(qualified_name(f"requests.{name}"))):
        yield "doesn't follow extended resource name standard"


def byte_count(text: str) -> int:
    """The length that the API server counts. Half of a surrogate pair, which only Python can hold, counts too."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
