"""The VPA updater's cases: which pods need another size, in which order, and whether they may be disrupted."""

import pytest

from conformance.harness import each_case
from conformance.vpa.cases import bounds, pod, policy
from hypot.kinds.vpa.fields import IN_PLACE, EvictionRequirement
from hypot.kinds.vpa.knobs import Knobs
from hypot.policy.model.seen import Container, Controller, Ended, Owner, Pod
from hypot.policy.observe.read_pods import read_resize
from hypot.policy.vertical.budget import DisruptionBudget
from hypot.policy.vertical.need import (
    Priority,
    admits,
    in_order,
    needs_update,
    observed_containers,
    priority,
    quick_oom,
)
from hypot.policy.vertical.resize import asks_less, in_place, key_of, resize_obstacle, still_waiting, unevictable

NOW = 1_800_000_000.0
YEAR_ONE = -62135596800.0
OWNER = Owner("", "owner")
# If the gate of the mode InPlace is closed, no resize is possible, as in clusters that do not support it yet.
WITH_GATE, WITHOUT_GATE = (1, 36), (1, 32)
DECISIONS = {
    "approved": "InPlaceApproved",
    "deferred": "InPlaceDeferred",
    "evict": "InPlaceEvict",
    "infeasible": "InPlaceInfeasible",
    "infeasible-cached": "InPlaceInfeasibleCached",
}
RESIZES = {
    None: "ResizeNone",
    "deferred": "ResizeDeferred",
    "infeasible": "ResizeInfeasible",
    "in-progress": "ResizeInProgress",
    "error": "ResizeError",
    "unknown": "ResizeUnknown",
}


@each_case("vpa_updater.json")
def test_vpa_updater(case):
    """Each check before a pod is changed gives the expected result."""
    given, expect = case["given"], case["expect"]
    check = CHECKS.get(given["function"], disruption)
    if "pods" not in given and check is disruption:
        pytest.fail(f"unknown function {given['function']}")
    check(given, expect)


def annotated(given):
    one = pod(given)
    return Pod(one.name, containers=one.containers, annotations=given.get("annotations") or {})


def ranked(given, expect):
    one = annotated(given["pod"])
    found = priority(one, bounds(given["recommendation"]), observed_containers(one))
    assert found.resource_diff == pytest.approx(expect.get("resource_diff", found.resource_diff), abs=1e-4)
    assert found.outside_range == expect.get("outside_recommended_range", found.outside_range)
    assert found.scale_up == expect.get("scale_up", found.scale_up)


def rank(given):
    return Priority(given["outside_recommended_range"], given["scale_up"], given["resource_diff"])


def knobs(config):
    return Knobs(
        update_threshold=config["min_change_priority"],
        lifetime_threshold=config["pod_lifetime_update_threshold_seconds"],
        evict_after_oom=config["evict_after_oom_threshold_seconds"],
    )


def ended(given):
    last = given.get("last_termination")
    if last is None:
        return None
    started, finished = (NOW - last[f"{word}_seconds_before_now"] for word in ("started", "finished"))
    return Ended(last["reason"], started, finished)


def ordered(given, expect):
    """The queue of pods; each case gives their priorities."""
    setup = knobs(given["config"])
    policies = {"container_policies": given["container_policies"]} if "container_policies" in given else None
    wanting = []
    for one in given["pods"]:
        containers = tuple(Container(s["container"], ended=ended(s)) for s in one.get("container_statuses") or ())
        known = Pod(one["name"], containers=containers, annotations=one.get("annotations") or {})
        killed = quick_oom(known, observed_containers(known), policy(policies), setup.evict_after_oom)
        own = rank(one["priority"])
        admitted = given["eviction_admission"] in {"admit_all", f"only_{one['name']}"}
        if admitted and needs_update(own, killed, given["pod_age_seconds"], setup).wanted:
            wanting.append((own, one["name"]))
    assert [name for _, name in sorted(wanting, key=lambda each: in_order(*each))] == expect["update_order"]


def compared(given, expect):
    own, other = in_order(rank(given["priority"]), ""), in_order(rank(given["other"]), "")
    assert (other < own) == expect["priority_less_than_other"]
    assert (own < other) == expect["other_less_than_priority"]


def requests_of(given):
    return {each.container: each.target for each in bounds(given)}


def lower_than_refused(given, expect):
    asks = asks_less(bounds(given["new_recommendation"]), requests_of(given["last_attempt"]))
    assert asks == expect["has_lower_resource"]


def queued(given, expect):
    """A pod is skipped where a resize in place would be: the record of refused sizes is read there."""
    need = needs_update(rank(given["priority"]), None, given["pod_age_seconds"], knobs(given["config"]))
    last = given["last_infeasible_attempt"]
    one, budget = (
        Pod("pod", owners=(OWNER,)),
        DisruptionBudget.of([Pod("pod", owners=(OWNER,))], {}, minimum=1, tolerance=1),
    )
    verdict = in_place(
        one,
        bounds(given["processed_recommendation"]),
        budget,
        given["update_mode"],
        since=NOW,
        now=NOW,
        refused=None if last is None else requests_of(last),
    )
    assert (need.wanted and verdict.decision != "infeasible-cached") == expect["queued_for_update"]


def admitted(given, expect):
    written = given["eviction_requirements"]
    requirements = None if written is None else requirements_of(written)
    assert admits(pod(given["pod"]), bounds(given["recommendation"]), requirements) == expect["admitted"]


def requirements_of(written):
    names = {"resources": "resources", "change_requirement": "changeRequirement"}
    return tuple(EvictionRequirement.read({names[key]: value for key, value in one.items()}) for one in written)


def resize_state(given, expect):
    resize = read_resize(given["pod_conditions"])
    assert RESIZES[resize and resize.state] == expect["resize_status"]


def seconds(given):
    return YEAR_ONE if given == "go_zero_time" else given


def live_pod(index, given, owner):
    containers = tuple(
        Container(
            one["name"],
            restarts_on_resize=frozenset(
                entry["resource"]
                for entry in one.get("resize_policy") or ()
                if entry["restart_policy"] == "RestartContainer"
            ),
        )
        for one in given.get("containers") or ()
    )
    return Pod(
        f"pod-{index}",
        phase=given.get("phase", "Running"),
        containers=containers,
        owners=(owner,),
        annotations=given.get("annotations") or {},
        resize=read_resize(given.get("conditions")),
    )


class World:
    """The pods of one controller, and the checks of an updater on them."""

    def __init__(self, given):
        owner = Owner(given["controller_kind"], "owner")
        self.given, self.mode = given, given["update_mode"]
        self.pods = [live_pod(index, one, owner) for index, one in enumerate(given["pods"])]
        checked = given.get("update_mode_used_for_replica_check", self.mode)
        self.spares = given.get("in_place_skip_disruption_budget", False)
        self.budget = DisruptionBudget.of(
            self.pods,
            {owner: Controller(*owner, given["replicas"])},
            minimum=given.get("vpa_min_replicas") or given["global_min_replicas"],
            tolerance=given["eviction_tolerance_fraction"],
            spares_minimum=self.spares and checked.startswith(IN_PLACE),
        )
        self.now = seconds(given.get("now_unix_seconds", NOW))
        last = seconds(given.get("last_in_place_attempt_unix_seconds"))
        stuck = {} if last is None else {key_of(one): last for one in self.pods}
        self.waiting = still_waiting(self.pods, stuck, self.now)

    def since(self, one):
        return self.waiting.get(key_of(one), self.now)

    def decision(self, one):
        version = WITH_GATE if self.given.get("in_place_feature_gate", True) else WITHOUT_GATE
        if self.mode == IN_PLACE and resize_obstacle(one, (), version):
            return DECISIONS["deferred"]
        recommended = self.given.get("recommendation", [])
        last = self.given.get("last_infeasible_recommendation_of_tested_pod")
        verdict = in_place(
            one,
            None if recommended is None else bounds(recommended),
            self.budget,
            self.mode,
            since=self.since(one),
            now=self.now,
            refused=None if last is None else requests_of(last),
            spares_budget=self.spares,
        )
        return DECISIONS[verdict.decision]

    def can_evict(self, one):
        return unevictable(one, self.budget, since=self.since(one), now=self.now) is None

    def evict(self, one):
        if not self.can_evict(one):
            return False
        self.budget = self.budget.after_evicting(one)
        return True

    def resize(self, one):
        """Only the write, which needs a group but no budget."""
        self.budget, counted = self.budget.after_resizing(one), self.budget.uncounted(one) is None
        return counted

    def decide_and_resize(self, one):
        found = self.decision(one)
        self.resize(one)
        return found

    def resize_if_approved(self, one):
        return self.decision(one) == DECISIONS["approved"] and self.resize(one)


def disruption(given, expect):
    """Checks before any action, then actions one after the other, then checks again."""
    world = World(given)
    pods = world.pods
    tested = pods[given["tested_pod_index"]] if "tested_pod_index" in given else None
    questions = {
        "can_evict_before_any_eviction": lambda: [world.can_evict(one) for one in pods],
        "in_place_decision_before_any_update": lambda: [world.decision(one) for one in pods],
        "decision": lambda: world.decision(tested),
        "in_place_update_succeeds": lambda: world.resize(tested),
        "evict_in_turn_succeeds": lambda: [world.evict(one) for one in pods],
        "in_place_update_in_turn_succeeds": lambda: [world.resize(one) for one in pods],
        "decision_checked_in_turn_with_update_after_each": lambda: [world.decide_and_resize(one) for one in pods],
        "pods_approved_and_updated_in_turn": lambda: sum([world.resize_if_approved(one) for one in pods]),
        "can_evict_after_update": lambda: [world.can_evict(one) for one in pods],
        "evict_succeeds": lambda: [world.evict(one) for one in pods],
    }
    at_least = {"in_place_update_must_succeed", "in_place_update_in_turn_succeeds_for_first"}
    assert set(expect) <= {*questions, *at_least, "note"}
    for key, question in questions.items():
        if key in expect:
            assert question() == expect[key], key
    if "in_place_update_must_succeed" in expect:
        assert all(
            world.resize(one) for one, must in zip(pods, expect["in_place_update_must_succeed"], strict=True) if must
        )
    if "in_place_update_in_turn_succeeds_for_first" in expect:
        assert all(
            world.resize_if_approved(one) for one in pods[: expect["in_place_update_in_turn_succeeds_for_first"]]
        )


CHECKS = {
    "get_update_priority": ranked,
    "get_update_priority_no_recommendation_for_container": ranked,
    "get_update_priority_vpa_observed_containers": ranked,
    "sort_priority": ordered,
    "sort_priority_resources_decrease": ordered,
    "update_not_required": ordered,
    "use_processor": ordered,
    "update_longlived_pods": ordered,
    "update_shortlived_pods": ordered,
    "update_pod_with_quick_oom": ordered,
    "dont_update_pod_with_quick_oom_no_resource_change": ordered,
    "dont_update_pod_with_oom_after_long_run": ordered,
    "quick_oom_vpa_ovserved_containers": ordered,
    "quick_oom_container_resource_policy": ordered,
    "no_pods": ordered,
    "admission": ordered,
    "less_pod_priority": compared,
    "has_lower_resource_recommendation": lower_than_refused,
    "add_pod_with_infeasible_attempts": queued,
    "admit_for_single_container": admitted,
    "admit_for_multiple_container": admitted,
    "get_resize_status": resize_state,
}
