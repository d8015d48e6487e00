"""A control plane with a front proxy, where the real HPA controller scales, for tests of the metrics server."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.plane.binaries import ensure
from cluster.plane.controlplane import HPA_CONTROLLER, WORKLOAD_CONTROLLERS
from cluster.running.metrics import OWN, FrontedPlane
from cluster.running.stage import Stage, install_definitions
from cluster.running.tortoises import HPA_FLAGS


@contextmanager
def fronted_plane() -> Iterator[FrontedPlane]:
    """A control plane of its own: the APIs that it serves belong to a stand-in in the one that tests share."""
    folder = Path(tempfile.mkdtemp(prefix="hypot-metrics-"))
    made = FrontedPlane(ensure(), folder)
    made.start()
    yield made
    made.stop()
    shutil.rmtree(folder)


@contextmanager
def hpa_stage(fronted: FrontedPlane, namespaces: Iterable[str] = ()) -> Iterator[Stage]:
    """Pods, their usage, and the controllers of HPAs, workloads and EndpointSlices, with these namespaces."""
    stage = Stage(fronted, *HPA_FLAGS)
    install_definitions(stage.api)
    stage.metrics.start()
    stage.metrics.register(stage.api, groups=["metrics.k8s.io"])
    stage.kubelet.start()
    stage.kubelet.add_node("node-1")
    fronted.start_controllers(*HPA_FLAGS, names=(HPA_CONTROLLER, *WORKLOAD_CONTROLLERS, "endpointslice-controller"))
    for name in (OWN, *namespaces):
        stage.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield stage
    fronted.stop_controllers()
    stage.kubelet.stop()
    stage.metrics.stop()
