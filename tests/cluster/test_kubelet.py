"""The stand-in for the kubelet does to bare pods what its rules and calls say."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import active_count

import pytest

from cluster.plane.api import STRATEGIC, Api, Object
from cluster.plane.waiting import eventually
from cluster.standins.kubelet import Kubelet, Rule
from cluster.standins.podstatus import IN_PROGRESS, PENDING, address, condition, is_ready

LARGER = {"requests": {"cpu": "200m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}
SMALL = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}}


class Namespace:
    """The pods of one test, as the API server has them."""

    def __init__(self, api: Api, name: str) -> None:
        self.api, self.name = api, name

    def create(self, pod: str = "web", **container: object) -> None:
        container = {"name": "app", "image": "app", "resources": SMALL, **container}
        spec = {"nodeName": "node-1", "containers": [container]}
        self.api.create(f"/api/v1/namespaces/{self.name}/pods", {"metadata": {"name": pod}, "spec": spec})

    def pod(self) -> Object:
        return self.api.get(address(self.name, "web"))

    def container(self) -> Object:
        return self.pod()["status"]["containerStatuses"][0]

    def resize(self, resources: Object) -> None:
        change = {"spec": {"containers": [{"name": "app", "resources": resources}]}}
        self.api.patch(f"{address(self.name, 'web')}/resize", change, STRATEGIC)

    def until_ready(self) -> Object:
        eventually(lambda: is_ready(self.pod()))
        return self.pod()

    def until_condition(self, kind: str, reason: str = "") -> Object:
        def same() -> bool:
            found = condition(self.pod(), kind)
            return bool(found) and found.get("reason", "") == reason

        eventually(same)
        return self.pod()


@pytest.fixture
def kubelet(api: Api) -> Iterator[Kubelet]:
    kubelet = Kubelet(api)
    kubelet.add_node()
    kubelet.start()
    yield kubelet
    kubelet.stop()


@pytest.fixture
def pods(api: Api, namespace: str) -> Namespace:
    return Namespace(api, namespace)


def test_a_pod_runs_first_and_is_ready_later(kubelet: Kubelet, pods: Namespace) -> None:
    """A pod is Running and not Ready for as long as its rule says, and Ready afterwards."""
    kubelet.rules[pods.name] = Rule(ready_after=1.5)
    pods.create()
    eventually(lambda: pods.pod()["status"]["phase"] == "Running")
    assert not is_ready(pods.pod())
    assert pods.container()["resources"] == SMALL
    pod = pods.until_ready()
    assert condition(pod, "Ready")["lastTransitionTime"] > condition(pod, "Initialized")["lastTransitionTime"]
    assert condition(pod, "Initialized")["lastTransitionTime"] == pod["status"]["startTime"]


def test_a_pod_that_does_not_start_stays_pending(kubelet: Kubelet, pods: Namespace) -> None:
    """Pods that do not start stay Pending, until the rule changes."""
    kubelet.rules[pods.name] = Rule(starts=False, ready_after=0)
    pods.create()
    time.sleep(0.5)
    assert pods.pod()["status"]["phase"] == "Pending"
    kubelet.rules[pods.name] = Rule(ready_after=0)
    pods.until_ready()


def test_a_pod_without_a_node_is_left_alone(kubelet: Kubelet, pods: Namespace) -> None:
    """A kubelet does nothing for a pod that was never bound to a node."""
    kubelet.rules[pods.name] = Rule(ready_after=0)
    spec = {"containers": [{"name": "app", "image": "app"}]}
    pods.api.create(f"/api/v1/namespaces/{pods.name}/pods", {"metadata": {"name": "web"}, "spec": spec})
    time.sleep(0.5)
    assert pods.pod()["status"]["phase"] == "Pending"


def test_a_pod_that_is_never_ready_runs(kubelet: Kubelet, pods: Namespace) -> None:
    """Pods that are never ready run and stay unready."""
    kubelet.rules[pods.name] = Rule(ready_after=None)
    pods.create()
    eventually(lambda: pods.pod()["status"]["phase"] == "Running")
    time.sleep(1)
    assert condition(pods.pod(), "Ready")["status"] == "False"


def test_a_deleted_pod_goes(kubelet: Kubelet, pods: Namespace) -> None:
    """A deleted pod stays while its rule says never, and goes when the rule changes."""
    kubelet.rules[pods.name] = Rule(ready_after=0, gone_after=None)
    pods.create()
    pods.until_ready()
    pods.api.delete(address(pods.name, "web"))
    time.sleep(0.5)
    assert "deletionTimestamp" in pods.pod()["metadata"]
    kubelet.rules[pods.name] = Rule()
    eventually(lambda: pods.api.call("GET", address(pods.name, "web")).status == 404)


def test_readiness_by_call_stays(kubelet: Kubelet, pods: Namespace) -> None:
    """Readiness set by a call is not undone by the rule, and changes only the times of what changed."""
    kubelet.rules[pods.name] = Rule(ready_after=0)
    pods.create()
    before = pods.until_ready()
    time.sleep(1.1)
    kubelet.set_ready(pods.name, "web", ready=False)
    time.sleep(0.5)
    after = pods.pod()
    assert condition(after, "Ready")["status"] == "False"
    times = [
        [condition(pod, kind)["lastTransitionTime"] for pod in (before, after)] for kind in ("Initialized", "Ready")
    ]
    assert times[0][0] == times[0][1]
    assert times[1][0] < times[1][1]
    kubelet.set_ready(pods.name, "web", ready=True)
    assert is_ready(pods.pod())


def test_a_failed_pod_stays_failed(kubelet: Kubelet, pods: Namespace) -> None:
    """A failed pod has ended containers, is not ready, and stays failed whatever the rule says."""
    kubelet.rules[pods.name] = Rule(ready_after=0)
    pods.create()
    pods.until_ready()
    kubelet.fail(pods.name, "web")
    time.sleep(0.5)
    assert pods.pod()["status"]["phase"] == "Failed"
    assert condition(pods.pod(), "Ready")["reason"] == "PodFailed"
    assert pods.container()["state"]["terminated"]["exitCode"] == 1


def test_a_crash_reports_its_reason_and_count(kubelet: Kubelet, pods: Namespace) -> None:
    """A container that ran out of memory says so, counts its restarts, and becomes ready again."""
    kubelet.rules[pods.name] = Rule(ready_after=0.5)
    pods.create()
    pods.until_ready()
    kubelet.crash(pods.name, "web", restarts=2)
    assert not is_ready(pods.pod())
    ended = pods.container()["lastState"]["terminated"]
    assert (ended["reason"], ended["exitCode"], pods.container()["restartCount"]) == ("OOMKilled", 137, 2)
    pods.until_ready()


def test_a_resize_is_acknowledged(kubelet: Kubelet, pods: Namespace) -> None:
    """An acknowledged resize is in progress for as long as the rule says, and then in the status of the container."""
    kubelet.rules[pods.name] = Rule(ready_after=0, resize_after=1)
    pods.create()
    pods.until_ready()
    pods.resize(LARGER)
    pod = pods.until_condition(IN_PROGRESS)
    assert pods.container()["resources"] == SMALL
    assert pods.container()["allocatedResources"] == LARGER["requests"]
    assert pod["status"]["observedGeneration"] == pod["metadata"]["generation"]
    eventually(lambda: pods.container()["resources"] == LARGER)
    assert not condition(pods.pod(), IN_PROGRESS)
    assert is_ready(pods.pod())


def test_a_resize_may_need_a_restart(kubelet: Kubelet, pods: Namespace) -> None:
    """A resize of a resource restarts the container if its resize policy says so."""
    kubelet.rules[pods.name] = Rule(ready_after=0)
    pods.create(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}])
    pods.until_ready()
    pods.resize(LARGER)
    eventually(lambda: pods.container()["resources"] == LARGER)
    assert pods.container()["restartCount"] == 1
    pods.until_ready()


def test_a_deferred_resize_waits_for_another_rule(kubelet: Kubelet, pods: Namespace) -> None:
    """A deferred resize leaves the container as it is, and is done once the rule allows it."""
    kubelet.rules[pods.name] = Rule(ready_after=0, resize="defer")
    pods.create()
    pods.until_ready()
    pods.resize(LARGER)
    pods.until_condition(PENDING, "Deferred")
    assert pods.container()["resources"] == SMALL
    kubelet.rules[pods.name] = Rule(ready_after=0)
    eventually(lambda: pods.container()["resources"] == LARGER)
    assert not condition(pods.pod(), PENDING)


def test_a_refused_resize_may_be_taken_back(kubelet: Kubelet, pods: Namespace) -> None:
    """A refused resize is reported as infeasible until the spec is what the container has."""
    kubelet.rules[pods.name] = Rule(ready_after=0, resize="refuse")
    pods.create()
    pods.until_ready()
    pods.resize(LARGER)
    pods.until_condition(PENDING, "Infeasible")
    assert pods.container()["resources"] == SMALL
    pods.resize(SMALL)
    eventually(lambda: not condition(pods.pod(), PENDING))


def test_a_dropped_watch_is_restarted(kubelet: Kubelet, pods: Namespace) -> None:
    """Pods that are created and deleted while connections break are still managed."""
    kubelet.rules[pods.name] = Rule(ready_after=0)
    pods.create()
    pods.until_ready()
    kubelet.drop_connections()
    pods.api.delete(address(pods.name, "web"))
    eventually(lambda: pods.api.call("GET", address(pods.name, "web")).status == 404)
    kubelet.drop_connections()
    pods.create()
    kubelet.drop_connections()
    pods.until_ready()


def test_many_pods_are_managed(kubelet: Kubelet, pods: Namespace, report: Callable[[str], None]) -> None:
    """Three hundred pods at once all become ready; the largest delay of the kubelet is printed."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(pods.create, [f"web-{number}" for number in range(300)]))
    began = time.monotonic()
    eventually(lambda: len(ready_in(pods)) == 300, within=30)
    reported = f"{time.monotonic() - began:.1f} s after the last was created, at worst {kubelet.worst_lag:.2f} s behind"
    report(f"kubelet stand-in: 300 pods ready {reported}")


def test_it_stops_and_reports_errors(api: Api) -> None:
    """A stop leaves no thread, and raises the errors of the threads."""
    threads = active_count()
    kubelet = Kubelet(api)
    kubelet.start()
    time.sleep(0.3)
    kubelet.errors.append(ValueError("met"))
    with pytest.raises(AssertionError, match="met"):
        kubelet.stop()
    eventually(lambda: active_count() == threads)


def test_it_stops_without_a_server(api: Api) -> None:
    """A server that is gone neither delays the stop nor raises an error."""
    threads = active_count()
    kubelet = Kubelet(Api(1, api._tls, api.token))
    kubelet.start()
    time.sleep(0.3)
    kubelet.stop()
    eventually(lambda: active_count() == threads)


def ready_in(pods: Namespace) -> list[Object]:
    return [pod for pod in pods.api.get(f"/api/v1/namespaces/{pods.name}/pods")["items"] if is_ready(pod)]
