"""One reading of a cluster, from the kubeconfig to the objects."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import click

from hypot.cli.files import BadInput, check_writable
from hypot.cli.live.options import LiveOptions
from hypot.cli.live.progress import progress
from hypot.cli.live.reader import ClusterReader, NotLoggedInError, OnProgress
from hypot.cli.live.resources import ROLE
from hypot.cluster.api import Api
from hypot.cluster.config import Access, AccessError, read_access
from hypot.cluster.discovery import Discovery
from hypot.cluster.port import RefusedError, UnreachableError
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.kinds.values.version import Version
from hypot.policy.observe.metric_queries import CUSTOM_API, EXTERNAL_API, read_link
from hypot.policy.observe.refusals import read_path, refused

_FORBIDDEN: Final = 403
# So many refusals are listed one by one.
_LISTED: Final = 10

# Reads into the reader, in the namespace, or in all namespaces if it is empty.
Read = Callable[[ClusterReader, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """What was read: the objects, among them a `Status` for each part that was refused."""

    objects: list[dict[str, Any]]
    refusals: list[dict[str, Any]]
    # None if the server does not say it.
    version: Version | None
    # The cluster, and the part of it that was read.
    place: str
    read_at: float


def read_cluster(options: LiveOptions, read: Read) -> LiveCluster:
    """Read the cluster, and report on standard error what was read and what was not. Raises BadInput."""
    if options.save:
        check_writable(options.save)
    try:
        access = read_access(None, options.context)
    except AccessError as error:
        raise BadInput(str(error)) from error
    namespace = "" if options.everywhere else options.namespace or access.namespace
    began = time.monotonic()
    with progress() as shown:
        found = asyncio.run(_read(access, namespace, read, shown))
    reader = found.reader
    where = f"namespace {namespace}" if namespace else "all namespaces"
    place = f"{where} of {access.server}"
    seconds = time.monotonic() - began
    click.echo(f"read {count_of(len(reader.objects), 'object')} in {place} ({seconds:.1f} s)", err=True)
    _report(reader)
    refusals = list(reader.refusals.values())
    return LiveCluster([*reader.objects, *refusals], refusals, found.version, place, time.time())


class _Reading(NamedTuple):
    reader: ClusterReader
    version: Version | None


async def _read(access: Access, namespace: str, read: Read, on_progress: OnProgress) -> _Reading:
    try:
        async with Api(access) as api:
            version = await _version(api)
            reader = ClusterReader(api, on_progress)
            await read(reader, namespace)
            return _Reading(reader, version)
    except AccessError as error:
        raise BadInput(str(error)) from error
    except UnreachableError as error:
        raise BadInput(f"{error}; check the server, or choose another context ({access.source})") from error
    except NotLoggedInError as error:
        what = f"{access.server} does not accept these credentials: {error}"
        raise BadInput(f"{what}; log in again, or check the kubeconfig ({access.source})") from error


async def _version(api: Api) -> Version | None:
    try:
        return await Discovery(api).server_version()
    except RefusedError as error:
        if error.answer.status == 401:
            raise NotLoggedInError(error.answer.message) from error
        return None


def _report(reader: ClusterReader) -> None:
    for note in reader.notes:
        click.echo(note, err=True)
    report_refusals(list(reader.refusals.values()))
    if any(one.get("code") == _FORBIDDEN for one in reader.refusals.values()):
        hint = f"`hypot manifests --reader` prints the ClusterRole {ROLE}, which allows all that is read"
        click.echo(f"{hint}; without -A only one namespace is read", err=True)


def report_refusals(refusals: list[dict[str, Any]]) -> None:
    """Report what the cluster refused to show."""
    for one in refusals[:_LISTED]:
        link, message = refused(one)
        click.echo(f"not read: {printable(_what(link))}: {printable(message)}", err=True)
    if len(refusals) > _LISTED:
        click.echo(f"not read: {len(refusals) - _LISTED} more", err=True)


def _what(link: str) -> str:
    if link.startswith((f"{CUSTOM_API}/", f"{EXTERNAL_API}/")):
        namespace = link.partition("/namespaces/")[2].partition("/")[0]
        return f"the metric {read_link(link).metric} in {namespace}"
    path = read_path(link)
    if path is None:
        return link
    resource = f"{path.resource}.{path.group}" if path.group else path.resource
    named = f"{resource}/{path.name}" if path.name else resource
    return f"{named} in {path.namespace}" if path.namespace else named
