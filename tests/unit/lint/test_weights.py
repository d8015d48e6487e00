"""The interval form of a weight-based Hvpa: the printed form can be loaded, and means the same."""

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.hvpa import Hvpa
from hypot.kinds.pod_template import Template, TemplateContainer
from hypot.lint import check
from hypot.lint.rules.weights import Stretch, interval_form, stretches
from unit.lint.lint_cases import changed, container, hpa_block, vpa_block, weighted, workload
from unit.policy.hvpa.hvpa_cases import RELEASED, manifest

HALF = {"cpu": "500m", "memory": "512Mi"}
LARGEST = {"maxAllowed": {"cpu": "2", "memory": "4Gi"}}


def template(**containers):
    return Template({}, tuple(TemplateContainer(name, requests) for name, requests in containers.items()))


def formed(data, pods=None):
    """The printed form, read again."""
    return Hvpa.from_dict(yaml.safe_load(interval_form(Hvpa.from_dict(data), pods)))


def errors(hvpa):
    return [problem for problem in hvpa.problems() if problem.severity == "error"]


def rows(hvpa):
    return [(one.max_replicas, dict(one.max_resources), one.extrapolation) for one in hvpa.intervals]


def test_weights_of_nothing_and_of_all():
    """Weight 0 keeps the current size, weight 100 ends at the largest allowed size."""
    made = formed(weighted(), template(app=HALF))
    assert rows(made) == [
        (3, HALF, "horizontalOnly"),
        (4, {"cpu": 2, "memory": "4Gi"}, None),
    ]
    assert made.problems() == ()


def test_only_the_count_changes_at_the_size_that_was_reached():
    """Pods that were raised before keep the largest size."""
    made = formed(weighted((100, 2, 2), (0, 3, 4)), template(app=HALF))
    largest = {"cpu": 2, "memory": "4Gi"}
    assert rows(made) == [(2, largest, None), (4, largest, "horizontalOnly")]
    assert errors(made) == []


def test_a_weight_in_between_grows_both_ways():
    """No interval blends both; counts and sizes rise together up to the largest total."""
    assert rows(formed(weighted((50, 2, 4)), None)) == [(4, {"cpu": 2, "memory": "4Gi"}, None)]


def test_released_manifest_loses_nothing_and_gains_intervals():
    """The fields of the blocks move to the top level, and the completed form has no errors."""
    data = manifest(RELEASED)
    data["spec"]["vpa"]["template"]["spec"]["resourcePolicy"]["containerPolicies"][0]["maxAllowed"]["cpu"] = "4"
    made = formed(data, template(app=HALF))
    assert errors(made) == []
    assert {problem.rule for problem in made.problems()} == set()
    assert (made.weights, made.hpa.scale_up, made.vpa.scale_down, made.vpa.limits_gap) == (None, None, None, None)
    assert made.limits_gap.cpu.percentage == 40
    assert made.hpa_spec.metrics == Hvpa.from_dict(data).hpa_spec.metrics
    assert rows(made)[0] == (4, HALF, "horizontalOnly")


def test_of_two_modes_the_safer_is_kept():
    """Going up the freer mode, so that no pod waits longer; going down the stricter mode."""
    made = formed(manifest(RELEASED))
    assert (made.scale_up.mode, made.scale_down.mode) == ("Auto", "Off")
    assert made.scale_up.stabilization == "2m"
    assert made.scale_up.min_change.cpu.percentage == 80


def test_unknown_sizes_are_left_to_fill_in():
    """A placeholder is refused until the user fills it in, and the comment says what belongs there."""
    text = interval_form(Hvpa.from_dict(weighted(vpa=vpa_block())), None)
    assert text.count("<current request>  # fill in") == 2
    assert text.count("<largest size>  # fill in") == 2
    assert {problem.rule for problem in errors(Hvpa.from_dict(yaml.safe_load(text)))} == {"quantity"}


def test_pods_without_a_request():
    """A missing request is left to fill in manually, a given request is used."""
    text = interval_form(Hvpa.from_dict(weighted()), template(app={"cpu": "500m"}))
    assert "cpu: 500m\n      memory: <current request>" in text


def test_unknown_last_count():
    """Without a maxReplicas the user has to write it."""
    block = hpa_block()
    del block["template"]["spec"]["maxReplicas"]
    open_end = changed(weighted((100, 2, 0)), "spec", "hpa", to=block)
    assert "maxReplicas: <most replicas>  # fill in" in interval_form(Hvpa.from_dict(open_end), None)


def test_containers_that_are_not_sized_do_not_count():
    """A container that is off, or a resource that is not controlled, makes no interval larger."""
    policies = {"containerName": "*", "mode": "Off"}, {"controlledResources": ["cpu"]} | LARGEST
    made = formed(weighted(vpa=vpa_block(*policies)), template(app=HALF, proxy={"cpu": "8", "memory": "8Gi"}))
    assert rows(made)[0] == (3, {"cpu": "500m"}, "horizontalOnly")
    assert errors(made) == []


def test_containers_of_several_sizes_are_reported():
    """An interval has one size for all of them, so the form says how to keep some small."""
    text = interval_form(Hvpa.from_dict(weighted()), template(app=HALF, proxy={"cpu": "50m", "memory": "64Mi"}))
    assert "# app and proxy all get this size; write maxAllowed or mode Off" in text


def test_current_size_is_brought_within_bounds():
    """A size that the policy does not allow would be refused."""
    bounds = {"minAllowed": {"cpu": "1"}, "maxAllowed": {"cpu": "2", "memory": "256Mi"}}
    made = formed(weighted(vpa=vpa_block(bounds)), template(app=HALF))
    assert rows(made)[0] == (3, {"cpu": 1, "memory": "256Mi"}, "horizontalOnly")
    assert errors(made) == []


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([(0, 2, 2), (100, 4, 4)], [Stretch(0, 3), Stretch(100, 4)]),
        ([(100, 3, 3)], [Stretch(100, 4)]),
        ([(0, 2, 3), (100, 2, 4)], [Stretch(0, 3), Stretch(100, 4)]),
        ([(0, 2, 3), (0, 4, 4)], [Stretch(0, 4)]),
        ([(0, 0, 0)], [Stretch(0, 4)]),
        ([(0, 2, 3), (100, 4, 6)], [Stretch(0, 3), Stretch(100, 6)]),
    ],
)
def test_every_count_has_one_weight(weights, expected):
    """Gaps belong to the counts below them, and of weights that share a count the first applies."""
    assert stretches(Hvpa.from_dict(weighted(*weights))) == expected


def test_what_the_cluster_added_is_left_out():
    """A dump becomes a manifest again."""
    dumped = weighted()
    dumped["metadata"] |= {
        "uid": "d3a2b714",
        "resourceVersion": "7",
        "labels": {"app": "web"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    assert formed(dumped).metadata == {"name": "web", "namespace": "shop", "labels": {"app": "web"}}


def test_finding_shows_the_form_for_the_given_workload():
    """The hint is the form, with the sizes of the given pods."""
    (found,) = [one for one in check(weighted(), workload("web", container())).findings if one.rule == "weight-based"]
    message, _, form = found.hint.partition("\n")
    assert message == "write scalingIntervals, which depend on the total only:"
    assert rows(Hvpa.from_dict(yaml.safe_load(form)))[0] == (3, HALF, "horizontalOnly")
    assert check(yaml.safe_load(form), workload("web", container())).findings == ()


COUNTS = st.none() | st.integers(-2, 30)
WEIGHTS = st.lists(st.tuples(st.none() | st.integers(-5, 120), COUNTS, COUNTS), min_size=1, max_size=4)
AMOUNT = st.sampled_from([None, "0", "1", "500m", "64Mi", "much", 3])
BOUNDS = st.fixed_dictionaries({"cpu": AMOUNT, "memory": AMOUNT})


@settings(max_examples=200, deadline=None)
@given(weights=WEIGHTS, low=BOUNDS, high=BOUNDS, asked=BOUNDS, most=COUNTS)
def test_any_weights_have_a_form(weights, low, high, asked, most):
    """For any input, the form is YAML that holds an Hvpa with intervals."""
    policy = {"minAllowed": low, "maxAllowed": high}
    data = weighted(*weights, hpa=hpa_block(maxReplicas=most), vpa=vpa_block(policy))
    assert formed(data, template(app={key: value for key, value in asked.items() if value is not None})).intervals


@settings(max_examples=200, deadline=None)
@given(weights=st.lists(st.integers(0, 100), min_size=1, max_size=4), size=st.integers(100, 2000))
def test_known_sizes_give_a_form_without_errors(weights, size):
    """For any order of weights, totals rise from each interval to the next."""
    data = weighted(*((weight, i + 2, i + 2) for i, weight in enumerate(weights)), vpa=vpa_block(LARGEST))
    assert errors(formed(data, template(app={"cpu": f"{size}m", "memory": f"{size}Mi"}))) == []
