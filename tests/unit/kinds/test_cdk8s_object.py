"""to_cdk8s without cdk8s; with it, see tests/interop."""

import sys

import pytest

from hypot import HPA


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    """The error is a command to run."""
    monkeypatch.setitem(sys.modules, "cdk8s", None)
    with pytest.raises(ModuleNotFoundError, match=r"cdk8s is not installed: pip install hypot\[cdk8s\]"):
        HPA("deployment/web", max_replicas=3).to_cdk8s(None, "web")
