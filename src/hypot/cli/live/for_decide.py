"""Reads what the decisions of some autoscalers depend on."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Final

from hypot.cli.live.metrics import read_metrics, read_usage
from hypot.cli.live.reader import CannotReadError, ClusterReader, Collection, Object
from hypot.cli.live.resources import AUTOSCALERS, BUILT_IN
from hypot.cli.live.targets import read_custom_targets
from hypot.kinds.catalogue import Autoscaler, info_of
from hypot.kinds.tortoise import Tortoise
from hypot.kinds.values.nested import inner
from hypot.kinds.wpa import WPA
from hypot.policy.families import family_of
from hypot.policy.model.settings import Settings
from hypot.policy.observe.snapshot import is_autoscaler, read_autoscaler
from hypot.policy.observe.targets import target_of
from hypot.run.observe.watches import (
    CHECKPOINTS,
    LIMIT_RANGES,
    MONITORS,
    NAMESPACES,
    NODES,
    PODS,
    REPLICA_SETS,
    ApiResource,
)

# Above so many namespaces or nodes, one list of everything is quicker.
_MOST_NAMESPACES: Final = 16
_MOST_NODES: Final = 16
Chosen = Callable[[Autoscaler], bool]


async def read_for_decide(reader: ClusterReader, namespace: str, is_chosen: Chosen, settings: Settings) -> None:
    """Read into the reader. The namespace is empty for all of them."""
    found = await reader.read([Collection(one, namespace) for one in AUTOSCALERS])
    autoscalers = [read_autoscaler(data) for data in found if is_autoscaler(data)]
    chosen = [one for one in autoscalers if is_chosen(one)]
    if not chosen:
        return
    spaces = [namespace] if namespace else _spaces(one.namespace for one in chosen)
    # Others count too: two that claim the same pods are in conflict.
    near = [one for one in autoscalers if not spaces[0] or one.namespace in spaces]
    kinds = {target_of(one).kind or "" for one in near}
    wanted = [BUILT_IN[kind] for kind in BUILT_IN if kind in kinds]
    await asyncio.gather(
        reader.read([Collection(one, space) for one in wanted for space in spaces]),
        read_custom_targets(reader, near),
        _read_for_kinds(reader, chosen, spaces),
        _read_pods(reader, chosen, spaces),
        _read_used(reader, chosen, spaces, settings),
    )
    await read_metrics(reader, chosen, settings, time.time())


def _spaces(namespaces: Iterable[str]) -> list[str]:
    """The namespaces to list, or the empty one for all."""
    distinct = sorted(set(namespaces))
    return distinct if len(distinct) <= _MOST_NAMESPACES else [""]


async def _read_for_kinds(reader: ClusterReader, chosen: Iterable[Autoscaler], spaces: list[str]) -> None:
    """What only some kinds need."""
    kinds: list[ApiResource] = []
    if any(info_of(one).sizes for one in chosen):
        kinds += [CHECKPOINTS, LIMIT_RANGES]
        kinds.append(REPLICA_SETS)
    if any(isinstance(one, WPA) for one in chosen):
        kinds.append(MONITORS)
    await reader.read([Collection(one, space) for one in kinds for space in spaces])
    for space in sorted({one.namespace for one in chosen if isinstance(one, Tortoise)}):
        if (found := await reader.get(f"{NAMESPACES.path()}/{space}")) is not None:
            reader.keep(NAMESPACES, found)


async def _read_pods(reader: ClusterReader, chosen: Iterable[Autoscaler], spaces: list[str]) -> None:
    pods = await reader.read([Collection(PODS, space) for space in spaces])
    if not any(info_of(one).sizes for one in chosen):
        return
    try:
        nodes = await reader.listed(Collection(NODES))
        # Without all pods of a node, it would seem to have more room than it has.
        others = await _pods_of_others(reader, pods, spaces) if spaces[0] else []
    except CannotReadError as error:
        reader.refuse(NODES.path(), error)
        return
    reader.objects += [*nodes, *others]


async def _pods_of_others(reader: ClusterReader, pods: Iterable[Object], spaces: list[str]) -> list[Object]:
    """The pods of other namespaces on the same nodes."""
    names = sorted({str(node) for pod in pods if (node := inner(pod, "spec").get("nodeName"))})
    queries = [{"fieldSelector": f"spec.nodeName={name}"} for name in names]
    wanted = [Collection(PODS, "", query) for query in (queries if len(names) <= _MOST_NODES else [{}])]
    found = await asyncio.gather(*[reader.listed(one) for one in wanted])
    on_nodes = set(names)
    return [
        pod
        for listed in found
        for pod in listed
        if inner(pod, "metadata").get("namespace") not in spaces and inner(pod, "spec").get("nodeName") in on_nodes
    ]


async def _read_used(
    reader: ClusterReader, chosen: Iterable[Autoscaler], spaces: list[str], settings: Settings
) -> None:
    asking = {one.namespace for one in chosen if family_of(one).questions(one.readable(), settings).asks_usage}
    if asking:
        await read_usage(reader, [space for space in spaces if not space or space in asking], time.time())
