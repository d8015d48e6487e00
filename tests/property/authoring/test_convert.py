"""Every conversion gives valid objects with notes, or a reason."""

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot import from_yaml, to_yaml
from hypot.authoring.convert.convert import KINDS, convert
from hypot.authoring.convert.result import CannotConvertError, TargetWorkload
from property.authoring.objects import manifests

WORKLOADS = [TargetWorkload(), TargetWorkload(3, {"app": {"cpu": 1000, "memory": 2**30 * 1000}})]


def converted(one, to, workload):
    """The result, or the reason why there is none."""
    try:
        return convert(one, to, workload), ""
    except CannotConvertError as error:
        return None, str(error)


@settings(max_examples=400)
@given(manifests, st.sampled_from(list(KINDS)), st.sampled_from(WORKLOADS))
def test_a_conversion_is_valid_or_refused_with_a_reason(data, to, workload):
    """Of any sound manifest of any kind, to any kind; nothing is converted silently."""
    (one,) = from_yaml(to_yaml(data))
    made, reason = converted(one, to, workload)
    if made is None:
        assert reason
        return
    assert made.notes
    assert isinstance(made.objects[-1], KINDS[to])
    for each in made.objects:
        assert [str(p) for p in each.problems() if p.severity == "error"] == []
        assert each.namespace == one.namespace
