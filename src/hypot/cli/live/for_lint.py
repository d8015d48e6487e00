"""Reads the objects that the linter looks at: autoscalers, their targets, and what limits both."""

import asyncio

from hypot.cli.live.reader import ClusterReader, Collection
from hypot.cli.live.resources import AUTOSCALERS, BUDGETS, BUILT_IN, DATADOG, QUOTAS, SCALED_OBJECTS
from hypot.cli.live.targets import read_custom_targets
from hypot.kinds.tortoise import Tortoise
from hypot.policy.observe.snapshot import is_autoscaler, read_autoscaler
from hypot.policy.observe.targets import target_of
from hypot.run.observe.watches import CHECKPOINTS, LIMIT_RANGES, NAMESPACES

# Read even if no autoscaler names them: KEDA and Datadog do.
_ALWAYS = ("Deployment", "StatefulSet")


async def read_for_lint(reader: ClusterReader, namespace: str) -> None:
    """Read into the reader. The namespace is empty for all of them."""
    neighbours = (CHECKPOINTS, LIMIT_RANGES, QUOTAS, BUDGETS, SCALED_OBJECTS, DATADOG)
    found = await reader.read([Collection(one, namespace) for one in (*AUTOSCALERS, *neighbours)])
    autoscalers = [read_autoscaler(data) for data in found if is_autoscaler(data)]
    kinds = {*_ALWAYS, *(target_of(one).kind for one in autoscalers)}
    await asyncio.gather(
        reader.read([Collection(BUILT_IN[kind], namespace) for kind in BUILT_IN if kind in kinds]),
        read_custom_targets(reader, autoscalers),
    )
    for space in sorted({one.namespace for one in autoscalers if isinstance(one, Tortoise)}):
        if (data := await reader.get(f"{NAMESPACES.path()}/{space}")) is not None:
            reader.keep(NAMESPACES, data)
