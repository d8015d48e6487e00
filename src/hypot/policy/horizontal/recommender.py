"""The requests of a WatermarkPodAutoscaler to a recommender, and the replies it accepts. No network here."""

from collections.abc import Mapping
from typing import Any

from hypot.core.instant import read_time
from hypot.core.quantity import milli
from hypot.core.replicas.ratio import MAX_INT32
from hypot.kinds.base import Ref
from hypot.kinds.wpa import WPA
from hypot.kinds.wpa.fields import Recommender
from hypot.policy.model.seen import Failure, Reply, Scale

# Codes of HTTP and gRPC are smaller.
MOST_CODE = 1000
_COUNTS = ("targetReplicas", "lowerBoundReplicas", "upperBoundReplicas")


def build_request(wpa: WPA, scale: Scale, ready: int, cluster: str = "") -> dict[str, Any]:
    """The JSON body of a request; "current" is the desired count of the scale, not the existing pods."""
    recommender, ref = wpa.recommender or Recommender(), wpa.target or Ref()
    target = {
        "type": recommender.target_type or "",
        "targetValue": 0,
        "lowerBound": _plain(recommender.low),
        "upperBound": _plain(recommender.high),
    }
    return {
        "state": {"desiredReplicas": scale.replicas, "currentReplicas": scale.replicas, "readyReplicas": ready},
        "targetRef": {
            "kind": ref.kind or "",
            "name": ref.name or "",
            "apiVersion": ref.api_version or "",
            "namespace": wpa.namespace,
            "cluster": cluster,
        },
        "constraints": {"minReplicas": wpa.min_replicas or 1, "maxReplicas": wpa.max_replicas or 0},
        "targets": [target],
        "settings": dict(recommender.settings or {}),
    }


def _plain(mark: Any) -> float:
    return 0.0 if mark is None else milli(mark) / 1000


def read_reply(data: Any) -> Reply | Failure:
    """A reply, or why it is not valid; only the first observed target is used.

    Protobuf's JSON omits zeros, so a count may be missing, but not all counts and the timestamp.
    """
    if not isinstance(data, Mapping):
        return Failure("the recommender's answer is not a JSON object")
    error = data.get("error")
    if isinstance(error, Mapping) and (error.get("code") or error.get("message")):
        # Only the code: the address may be any server of the cluster, and its answer must not appear in a status.
        code = error.get("code")
        shown = f" {code}" if isinstance(code, int) and abs(code) < MOST_CODE else ""
        return Failure(f"the recommender answered with an error{shown}")
    if not data.get("timestamp") and not any(key in data for key in _COUNTS):
        return Failure("the recommender's answer has neither a count of replicas nor a timestamp")
    counts = [data.get(key, 0) for key in _COUNTS]
    if not all(_is_count(count) for count in counts):
        return Failure("the recommender's answer has replica counts that are not whole numbers")
    message, observed = str(data.get("reason") or ""), _observed(data.get("observedTargets"))
    return Reply(counts[0], counts[1], counts[2], message, observed, read_time(data.get("timestamp")))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INT32


def _observed(targets: Any) -> float:
    first = targets[0] if isinstance(targets, list) and targets else None
    value = first.get("targetValue") if isinstance(first, Mapping) else None
    # An absurdly large value is reported as 0; it decides nothing.
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else 0.0


def metric_name(recommender: Recommender) -> str:
    """The name of a recommender, in place of a metric's name."""
    settings = [f"{key}:{value}" for key, value in sorted((recommender.settings or {}).items())]
    return "recommender{" + ",".join([f"targetType:{recommender.target_type or ''}", *settings]) + "}"
