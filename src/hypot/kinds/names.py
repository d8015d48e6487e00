"""Names as the API server checks them: object metadata, path segments, labels and resource names.

The messages are the API server's own; people search for them.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from hypot.kinds.decode import json_type
from hypot.kinds.problem import Problem, Where, unsupported

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED_CHARACTERS = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED_CHARACTERS})?"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_QUALIFIED_RE = re.compile(_QUALIFIED_CHARACTERS)
_LABEL_VALUE_RE = re.compile(_LABEL_VALUE)

_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    f"with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    f"and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
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


def path_segment(name: str) -> Iterator[str]:
    """A name that becomes part of a request path."""
    if name in {".", ".."}:
        yield f"may not be '{name}'"
        return
    for character in "/%":
        if character in name:
            yield f"may not contain '{character}'"


def dns_label(name: str) -> Iterator[str]:
    if len(name) > 63:
        yield "must be no more than 63 bytes"
    if not _LABEL_RE.fullmatch(name):
        yield _LABEL_WORDS


def dns_subdomain(name: str) -> Iterator[str]:
    if len(name) > 253:
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
        yield from (f"prefix part {words}" for words in dns_subdomain(prefix))
    if not base:
        yield "name part must be non-empty"
    elif len(base) > 63:
        yield "name part must be no more than 63 bytes"
    if not _QUALIFIED_RE.fullmatch(base):
        yield f"name part {_QUALIFIED_WORDS}"


def label_value(value: str) -> Iterator[str]:
    if len(value) > 63:
        yield "must be no more than 63 bytes"
    if not _LABEL_VALUE_RE.fullmatch(value):
        yield _LABEL_VALUE_WORDS


def container_resource(name: str) -> Iterator[str]:
    """A resource that a container can have: standard, or properly qualified."""
    words = list(qualified_name(name))
    yield from words
    if "/" not in name:
        standard = name in _STANDARD_RESOURCES or name.startswith(("hugepages-", "requests.hugepages-"))
        if not words and not standard:
            yield "must be a standard resource type or fully qualified"
        if name not in _CONTAINER_RESOURCES and not name.startswith("hugepages-"):
            yield "must be a standard resource for containers"
    elif "kubernetes.io/" not in name and (name.startswith("requests.") or any(qualified_name(f"requests.{name}"))):
        yield "doesn't follow extended resource name standard"


def metadata_problems(metadata: Mapping[str, Any], *, namespace_required: bool = False) -> Iterator[Problem]:
    """Object metadata of a namespaced object; a namespace that is not written is mostly the request's own."""
    yield from _name_problems(metadata)
    namespace = metadata.get("namespace")
    if namespace_required and not namespace:
        yield Problem("namespace", "Required", ("metadata", "namespace"), "")
    for words in dns_label(namespace) if isinstance(namespace, str) and namespace else ():
        yield Problem("namespace", "Invalid", ("metadata", "namespace"), words, namespace)
    yield from _map_problems(metadata, "labels", check_values=True)
    yield from _map_problems(metadata, "annotations", check_values=False)
    yield from managed_fields_problems(metadata)
    for key in ("name", "generateName", "namespace"):
        if not isinstance(metadata.get(key, ""), str | None):
            yield _wrong_type(("metadata", key), metadata[key], "string")
    for key in metadata:
        if key not in _METADATA_KEYS:
            yield _unknown(str(key))


def _name_problems(metadata: Mapping[str, Any]) -> Iterator[Problem]:
    if _text(metadata, "name") is None and not metadata.get("generateName"):
        yield Problem("name", "Required", ("metadata", "name"), "name or generateName is required")
    for key in ("generateName", "name"):
        value = _text(metadata, key)
        checked = value.rstrip("-") if value and key == "generateName" else value
        for words in dns_subdomain(checked) if checked else ():
            yield Problem("name", "Invalid", ("metadata", key), words, value)


_METADATA_KEYS = frozenset(
    {"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp"}
    | {"deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers"}
    | {"managedFields"}
)


def _unknown(key: str) -> Problem:
    near = get_close_matches(key, _METADATA_KEYS, 1, 0.7)
    hint = f"did you mean {near[0]}?" if near else ""
    words = f'strict decoding error: unknown field "metadata.{key}"'
    return Problem("unknown-field", "Decode", ("metadata", key), words, None, hint)


_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def metadata_update_problems(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Problem]:
    """What an update may not do to the metadata of an object."""
    if not new.get("resourceVersion"):
        where: Where = ("metadata", "resourceVersion")
        yield Problem("resource-version", "Invalid", where, "must be specified for an update", "")
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        where = ("metadata", "generation")
        yield Problem("generation", "Invalid", where, "must not be decremented", new.get("generation") or 0)
    for key in _IMMUTABLE:
        if (new.get(key) or "") != (old.get(key) or ""):
            yield Problem("immutable", "Invalid", ("metadata", key), "field is immutable", new.get(key) or "")
    yield from _map_problems(new, "labels", check_values=True)
    yield from _map_problems(new, "annotations", check_values=False)
    yield from managed_fields_problems(new)


def managed_fields_problems(metadata: Mapping[str, Any]) -> Iterator[Problem]:
    entries = metadata.get("managedFields") or ()
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        operation = entry.get("operation", "") if isinstance(entry, dict) else ""
        if operation not in ("Apply", "Update"):
            where: Where = ("metadata", "managedFields", i, "operation")
            yield Problem("managed-fields", "NotSupported", where, unsupported(("Apply", "Update")), operation)


def _text(metadata: Mapping[str, Any], key: str) -> str | None:
    value = metadata.get(key)
    return value if isinstance(value, str) and value else None


def _map_problems(metadata: Mapping[str, Any], key: str, *, check_values: bool) -> Iterator[Problem]:
    entries = metadata.get(key)
    if entries is None:
        return
    if not isinstance(entries, dict):
        yield _wrong_type(("metadata", key), entries, "map[string]string")
        return
    size = 0
    for name, value in entries.items():
        for words in qualified_name(str(name) if check_values else str(name).lower()):
            yield Problem(key, "Invalid", ("metadata", key), words, name)
        if not isinstance(value, str):
            yield _wrong_type(("metadata", key, str(name)), value, "string")
            continue
        size += len(str(name)) + len(value)
        for words in label_value(value) if check_values else ():
            yield Problem(key, "Invalid", ("metadata", key), words, value)
    if not check_values and size > 256 * 1024:
        yield Problem(key, "TooLong", ("metadata", key), "may not be more than 262144 bytes")


def _wrong_type(where: Where, value: Any, go: str) -> Problem:
    hint = 'put the value in quotes, e.g. "true" or "1"' if not isinstance(value, dict | list) else ""
    place = ".".join(str(part) for part in where[:2])
    message = f"json: cannot unmarshal {json_type(value)} into Go struct field ObjectMeta.{place} of type {go}"
    return Problem("type", "Decode", where, message, value, hint)
