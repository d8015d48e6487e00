"""The API server's rules for object metadata, with its order and messages."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from hypot.kinds.decode import decode_problems
from hypot.kinds.meta import ObjectMeta, OwnerReference
from hypot.kinds.node import Scalar
from hypot.kinds.problem import Problem, Where, unsupported
from hypot.kinds.values.names import byte_count, dns_label, dns_subdomain, label_value, qualified_name

# A generated name is the given prefix, truncated, and five random characters.
_GENERATED_FROM = 58
_ANY_FIVE = "x" * 5
_ANNOTATION_BYTES = 256 * 1024
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def metadata_problems(
    metadata: Mapping[str, Any], *, namespace_required: bool = False, built_in: bool = False
) -> Iterator[Problem]:
    """The problems of a namespaced object's metadata. A missing namespace usually comes from the request."""
    meta = metadata
    owners: tuple[OwnerReference, ...] = ()
    unreadable: set[str | int] = set()
    if not _is_plain(metadata):
        read = ObjectMeta.read(metadata)
        for problem in decode_problems(read, ("metadata",)):
            yield problem
            unreadable.add(problem.where[1])
        readable = read.readable()
        meta, owners = readable.write(), readable.owners or ()
    yield from _name_problems(meta.get("name"), meta.get("generateName"), unreadable="name" in unreadable)
    namespace = meta.get("namespace")
    if namespace_required and not namespace and "namespace" not in unreadable:
        yield Problem("namespace", "Required", ("metadata", "namespace"), "")
    for message in dns_label(namespace) if namespace else ():
        yield Problem("namespace", "Invalid", ("metadata", "namespace"), message, namespace)
    if built_in and (meta.get("generation") or 0) < 0:  # for a custom resource the API server resets it
        where: Where = ("metadata", "generation")
        yield Problem("not-negative", "Invalid", where, "must be greater than or equal to 0", meta["generation"])
    yield from _map_problems(metadata, "labels", check_values=True)
    yield from _map_problems(metadata, "annotations", check_values=False)
    if "ownerReferences" not in unreadable:
        yield from _owner_problems(owners)
    yield from _finalizer_problems(meta.get("finalizers"), built_in=built_in)


# The check of each value that has no nested parts.
_FITS = {w.key: w.type.fits for _, w in ObjectMeta.TABLE if isinstance(w.type, Scalar)}


def _is_plain(metadata: Mapping[str, Any]) -> bool:
    """A quick check whether every value has the right type, which is nearly always true."""
    for key, value in metadata.items():
        fits = _FITS.get(key)
        if fits is None or (value is not None and not fits(value)):
            return False
    return True


def _name_problems(name: str | None, beginning: str | None, *, unreadable: bool) -> Iterator[Problem]:
    for message in dns_subdomain(_without_dash(beginning)) if beginning else ():
        yield Problem("name", "Invalid", ("metadata", "generateName"), message, beginning)
    if not name and beginning:
        name = beginning[:_GENERATED_FROM] + _ANY_FIVE
    if not name and not unreadable:
        yield Problem("name", "Required", ("metadata", "name"), "name or generateName is required")
    for message in dns_subdomain(name) if name else ():
        yield Problem("name", "Invalid", ("metadata", "name"), message, name)


def _without_dash(beginning: str) -> str:
    """The API server allows a trailing dash: it replaces the dash and the character before it with a letter."""
    return f"{beginning[:-2]}a" if len(beginning) > 1 and beginning.endswith("-") else beginning


def _owner_problems(written: Iterable[OwnerReference]) -> Iterator[Problem]:
    owners = tuple(dict.fromkeys(written))  # an identical reference counts once
    for owner in owners:
        group, version = _group_and_version(owner.api_version or "")
        if not version:
            yield _owner_problem("apiVersion", owner.api_version or "", "version must not be empty")
        for key, value in (("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)):
            if not value:
                yield _owner_problem(key, "", "must not be empty")
        if (group, version, owner.kind) == ("", "v1", "Event"):
            yield _owner_problem("", str(owner.name), "/v1, Kind=Event is disallowed from being an owner")
    controllers = [f"{owner.kind or ''}/{owner.name or ''}" for owner in owners if owner.controller]
    for other in controllers[1:]:
        message = "Only one reference can have Controller set to true. Found "
        yield _owner_problem("", other, f'{message}"true" in references for {controllers[0]} and {other}')


def _owner_problem(key: str, value: str, message: str) -> Problem:
    where: Where = ("metadata", "ownerReferences", key) if key else ("metadata", "ownerReferences")
    return Problem("owner-references", "Invalid", where, message, value)


def _group_and_version(written: str) -> tuple[str, str]:
    """Both empty if the text is not an API version."""
    group, _, version = written.rpartition("/")
    return ("", "") if "/" in group else (group, version)


def _finalizer_problems(written: list[str | None] | None, *, built_in: bool) -> Iterator[Problem]:
    """Custom resources may have any finalizer that is a qualified name."""
    where: Where = ("metadata", "finalizers")
    finalizers = [name or "" for name in written or ()]
    for name in finalizers:
        for message in qualified_name(name):
            yield Problem("finalizers", "Invalid", where, message, name)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        message = "finalizer orphan and foregroundDeletion cannot be both set"
        yield Problem("finalizers", "Invalid", where, message, finalizers)
    for i, name in enumerate(finalizers if built_in else ()):
        if "/" not in name and name not in _STANDARD_FINALIZERS:
            message = "name is neither a standard finalizer name nor is it fully qualified"
            yield Problem("finalizers", "Invalid", (*where, i), message, name)


_IMMUTABLE = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")


def metadata_update_problems(new: Mapping[str, Any], old: Mapping[str, Any]) -> Iterator[Problem]:
    """The problems of an update of an object's metadata."""
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
    """For updates and scales. On creation the API server drops an invalid list."""
    entries = metadata.get("managedFields") or ()
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        operation = entry.get("operation", "") if isinstance(entry, dict) else ""
        if operation not in ("Apply", "Update"):
            where: Where = ("metadata", "managedFields", i, "operation")
            yield Problem("managed-fields", "NotSupported", where, unsupported(("Apply", "Update")), operation)


def _map_problems(metadata: Mapping[str, Any], key: str, *, check_values: bool) -> Iterator[Problem]:
    entries = metadata.get(key)
    size = 0
    for name, value in entries.items() if isinstance(entries, dict) else ():
        for message in qualified_name(str(name) if check_values else str(name).lower()):
            yield Problem(key, "Invalid", ("metadata", key), message, name)
        if not isinstance(value, str):
            continue
        size += byte_count(str(name)) + byte_count(value)
        for message in label_value(value) if check_values else ():
            yield Problem(key, "Invalid", ("metadata", key), message, value)
    if not check_values and size > _ANNOTATION_BYTES:
        yield Problem(key, "TooLong", ("metadata", key), f"may not be more than {_ANNOTATION_BYTES} bytes")
