"""The stage of most tests; a file that needs more of it makes its own."""

from collections.abc import Iterator

import pytest

from cluster.plane.controlplane import ControlPlane
from cluster.running.stage import Stage


@pytest.fixture(scope="module")
def stage(plane: ControlPlane) -> Iterator[Stage]:
    """What is around the controller, once for each file."""
    made = Stage(plane).start()
    yield made
    made.stop()
