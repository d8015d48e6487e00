"""The part of a manifest that a person writes."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from hypot.kinds.base import Kind

# What only the API server writes.
SERVER_METADATA = (
    *("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def written_part(one: Kind | Mapping[str, Any]) -> dict[str, Any]:
    """The manifest without its status and without the metadata that a cluster adds."""
    manifest = one.to_dict() if isinstance(one, Kind) else deepcopy(dict(one))
    manifest.pop("status", None)
    metadata = manifest.get("metadata")
    if isinstance(metadata, dict):
        manifest["metadata"] = _written_metadata(metadata)
    return manifest


def _written_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in metadata.items() if key not in SERVER_METADATA}
    annotations = kept.get("annotations")
    if isinstance(annotations, dict) and _LAST_APPLIED in annotations:
        kept["annotations"] = {key: text for key, text in annotations.items() if key != _LAST_APPLIED}
        if not kept["annotations"]:
            del kept["annotations"]
    return kept
