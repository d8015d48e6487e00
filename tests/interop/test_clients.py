"""Other clients take what hypot writes."""

import pytest
import yaml

from hypot import HPA, cpu, to_yaml

WEB = HPA("deployment/web", min_replicas=2, max_replicas=20, metrics=[cpu(utilization=70)], namespace="shop")


def test_lightkube_reads_the_yaml():
    """As its own dataclass, with the same content."""
    codecs = pytest.importorskip("lightkube.codecs", reason="lightkube is not installed: make test-interop has it")
    (made,) = codecs.load_all_yaml(to_yaml(WEB))
    assert made.to_dict() == WEB.to_dict()


def test_the_kubernetes_client_sends_the_mapping():
    """Its serializer leaves a mapping as it is; that is what a call of its API sends."""
    client = pytest.importorskip("kubernetes.client", reason="kubernetes is not installed: make test-interop has it")
    assert client.ApiClient().sanitize_for_serialization(WEB.to_dict()) == WEB.to_dict()


def test_kr8s_makes_an_object_of_the_mapping():
    """With its spec as attributes."""
    objects = pytest.importorskip("kr8s.objects", reason="kr8s is not installed: make test-interop has it")
    cls = objects.get_class("HorizontalPodAutoscaler", "autoscaling/v2")
    assert cls.version == "autoscaling/v2"
    assert yaml.safe_load(WEB.to_yaml()) == WEB.to_dict()
