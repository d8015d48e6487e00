"""The workload that a replay starts from: from a manifest, or from the world if there is none."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hypot.core.amount import CPU, MEMORY, RESOURCES, of_milli
from hypot.core.quantity import QuantityError, milli
from hypot.kinds.base import count_of, refer
from hypot.kinds.problem import Where, shown
from hypot.kinds.text.load import LoadedFiles
from hypot.kinds.values.nested import inner, mappings
from hypot.policy.model.seen import Failure
from hypot.policy.observe.read_pods import labels_of, read_container
from hypot.policy.observe.read_scale import scale_of_workload
from hypot.replay.policies.policy import Mishap, Start
from hypot.replay.world.parameters import Workload, World
from hypot.replay.world.units import shown_in

CONTAINER = "hypot.dev/container"
# Parameters of the section `workload` of a world.
REPLICAS = "replicas"
OF_POD = frozenset({"cpu", "memory", "cpuLimit", "memoryLimit"})
_IN_POD: Where = ("spec", "template", "spec")


class Found(NamedTuple):
    """A workload as far as it could be read, with notes and problems."""

    start: Start | None
    notes: tuple[str, ...] = ()
    mishaps: tuple[Mishap, ...] = ()


def start_of_world(world: World, kind: str, name: str) -> Start:
    """The world's own workload, if no manifest describes it; millicores are rounded up."""
    given = world.workload
    return Start(
        name,
        given.replicas,
        "app",
        milli(given.cpu),
        given.memory,
        None if given.cpu_limit is None else milli(given.cpu_limit),
        given.memory_limit,
        kind,
        selector=f"app={name}",
        labels={"app": name},
        of_world=OF_POD | {REPLICAS},
    )


def pod_of_world(world: World) -> str:
    """The world's own workload in words."""
    given = world.workload
    cpu, most_cpu = (shown_in("cores", value) for value in (given.cpu, given.cpu_limit))
    memory, most_memory = (shown_in("bytes", value) for value in (given.memory, given.memory_limit))
    name = "the default pod" if given == Workload() else "the pod of the world"
    sizes = f"cpu {cpu}, limit {most_cpu}; memory {memory}, limit {most_memory}"
    return f"{name} ({count_of(given.replicas, 'replica')}; {sizes})"


def start_of(loaded: LoadedFiles, world: World) -> Found:
    """The workload that a manifest describes, with all its problems at once."""
    reading = _StartWorkload(loaded, world)
    start = reading.start()
    return Found(None if reading.mishaps else start, tuple(reading.notes), tuple(reading.mishaps))


class _StartWorkload:
    def __init__(self, loaded: LoadedFiles, world: World) -> None:
        self._data, self._source, self._world = loaded.data, loaded.source, world
        self._ref = refer(loaded.data)
        self.notes: list[str] = []
        self.mishaps: list[Mishap] = []

    def start(self) -> Start | None:
        namespace = inner(self._data, "metadata").get("namespace")
        scale = scale_of_workload(self._data, self._ref)
        if isinstance(scale, Failure):
            self._report(("spec",), scale.message)
            return None
        at, container = self._container()
        if container is None:
            return None
        sizes = {(key, r): self._amount(container, at, key, r) for key in ("requests", "limits") for r in RESOURCES}
        name = str(container.get("name") or "")
        requests = {resource: self._request(sizes, at, name, resource) for resource in RESOURCES}
        return Start(
            str(self._ref.name),
            self._replicas(scale.replicas),
            name,
            requests[CPU],
            requests[MEMORY],
            sizes["limits", CPU],
            sizes["limits", MEMORY],
            str(self._ref.kind),
            namespace if isinstance(namespace, str) else None,
            scale.selector,
            labels_of(inner(self._data, "spec", "template")),
            read_container(container).restarts_on_resize,
            f"{self._source.file}:{self._source.line}",
            frozenset() if self._sets_replicas else frozenset({REPLICAS}),
        )

    @property
    def _sets_replicas(self) -> bool:
        return inner(self._data, "spec").get("replicas") is not None

    def _replicas(self, asked: int) -> int:
        if not self._sets_replicas:
            replicas = self._world.workload.replicas
            self.notes.append(f"{self._ref} does not set replicas: it starts with {replicas}")
            return replicas
        if asked == 0:
            self._report(("spec", "replicas"), "0 replicas: the workload is switched off; set at least 1 to replay it")
        return asked

    def _container(self) -> tuple[Where, Mapping[str, Any] | None]:
        """The container that is replayed: the one that an annotation names, or else the first."""
        spec = inner(self._data, *map(str, _IN_POD))
        given = list(mappings(spec.get("containers")))
        if not given:
            self._report(_IN_POD, "there is no pod template with containers; give the complete manifest")
            return (), None
        names = [str(one.get("name") or "") for one in given]
        wanted = inner(self._data, "metadata", "annotations").get(CONTAINER, names[0])
        if wanted not in names:
            message = f"{CONTAINER}: there is no container {shown(wanted)}; there are {', '.join(names)}"
            self._report(("metadata", "annotations", CONTAINER), message)
            return (), None
        index = names.index(wanted)
        sidecars = [one for one in mappings(spec.get("initContainers")) if one.get("restartPolicy") == "Always"]
        others = [name for i, name in enumerate(names) if i != index]
        others += [str(one.get("name") or "") for one in sidecars]
        if others:
            self.notes.append(f"{self._ref}: only container {wanted} is replayed; ignored: {', '.join(others)}")
        return (*_IN_POD, "containers", index), given[index]

    def _amount(self, container: Mapping[str, Any], at: Where, key: str, resource: str) -> int | None:
        written = inner(container, "resources", key).get(resource)
        if written is None:
            return None
        place = (*at, "resources", key, resource)
        try:
            amount = of_milli(resource, milli(written))
        except QuantityError as error:
            self._report(place, f"{resource} in {key}: {error}")
            return 0
        if amount <= 0:
            self._report(place, f"{resource} in {key}: {shown(written)} must be above 0")
        return amount

    def _request(self, sizes: Mapping[tuple[str, str], int | None], at: Where, name: str, resource: str) -> int:
        """If there is a limit but no request, the limit is the request, as in Kubernetes."""
        limit = sizes["limits", resource]
        request = sizes["requests", resource]
        if request is None:
            request = limit
        if request is None:
            message = f"container {name} has no {resource} request, so utilisation cannot be measured"
            self._report((*at, "resources", "requests"), f"{message}; write resources.requests.{resource}")
            return 0
        if limit and limit < request:
            place = (*at, "resources", "limits", resource)
            self._report(place, f"the {resource} limit is below the request of {resource}; raise it")
        return request

    def _report(self, where: Where, message: str) -> None:
        self.mishaps.append(Mishap(self._source, where, f"{self._ref}: {message}"))
