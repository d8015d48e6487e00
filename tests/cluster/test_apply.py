"""apply and live against a real API server."""

import runpy
from pathlib import Path

import pytest

from cluster.crds import serving
from hypot import FROZEN, HPA, InvalidAutoscaler, cpu, diff
from hypot.cluster.api import Api
from hypot.cluster.apply import ApplyConflict, ApplyRefused, FieldConflict, apply, live
from hypot.cluster.config import read_access
from hypot.cluster.discovery import ServedKind, path_of
from hypot.cluster.port import APPLY_PATCH, Request, encoded, expect
from hypot.kinds.vpa import VPA

SHOP = Path(__file__).resolve().parents[2] / "examples" / "authoring" / "shop.py"
PLURALS = {"Deployment": "deployments", "StatefulSet": "statefulsets"}
HPAS = ServedKind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


def web(namespace, **given):
    rest = {"max_replicas": 10, "metrics": [cpu(utilization=70)], "namespace": namespace, **given}
    return HPA("deployment/web", **rest)


@pytest.fixture
def config(plane):
    return str(plane.kubeconfig("admin"))


def test_an_object_is_applied_changed_and_read(config, namespace):
    """What is read differs from what was applied only by the server's defaults: effective() has the same."""
    assert live(HPA, "web", namespace, kubeconfig=config) is None
    first = apply(web(namespace), kubeconfig=config)
    assert not diff(first, web(namespace).effective())
    changed = web(namespace, max_replicas=20, scale_down=FROZEN)
    apply(changed, kubeconfig=config)
    found = live("hpa", "web", namespace, kubeconfig=config)
    assert not diff(found, changed.effective())
    apply(found, kubeconfig=config)  # what was read can be applied


def test_a_dry_run_stores_nothing(config, namespace):
    """The server answers with the object that it would store."""
    assert apply(web(namespace), kubeconfig=config, dry_run=True).min_replicas == 1
    assert live(HPA, "web", namespace, kubeconfig=config) is None


@pytest.mark.asyncio
async def test_a_field_of_another_manager_is_a_conflict(config, namespace):
    """The conflict names the field and its owner; force takes it over."""
    async with Api(read_access(config)) as api:
        request = Request(
            "PATCH",
            path_of(HPAS, namespace, "web"),
            {"fieldManager": "platform-team"},
            encoded(web(namespace, max_replicas=5).to_dict()),
            APPLY_PATCH,
        )
        await expect(api, request)
    with pytest.raises(ApplyConflict) as found:
        apply(web(namespace), kubeconfig=config)
    assert found.value.conflicts == (FieldConflict("spec.maxReplicas", "platform-team"),)
    assert live(HPA, "web", namespace, kubeconfig=config).max_replicas == 5
    assert apply(web(namespace), kubeconfig=config, force=True).max_replicas == 10


def test_what_the_cluster_refuses_is_reported(config, namespace):
    """Problems are raised before anything is sent; a missing namespace is the cluster's own message."""
    with pytest.raises(InvalidAutoscaler):
        apply(HPA.from_dict(web(namespace).to_dict() | {"spec": {}}), kubeconfig=config)
    with pytest.raises(ApplyRefused, match='namespaces "no-such" not found'):
        apply(web("no-such"), kubeconfig=config)


def test_custom_resources_are_applied_too(api, config, namespace):
    """With the definitions that hypot prints."""
    serving(api)
    made = VPA("deployment/web", mode="Off", namespace=namespace)
    assert not diff(apply(made, kubeconfig=config), made)


@pytest.fixture
def shop(api):
    """The example project; its objects name their namespace, which other tests may have made."""
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": "shop"}})
    return runpy.run_path(str(SHOP))


def test_the_example_project_is_applied_and_read(api, config, shop):
    """Its workloads are valid, its ten autoscalers are stored, and only defaults are added."""
    serving(api)
    for workload in shop["WORKLOADS"].values():
        path = f"/apis/apps/v1/namespaces/shop/{PLURALS[workload['kind']]}"
        assert api.call("POST", path, workload, query={"dryRun": "All", "fieldValidation": "Strict"}).ok
    for one in shop["AUTOSCALERS"]:
        apply(one, kubeconfig=config)
        stored = live(type(one), one.name, one.namespace, kubeconfig=config)
        # The definitions of custom resources have no defaults: their controllers apply them.
        assert not diff(stored, one.effective("1.36") if isinstance(one, HPA) else one)
        assert not apply(one, kubeconfig=config).problems()
