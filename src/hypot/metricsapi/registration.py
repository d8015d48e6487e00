"""The APIServices: how the API server finds this server, and which CA certificate it trusts."""

from collections.abc import Mapping
from typing import Any

from hypot.cluster.port import Port, Request
from hypot.kinds.metric_values import API_SERVICES
from hypot.kinds.values.nested import inner
from hypot.serving.ca_bundle import publish

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"


class Registration:
    """Writes the CA bundle to the APIServices of this server. Those of others are left alone."""

    def __init__(self, port: Port, namespace: str, service: str) -> None:
        self._port, self._own = port, {"namespace": namespace, "name": service}

    async def publish(self, ca_pem: str) -> list[str]:
        """Returns the APIServices that name this server. Without a CA nothing is written: others keep it."""
        found = []
        for name in API_SERVICES:
            if not await self._is_ours(name):
                continue
            if ca_pem:
                await publish(self._port, f"{PATH}/{name}", ca_pem, self._trusting)
            found.append(name)
        return found

    async def _is_ours(self, name: str) -> bool:
        answer = await self._port.call(Request("GET", f"{PATH}/{name}"))
        return answer.ok and self._names_us(inner(answer.json()))

    def _names_us(self, registered: Mapping[str, Any]) -> bool:
        service = inner(registered, "spec", "service")
        return {key: service.get(key) for key in self._own} == self._own

    def _trusting(self, registered: Mapping[str, Any], bundle: str) -> dict[str, Any] | None:
        if not self._names_us(registered) or inner(registered, "spec").get("caBundle") == bundle:
            return None
        return {"spec": {"caBundle": bundle}}
