"""Adds a manifest to a cdk8s chart."""

from collections.abc import Mapping
from typing import Any

# The metadata that a construct takes; the rest is added by a patch.
_OF_CONSTRUCT = ("name", "namespace", "labels", "annotations")


def api_object(manifest: Mapping[str, Any], scope: Any, id: str) -> Any:  # noqa: A002  the name that constructs use
    """A plain ApiObject: it keeps the order of fields and the text of quantities, which generated classes do not."""
    try:
        import cdk8s  # noqa: PLC0415  an extra, which starts a Node process
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"cdk8s", "constructs", "jsii"}:
            raise
        raise ModuleNotFoundError("cdk8s is not installed: pip install hypot[cdk8s]", name=error.name) from error
    metadata = manifest["metadata"]
    known = {key: metadata[key] for key in _OF_CONSTRUCT if key in metadata}
    made = cdk8s.ApiObject(
        scope, id, api_version=manifest["apiVersion"], kind=manifest["kind"], metadata=cdk8s.ApiObjectMetadata(**known)
    )
    for key in metadata.keys() - set(_OF_CONSTRUCT):
        made.add_json_patch(cdk8s.JsonPatch.add(f"/metadata/{_pointer(key)}", metadata[key]))
    for key, value in manifest.items():
        if key not in {"apiVersion", "kind", "metadata"}:
            made.add_json_patch(cdk8s.JsonPatch.add(f"/{_pointer(key)}", value))
    return made


def _pointer(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
