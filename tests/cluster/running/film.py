"""Every state of some objects: sampling them at intervals would miss some."""

import http.client
import threading
from contextlib import suppress
from typing import Any, Self

from cluster.plane.api import Api, ApiError, Object
from cluster.plane.cuttable import CuttableApi
from cluster.plane.waiting import eventually
from cluster.standins.podstatus import is_ready
from hypot.core.quantity import milli


class Film:
    """Records while its block runs; afterwards `states` has every state, in order."""

    def __init__(self, api: Api, path: str) -> None:
        self._api, self._path, self._line = api, path, CuttableApi(api)
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._since = ""
        self.states: list[Object] = []

    def __enter__(self) -> Self:
        listed = self._api.get(self._path)
        self.states, self._since = list(listed["items"]), listed["metadata"]["resourceVersion"]
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.until_current()
        finally:
            self._line.cut()
            self._thread.join(10)
            self._line.close()

    def until_current(self) -> int:
        """The number of states, once the latest is among them."""
        eventually(self._is_current)
        return len(self.states)

    def _follow(self) -> None:
        with suppress(OSError, http.client.HTTPException, ValueError, ApiError):
            for event in self._line.watch(self._path, self._since):
                deleted = {"deleted": True} if event["type"] == "DELETED" else {}
                self.states.append({**event["object"], **deleted})

    def _is_current(self) -> bool:
        there = {
            (one["metadata"]["name"], one["metadata"]["resourceVersion"]) for one in self._api.get(self._path)["items"]
        }
        return there <= {(one["metadata"]["name"], one["metadata"]["resourceVersion"]) for one in list(self.states)}

    def values(self, name: str, *path: str) -> list[Any]:
        """The successive values of one field of one object, without repetitions."""
        found: list[Any] = []
        for state in self.states:
            if state["metadata"]["name"] != name or state.get("deleted"):
                continue
            value: Any = state
            for part in path:
                value = (value or {}).get(part)
            if value is not None and (not found or found[-1] != value):
                found.append(value)
        return found

    def totals(self, resource: str = "cpu") -> list[int]:
        """After each state of a pod: the actual total of the ready pods, in milli-units."""
        serving: dict[str, int] = {}
        found = []
        for pod in self.states:
            gone = pod.get("deleted") or "deletionTimestamp" in pod["metadata"] or not is_ready(pod)
            serving[pod["metadata"]["uid"]] = 0 if gone else _requested(pod, resource)
            found.append(sum(serving.values()))
        return found


def _requested(pod: Object, resource: str) -> int:
    given = [status["resources"].get("requests", {}) for status in pod["status"].get("containerStatuses", ())]
    return sum(milli(one[resource]) for one in given if resource in one)
