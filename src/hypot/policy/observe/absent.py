"""The messages for missing objects: a dump can be completed, a cluster cannot."""

from typing import Protocol

from hypot.kinds.base import Ref
from hypot.kinds.metric_values import RESOURCE, api_path
from hypot.policy.model.seen import Failure
from hypot.policy.observe.read_scale import not_there, resource_of


class Absent(Protocol):
    """The messages for what was not found."""

    def samples(self, namespace: str) -> str:
        """No usage of any pod of this namespace."""

    def target(self, ref: Ref, namespace: str, elsewhere: str, key: str) -> Failure:
        """No such target; `elsewhere` is the apiVersion under which this kind and name exist."""


class InDump:
    """Names the command that adds the missing object."""

    def samples(self, namespace: str) -> str:
        path = f"{api_path(RESOURCE)}/namespaces/{namespace}/pods"
        return f"no PodMetrics of namespace {namespace} in the input; add them: kubectl get --raw {path}"

    def target(self, ref: Ref, namespace: str, elsewhere: str, key: str) -> Failure:
        return not_there(ref, namespace, elsewhere, key)


class InCluster:
    """Uses the messages of Kubernetes."""

    def samples(self, namespace: str) -> str:
        return f"no metrics returned from resource metrics API for namespace {namespace}"

    def target(self, ref: Ref, namespace: str, elsewhere: str, key: str) -> Failure:
        if elsewhere:
            return not_there(ref, namespace, elsewhere, key)
        return Failure(f'{resource_of(ref)[0]} "{ref.name}" not found in namespace {namespace}')


IN_DUMP, IN_CLUSTER = InDump(), InCluster()
