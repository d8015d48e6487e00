"""Reads targets of custom kinds, and their scales."""

import asyncio
from collections.abc import Iterable

from hypot.cli.live.reader import CannotReadError, ClusterReader
from hypot.cli.live.resources import BUILT_IN
from hypot.cluster.discovery import Discovery, path_of
from hypot.cluster.port import RefusedError, UnreachableError
from hypot.kinds.base import Ref
from hypot.kinds.catalogue import Autoscaler, find_autoscaler
from hypot.policy.observe.targets import ScaleTarget, key_of_ref, target_of
from hypot.run.observe.watches import ApiResource

_SCALE = ApiResource("autoscaling/v1", "Scale", "scales")


async def read_custom_targets(reader: ClusterReader, autoscalers: Iterable[Autoscaler]) -> None:
    """Read each target of another kind than the built-in ones, once."""
    refs = {key_of_ref(one.namespace, ref): ref for one in autoscalers if _is_custom(ref := target_of(one))}
    discovery = Discovery(reader.port)
    await asyncio.gather(*[_read(reader, discovery, target) for target in refs])


def _is_custom(ref: Ref) -> bool:
    return bool(ref.kind and ref.name) and ref.kind not in BUILT_IN and not find_autoscaler(ref.group, ref.kind)


async def _read(reader: ClusterReader, discovery: Discovery, target: ScaleTarget) -> None:
    try:
        served = await discovery.resource_of(target.group, target.kind)
    except (UnreachableError, RefusedError) as error:
        reader.refuse(f"/apis/{target.group}", CannotReadError(str(error)))
        return
    if served is None:
        return
    path = path_of(served, target.namespace, target.name)
    if (found := await reader.get(path)) is not None:
        reader.keep(ApiResource(served.api_version, served.kind, served.plural), found)
    if served.scalable and (scale := await reader.get(f"{path}/scale")) is not None:
        reader.keep(_SCALE, scale)
