"""Several installations in one cluster: each manages its own namespaces, and of two that overlap one holds."""

from contextlib import ExitStack

from cluster.plane.waiting import eventually
from cluster.running.alone import controller_for, controlling, running
from cluster.running.shapes import WPA, watermarks
from cluster.running.stage import Stage, Workload

SOON = 60


def test_three_installations_and_one_of_them_is_killed(stage: Stage, namespace: str) -> None:
    """Each scales its own workloads only. The death of one changes nothing for the others, and it can come back."""
    spaces = [f"{namespace}-{letter}" for letter in "abc"]
    for each in spaces:
        stage.api.create("/api/v1/namespaces", {"metadata": {"name": each}})
    webs = {each: Workload(stage, each, load=400).create(2) for each in spaces}
    scalers = {each: web.autoscaler(*WPA, watermarks()) for each, web in webs.items()}
    others = {"leaseNamespaces": [f"{each}-own" for each in spaces]}
    with ExitStack() as stack:
        for each in spaces[:2]:
            stack.enter_context(controlling(stage, each, **others))
        third = controller_for(stage, spaces[2], **others)
        third.start()
        for scaler in scalers.values():
            eventually(lambda one=scaler: one.condition("ScalingActive").get("status") == "True", SOON)
        third.kill()
        for web in webs.values():
            web.load = 3000
        for each in spaces[:2]:
            eventually(lambda one=webs[each]: one.replicas() == 10, SOON)
        assert webs[spaces[2]].replicas() == 2
        again = controller_for(stage, spaces[2], **others)
        with running(again):
            eventually(lambda: webs[spaces[2]].replicas() == 10, SOON)
        for each in spaces:
            assert scalers[each].condition("ScalingBlocked").get("reason") != "OtherLeader", each


def test_of_two_installations_for_one_namespace_one_holds(stage: Stage, namespace: str) -> None:
    """Both say so. The later one by name scales nothing down; the other does."""
    web = Workload(stage, namespace, load=3000).create(2)
    web.autoscaler(*WPA, watermarks())
    spaces = [f"{namespace}-{name}" for name in ("first", "second")]
    with ExitStack() as stack:
        hypots = []
        for each, other in zip(spaces, reversed(spaces), strict=True):
            config = {"watchNamespaces": [namespace], "leaseNamespaces": [f"{other}-own"]}
            hypots.append(stack.enter_context(controlling(stage, each, **config)))
        for hypot in hypots:
            (line,) = eventually(lambda one=hypot: one.lines("another hypot acts here too"), 90)
            assert line["scales_down"] == f"{spaces[0]}-own"
        eventually(lambda: web.replicas() == 10, SOON)
        web.load = 400
        eventually(lambda: web.replicas() < 10, SOON)
