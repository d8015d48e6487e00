"""Objects of hypot in other packages, and objects of other packages in hypot. `make test-interop` has all of them."""

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYRIGHT = ROOT / "build" / "interop" / "node_modules" / ".bin" / "pyright"

# jsii prints a banner for versions of Node that are near their end.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "1")
os.environ.setdefault("JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION", "1")


@pytest.fixture(scope="session")
def node() -> str:
    """For tests that need Node: cdk8s runs in it, and pyright."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed: cdk8s and pyright need it")
    return found


@pytest.fixture(scope="session")
def pyright(node: str) -> str:
    """The pinned pyright, as a command."""
    del node
    if not PYRIGHT.exists():
        pytest.skip(f"{PYRIGHT} is not there: npm was missing when build/interop was made")
    return str(PYRIGHT)
