"""What an Hvpa allows a plan to do: the total's direction, each step's direction, and the containers and resources."""

import pytest

from builders import NOW
from hypot.policy.model.decision import Decision, Name
from hypot.policy.model.plan import EvictPod, Plan, ScaleTo
from hypot.policy.model.size import Size
from hypot.policy.plan.rights import entitled, outgrown, withdrawn
from unit.policy.hvpa.hvpa_cases import policy, vpa
from unit.policy.hvpa.hvpa_world import hvpa, scale

OFF = scale("Off")
EVICT, FEWER, MORE = EvictPod("web-0", "u0", "why"), ScaleTo(2, 4), ScaleTo(4, 2)
UP, DOWN = "scaling up is switched off", "scaling down is switched off"
RESIZE = "hypot.dev/resize"


def plan(before, after):
    """From a number of pods with these millicores and megabytes to another."""
    old, new = ((Size("app", {"cpu": cpu, "memory": memory * 10**6}),) for _, cpu, memory in (before, after))
    return Plan(
        after[0], new, NOW, waits=True, resizing="InPlaceOrRecreate", before_replicas=before[0], before_sizes=old
    )


# In total: more with fewer pods, less with fewer, less with more, and more of one resource only.
LARGER, FEW = plan((4, 200, 200), (2, 600, 600)), plan((4, 400, 400), (2, 500, 500))
MANY, MIXED = plan((2, 1000, 1000), (4, 400, 400)), plan((4, 200, 200), (4, 300, 100))


@pytest.mark.parametrize(
    ("made", "step", "off", "why"),
    [
        (LARGER, EVICT, ["scaleUp"], UP),
        (LARGER, EVICT, ["scaleDown"], ""),
        (LARGER, FEWER, ["scaleUp"], UP),
        (LARGER, FEWER, ["scaleDown"], DOWN),
        (FEW, EVICT, ["scaleUp"], UP),
        (FEW, EVICT, ["scaleDown"], DOWN),
        (FEW, FEWER, ["scaleUp"], ""),
        (FEW, FEWER, ["scaleDown"], DOWN),
        (MANY, MORE, ["scaleUp"], UP),
        (MANY, EVICT, ["scaleUp"], ""),
        (MANY, MORE, ["scaleDown"], DOWN),
        (MIXED, EVICT, ["scaleUp"], UP),
        (MIXED, EVICT, ["scaleDown"], ""),
        (MIXED, EVICT, [], ""),
    ],
)
def test_each_step_needs_its_direction_and_that_of_the_whole(made, step, off, why):
    """More of one resource counts as scaling up, as in the decision."""
    assert withdrawn(hvpa(**dict.fromkeys(off, OFF)), made, [step], NOW) == why


@pytest.mark.parametrize(("off", "then", "why"), [("scaleDown", "scaleUp", UP), ("scaleUp", "scaleDown", DOWN)])
def test_a_direction_off_from_the_start_stops_nothing(off, then, why):
    """The decision did not need that direction; the direction it needed may still be switched off."""
    made = LARGER if off == "scaleDown" else FEW
    begun = entitled(made, hvpa(**{off: OFF}), NOW)
    for step in (EVICT, FEWER):
        assert withdrawn(hvpa(**{off: OFF}), begun, [step], NOW) == ""
        assert withdrawn(hvpa(**{off: OFF, then: OFF}), begun, [step], NOW) == why


def test_stabilisation_is_not_checked_again():
    """It starts with the plan."""
    assert withdrawn(hvpa(scaleUp=scale(stabilizationDuration="1h")), LARGER, [EVICT], NOW) == ""


@pytest.mark.parametrize(
    ("policy", "alone"),
    [
        ({"mode": "Off"}, True),
        ({"controlledResources": []}, True),
        ({"controlledResources": ["memory"]}, True),
        ({"controlledResources": ["cpu", "memory"]}, False),
        ({"minAllowed": {"cpu": "1m"}}, False),
    ],
)
def test_what_is_no_longer_sized_is_left_alone(policy, alone):
    """A container, or a resource of it that the plan changes."""
    rules = {"resourcePolicy": {"containerPolicies": [{"containerName": "app", **policy}]}}
    made = hvpa(vpa={"deploy": True, "template": {"spec": rules}})
    assert withdrawn(made, LARGER, [EVICT], NOW) == ("the size of app must not be changed any more" if alone else "")


@pytest.mark.parametrize("word", ["InPlace", "Template", "InPlaceOrRecreate", "in-place"])
def test_another_way_to_resize(word):
    """An unknown word counts as the default, as everywhere."""
    reported = withdrawn(hvpa(annotations={RESIZE: word}), LARGER, [], NOW)
    assert reported == (f"{RESIZE} is {word} now, and was InPlaceOrRecreate" if word in {"InPlace", "Template"} else "")


@pytest.mark.parametrize("message", ["up", [1], ["both"], None])
def test_closed_directions_that_are_invalid(message):
    """The plan is read as a whole or not at all."""
    made = entitled(LARGER, hvpa(scaleDown=OFF), NOW)
    assert made.closed == ("down",)
    assert Plan.from_dict(made.to_dict()) == made
    with pytest.raises(ValueError, match="closed"):
        Plan.from_dict({**made.to_dict(), "closed": message})


@pytest.mark.parametrize(("replicas", "cpu", "more"), [(3, 150, False), (5, 170, False), (5, 180, True)])
def test_what_is_not_sized_does_not_outgrow_a_plan(replicas, cpu, more):
    """For an Hvpa of cpu only, its pods' memory is no reason to abandon a plan that has no memory."""
    only_cpu = hvpa(vpa=vpa(policy(controlledResources=["cpu"])))
    size, had = (Size("app", {"cpu": amount}) for amount in (200, 100))
    made = Plan(4, (size,), NOW, waits=False, resizing="InPlaceOrRecreate", before_replicas=4, before_sizes=(had,))
    name = Name(only_cpu.API_VERSION, only_cpu.KIND, "shop", "web")
    sizes = [(Size("app", {"cpu": amount, "memory": 10**9}),) for amount in (100, cpu)]
    newer = Decision(name, name, NOW, 4, replicas, "", (), (), (), sizes=sizes[0], desired_sizes=sizes[1])
    assert outgrown(only_cpu, made, newer) is more
