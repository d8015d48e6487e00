"""Gives the API server the CA certificate of a server of hypot, in the object that says how it is called."""

import base64
from collections.abc import Callable, Mapping
from typing import Any, Literal

import structlog

from hypot.cluster.port import MERGE_PATCH, Port, RefusedError, Request, encoded
from hypot.kinds.values.nested import inner
from hypot.serving.certificate_secret import BY, ROUNDS

Published = Literal["published", "unchanged", "missing"]
# From the object and the bundle to the fields that change, or None if none do.
Change = Callable[[Mapping[str, Any], str], dict[str, Any] | None]

log = structlog.get_logger()


async def publish(port: Port, path: str, ca_pem: str, change: Change) -> Published:
    """Write the CA bundle to the object at this path. The installation creates that object.

    Raises RefusedError if the API server refuses, and UnreachableError if it does not answer.
    """
    bundle = base64.b64encode(ca_pem.encode()).decode()
    for _ in range(ROUNDS):
        request = Request("GET", path)
        answer = await port.call(request)
        if answer.gone:
            return "missing"
        if not answer.ok:
            break
        found = inner(answer.json())
        changed = change(found, bundle)
        if changed is None:
            return "unchanged"
        version = inner(found, "metadata").get("resourceVersion")
        patch = {"metadata": {"resourceVersion": version}, **changed}
        request = Request("PATCH", path, BY, encoded(patch), MERGE_PATCH)
        answer = await port.call(request)
        if answer.ok:
            log.info("CA bundle written", path=path)
            return "published"
        if not (answer.conflict or answer.gone):
            break
    raise RefusedError(request, answer)
