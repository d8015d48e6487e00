"""All twins at once: start them, run their scripts, and record what the controller did."""

import time
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event

from cluster.plane.controlplane import ControlPlane
from cluster.standins.kubelet import Kubelet
from cluster.standins.metricsserver import Answered, MetricsServer
from cluster.twins.audit import Request, read_audit
from cluster.twins.script import script_of
from cluster.twins.shapes import SHAPES, Shape
from cluster.twins.twin import Twin
from hypot.policy.model.settings import Settings

# No window or period is a multiple of this: recommendations are never on the edge of a window.
SYNC_PERIOD = 1.3
SETTINGS = Settings(
    kubernetes=(1, 36),
    gates={"HPAScaleToZero": True},
    sync_period=SYNC_PERIOD,
    downscale_window=7.0,
    cpu_initialization_period=14.0,
    initial_readiness_delay=4.0,
)
FLAGS = (
    f"--horizontal-pod-autoscaler-sync-period={SYNC_PERIOD}s",
    f"--horizontal-pod-autoscaler-downscale-stabilization={SETTINGS.downscale_window}s",
    f"--horizontal-pod-autoscaler-cpu-initialization-period={SETTINGS.cpu_initialization_period}s",
    f"--horizontal-pod-autoscaler-initial-readiness-delay={SETTINGS.initial_readiness_delay}s",
)


@dataclass(frozen=True)
class Record:
    """What the API server and the metrics stand-in recorded."""

    requests: list[Request]
    journal: list[Answered]


class Stage:
    """The environment of the twins: the controllers, a kubelet for their pods, and metrics about them."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.kubelet = Kubelet(plane.client("kubelet"))
        self.server = MetricsServer(plane.ca)

    def start(self, *flags: str) -> None:
        self.server.start()
        self.server.register(self.plane.admin)
        self.kubelet.start()
        self.kubelet.add_node("node-1")
        self.plane.start_controllers(*(flags or FLAGS))

    def stop(self) -> None:
        self.kubelet.stop()
        self.server.stop()

    def twins(self, shapes: tuple[Shape, ...] = SHAPES) -> list[Twin]:
        made = [Twin(shape, self.plane.client("admin"), self.kubelet, self.server) for shape in shapes]
        for twin in made:
            twin.create()
        return made

    def play(self, twins: list[Twin], seed: int, steps: int) -> Record:
        """Run every twin through its script, at the same time."""
        over = Event()
        with ThreadPoolExecutor(len(twins)) as pool:
            played = [pool.submit(twin.play, script_of(twin.shape, seed, steps), over) for twin in twins]
            try:
                wait(played, return_when=FIRST_EXCEPTION)
            finally:
                over.set()
        for each in played:
            each.result()
        time.sleep(SYNC_PERIOD)
        theirs = {twin.namespace for twin in twins}
        requests = [request for request in read_audit(self.plane.audit_log) if request.namespace in theirs]
        return Record(requests, list(self.server.journal))
