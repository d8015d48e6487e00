"""Measures the cost of a controller: requests, its processor time and that of the API server, memory."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster.plane.api import Api

_TICKS = os.sysconf("SC_CLK_TCK")
_COUNTED = re.compile(r"^apiserver_flowcontrol_dispatched_requests_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
FLOWS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"


def processor_seconds(pid: int) -> float:
    """User and system time of a process since its start."""
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


def memory_mb(pid: int) -> float:
    """The peak resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+([0-9]+) kB", status)
    assert found, f"process {pid} reports no memory"
    return int(found[1]) / 1024


def allow(api: Api, group: str) -> None:
    """Allow everything to this group, by the role cluster-admin."""
    rbac = "rbac.authorization.k8s.io"
    subjects = [{"kind": "Group", "name": group, "apiGroup": rbac}]
    role = {"kind": "ClusterRole", "name": "cluster-admin", "apiGroup": rbac}
    path = f"/apis/{rbac}/v1/clusterrolebindings"
    api.create(path, {"metadata": {"name": group}, "subjects": subjects, "roleRef": role})


def count_flow(api: Api, user: str) -> None:
    """Let the API server count the requests of this user, without throttling them."""
    rules = [
        {
            "subjects": [{"kind": "User", "user": {"name": user}}],
            "resourceRules": [
                {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"], "clusterScope": True, "namespaces": ["*"]}
            ],
            "nonResourceRules": [{"nonResourceURLs": ["*"], "verbs": ["*"]}],
        }
    ]
    spec = {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 2, "rules": rules}
    api.create(FLOWS, {"metadata": {"name": f"bench-{user}"}, "spec": spec})


def requests_of(api: Api, user: str) -> int:
    """The number of requests so far, including the start of watches."""
    text = api.get("/metrics")["message"]
    return sum(int(float(count)) for labels, count in _COUNTED.findall(text) if f'flow_schema="bench-{user}"' in labels)


@dataclass(frozen=True)
class Reading:
    """All counters at one time."""

    at: float
    requests: int
    controller: float
    server: float


@dataclass(frozen=True)
class Cost:
    """The average cost of one reconcile."""

    requests: float
    controller: float
    server: float

    @classmethod
    def between(cls, before: Reading, after: Reading, period: float) -> "Cost":
        reconciles = (after.at - before.at) / period
        return cls(
            (after.requests - before.requests) / reconciles,
            (after.controller - before.controller) / reconciles,
            (after.server - before.server) / reconciles,
        )


@dataclass(frozen=True)
class Meter:
    """Reads the counters of one controller and the API server."""

    api: Api
    user: str
    controller: int
    server: int

    def read(self) -> Reading:
        """Read the processor times first, because the request for the counters costs the server a little."""
        used = processor_seconds(self.controller), processor_seconds(self.server)
        return Reading(time.monotonic(), requests_of(self.api, self.user), *used)


def bursts(times: list[float], quiet: float = 1.0) -> Iterator[float]:
    """The duration of each run of queries without a pause of more than `quiet` seconds."""
    ordered = sorted(times)
    for before, moment, after in _with_neighbours(ordered):
        if before is None or moment - before > quiet:
            began = moment
        if after is None or after - moment > quiet:
            yield moment - began


def _with_neighbours(values: list[Any]) -> Iterator[tuple[Any, Any, Any]]:
    yield from zip([None, *values[:-1]], values, [*values[1:], None], strict=True)
