"""A ReplicaSet called web whose pods need another size, and a pass over them."""

from builders import LONG_AGO, MI, NOW
from hypot.kinds.vpa.fields import UpdatePolicy
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Bounds, Container, Controller, Owner, PendingResize, Pod
from hypot.policy.vertical.act import plan
from hypot.policy.vertical.fit import fit

WEB = Owner("ReplicaSet", "web-5d9c")
MIB = 1024 * 1024
NEWEST = (1, 36)
# Wide bounds around a target of 200 millicores.
ADVICE = Bounds("app", {"cpu": 200}, {"cpu": 150}, {"cpu": 400})


def app(cpu=100, **more):
    """A container that requests this much cpu; 100 is below its lower bound."""
    return Container("app", {"cpu": cpu, "memory": 64 * MI}, **more)


def pod(name="web-0", container=None, **more):
    usual = {"node": "n1", "owners": (WEB,), "started": LONG_AGO, "containers": (container or app(),)}
    return Pod(name, **{**usual, **more})


def fleet(count, **more):
    return [pod(f"web-{i}", **more) for i in range(count)]


def resizing(state, since=NOW, message="", **more):
    return pod(resize=PendingResize(state, since, message), **more)


def updates(mode="Recreate", **fields):
    return UpdatePolicy.read({"updateMode": mode, **fields})


def planned(pods, mode="Recreate", *, advice=ADVICE, policy=None, **more):
    """A pass over the pods of one ReplicaSet, all of which exist."""
    knobs = more.pop("knobs", Knobs())
    update = more.pop("update", updates(mode))
    ranges = more.pop("ranges", ())
    replicas = more.pop("replicas", len(pods))
    nodes = more.pop("nodes", {})
    usual = {"kubernetes": NEWEST, "now": NOW, "stuck": {}, "infeasible": {}}
    fitted = {one.name: fit([advice], policy, one, ranges) for one in pods}
    controllers = {WEB: Controller(*WEB, replicas)}
    return plan(pods, fitted, update, policy, controllers, nodes, knobs, **{**usual, **more})


def done(pods, mode="Recreate", **more):
    """The action on each pod, in the order in which they are handled."""
    return [(action.pod, action.action, action.rule) for action in planned(pods, mode, **more).actions]


def first(pods, mode="Recreate", **more):
    return planned(pods, mode, **more).actions[0]
