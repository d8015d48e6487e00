"""The target of an autoscaler as an author gives it: a name, or a whole workload of this or another library."""

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hypot.kinds.base import HasKindAndName, HasMetadata, Ref, known_version, meant_by, metadata_of, refer
from hypot.kinds.known_kinds import unfit
from hypot.kinds.node import replaced
from hypot.kinds.pod_template import Defaults, Template, read_template, template_in
from hypot.kinds.problem import Problem
from hypot.kinds.values.nested import inner
from hypot.kinds.values.version import NEWEST

TargetLike = str | Ref | Mapping[str, Any] | HasKindAndName | HasMetadata


class GivenTarget(NamedTuple):
    """What is known of a target."""

    ref: Ref
    # None if only the name is given.
    namespace: str | None = None
    template: Template | None = None

    def metadata(
        self,
        name: str | None,
        namespace: str | None,
        labels: Mapping[str, str] | None,
        annotations: Mapping[str, str] | None,
    ) -> dict[str, Any]:
        """The metadata of an autoscaler: named like its target and in its namespace, unless the author says so."""
        return metadata_of(
            self.ref.name if name is None or name == "" else name,
            self.namespace if namespace is None or namespace == "" else namespace,
            labels,
            annotations,
        )

    def problems(self, namespace: str | None, *, counts: bool, needs_group: bool = False) -> Iterator[Problem]:
        """What the target itself rules out, for an autoscaler that sets the number of replicas, or only sizes.

        With `needs_group` the rules of the kind find a missing group themselves.
        """
        if namespace and self.namespace and namespace != self.namespace:
            message = f"the target is in the namespace {self.namespace}, and an autoscaler scales only its own"
            hint = "leave namespace out: it is that of the target"
            yield Problem("target-namespace", "Invalid", ("namespace",), message, namespace, hint, path="namespace")
        if not needs_group:
            yield from unknown_kind(self.ref, "target")
        why = unfit(self.ref.group, str(self.ref.kind), counts=counts)
        if why:
            message = f"has no replica count ({why})" if counts else f"has no pods to size ({why})"
            yield Problem("target-not-scalable", "Invalid", ("target",), message, self.ref.kind, "", path="target.kind")


def unknown_kind(ref: Ref, path: str) -> Iterator[Problem]:
    """A kind that not everybody has is nothing without its API version."""
    kind, version = ref.kind, ref.api_version
    if version or not isinstance(kind, str) or not kind or known_version(kind) is not None:
        return
    hint = meant_by(kind) or f'write Ref("GROUP/VERSION", "{kind}", "{ref.name}"), or "GROUP/VERSION/{kind}/{ref.name}"'
    message = "is not a kind that every cluster has, and there is no API version"
    yield Problem("target-kind", "Invalid", ("target", "kind"), message, kind, hint, path=f"{path}.kind")


def given_target(target: TargetLike) -> GivenTarget:
    """The reference to a target, and its pods if they are given."""
    if isinstance(target, str | Ref):
        return GivenTarget(_with_version(refer(target)))
    manifest = manifest_of(target)
    if manifest is None:
        return GivenTarget(_with_version(refer(target)))
    metadata = inner(manifest, "metadata")
    template = read_template(template_in(inner(manifest, "spec")), Defaults(), NEWEST)
    namespace = metadata.get("namespace")
    namespace = namespace if isinstance(namespace, str) else None
    return GivenTarget(_with_version(refer(manifest)), namespace, template)


def _with_version(ref: Ref) -> Ref:
    """With the API version of a kind that everybody has."""
    return ref if ref.api_version else replaced(ref, api_version=known_version(ref.kind))


def manifest_of(target: Any) -> Mapping[str, Any] | None:
    """The manifest of a mapping or of an object of kr8s, lightkube, the official client or cdk8s; None if unknown."""
    if isinstance(target, Mapping) and not callable(getattr(target, "to_dict", None)):
        return target
    found = _read(target)
    return None if found is None else {**_named_by_class(target), **{k: v for k, v in found.items() if v is not None}}


def _read(target: Any) -> Mapping[str, Any] | None:
    raw = getattr(target, "raw", None)  # kr8s
    if isinstance(raw, Mapping) and "metadata" in raw:
        return raw
    target = _api_object(target)
    for name in ("to_json", "to_dict"):
        write = getattr(target, name, None)
        made = write() if callable(write) else None
        made = json.loads(made) if isinstance(made, str) else made
        if isinstance(made, Mapping) and "metadata" in made:
            return made
    return None


def _api_object(target: Any) -> Any:
    """The API object of a cdk8s construct, such as a Deployment of cdk8s-plus; else what was given."""
    cdk8s, constructs = sys.modules.get("cdk8s"), sys.modules.get("constructs")
    is_construct = cdk8s is not None and constructs is not None and isinstance(target, constructs.Construct)
    return cdk8s.ApiObject.of(target) if cdk8s is not None and is_construct else target


def _named_by_class(target: Any) -> dict[str, Any]:
    """The kind that the class of an object says: lightkube's generic resources, and `V1Deployment` and the like."""
    resource = getattr(getattr(target, "_api_info", None), "resource", None)
    if resource is not None:
        group = f"{resource.group}/" if resource.group else ""
        return {"apiVersion": f"{group}{resource.version}", "kind": resource.kind}
    name = type(target).__name__
    return {"kind": name.lstrip("V").lstrip("0123456789") if name[:1] == "V" and name[1:2].isdigit() else name}
