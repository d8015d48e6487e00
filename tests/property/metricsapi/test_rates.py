"""What holds for every counter of a pod: the served rate is one that it can have had."""

from hypothesis import given
from hypothesis import strategies as st

from hypot.metricsapi.ages import Ages
from unit.metricsapi.pods_world import AHEAD, add, only, pod, scraped, targets_of

AGES = Ages()
HIGHEST = 1000.0
# Seconds, requests per second, and what happens at the end of them.
events = st.sampled_from(["scrape", "scrape", "scrape", "scrape", "restart", "replaced", "relabelled"])
steps = st.lists(st.tuples(st.floats(0.1, 700), st.floats(0, HIGHEST), events), max_size=15)


@given(steps)
def test_the_rate_is_one_that_the_pod_had(several):
    """It is never negative, and never above the true one: neither after a restart, nor for another pod."""
    targets, now, count, last = targets_of(pods=[pod()]), 0.0, 0.0, None
    for i, (seconds, rate, event) in enumerate(several):
        now, count = now + seconds, count + seconds * rate
        if event == "scrape":
            only(targets).sampled(scraped(now, count), AGES)
        elif event == "restart":
            count = 0.0
        elif event == "replaced":
            count, last = 0.0, None
            add(targets, pod(uid=f"uid-{i}"))
        else:
            add(targets, only(targets).pod._replace(labels={"app": "web", "i": str(i)}))
        value = only(targets).value(0, now, AGES)
        if value is not None:
            assert 0 <= value.milli <= HIGHEST * 1000 + 1
            assert AGES.least_gap <= value.window <= AGES.longest_gap
            assert -1e-3 <= now - (value.at - AHEAD) <= AGES.oldest + 1e-3
            assert last is None or value.at >= last
            last = value.at
        assert value is None or now <= only(targets).expires(0, AGES)
