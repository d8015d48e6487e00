"""What holds for every external metric: the command line reads the same sum as the controller."""

from hypothesis import example, given
from hypothesis import strategies as st

from hypot.core.instant import show_time
from hypot.policy.model.seen import Failure
from hypot.policy.observe.answered import Answered
from hypot.policy.observe.metric_queries import external_query
from hypot.policy.observe.read_values import MetricValues
from unit.policy.sizes_world import NAMESPACE
from unit.run.run_world import NOW

labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"))
values = st.sampled_from(["0", "1", "1500m", "-2", "much"])
times = st.sampled_from([None, show_time(NOW - 30), show_time(NOW)])
series = st.builds(
    lambda value, labels, at: {"metricName": "queue", "metricLabels": labels, "value": value, "timestamp": at},
    values,
    labels,
    times,
)
answers = st.lists(series, min_size=1, max_size=5)
ONE = {"metricName": "queue", "metricLabels": {}, "value": "1", "timestamp": None}


def by_run(items):
    query = external_query("queue", None, NAMESPACE)
    return Answered({query: tuple(items)}).external("queue", None, NAMESPACE)


def by_decide(*lists):
    values = MetricValues()
    for items in lists:
        values.add_external(items)
    return values.external("queue", None, NAMESPACE)


def shown(found):
    return found if isinstance(found, Failure) else sorted(found)


@given(answers)
@example([ONE, ONE])
def test_both_read_the_same_values(items):
    """All series of an answer count, also those with equal labels."""
    assert shown(by_decide(items)) == shown(by_run(items))


@given(st.lists(answers, min_size=1, max_size=3), st.randoms())
def test_an_answer_that_comes_again_changes_nothing(lists, random):
    """A dump may contain one answer several times, with its series in any order."""
    again = random.sample(lists[-1], len(lists[-1]))
    assert shown(by_decide(*lists, again)) == shown(by_decide(*lists))
