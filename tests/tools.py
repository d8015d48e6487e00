"""Tools that some tests need: those on the PATH, else those that `go install` has built."""

import os
import shutil

import pytest

PATH = os.environ.get("PATH", "")
BUILT = os.path.expanduser("~/go/bin")  # noqa: PTH111
HOW = {
    "helm": "go install helm.sh/helm/v3/cmd/helm@v3.22.0",
    "kubectl": "https://kubernetes.io/docs/tasks/tools/",
    "kustomize": "go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.1",
}


def tool(name: str) -> str:
    """The path of a tool; a test that needs an absent one is skipped."""
    found = shutil.which(name, path=PATH) or shutil.which(name, path=BUILT)
    if found is None:
        pytest.skip(f"{name} is not installed: {HOW[name]}")
    return found
