"""What holds for every schedule: no target waits too long, and none is scraped that is gone or has to pause."""

from hypothesis import given
from hypothesis import strategies as st

from hypot.metricsapi.scrape.schedule import Schedule, is_slow, pause_of
from unit.metricsapi.pods_world import add, pod, targets_of

PERIOD = 60.0
changes = st.sampled_from(["none", "none", "none", "none", "add", "remove", "fail", "recover"])


@given(st.integers(0, 12), st.lists(st.tuples(st.floats(0.1, 20), changes, st.integers(0, 11)), max_size=60))
def test_each_in_its_time(count, steps):
    """A target that answers is scraped once a period at least, and one that fails not before its pause is over."""
    targets = targets_of(pods=[pod(f"web-{i}") for i in range(count)])
    schedule, now = Schedule(PERIOD, targets.__len__), 0.0
    schedule.add(targets)
    failing = set()
    for i, (seconds, change, which) in enumerate(steps):
        now += seconds
        several = list(targets)
        if change == "add":
            schedule.add(add(targets, pod(f"new-{i}")))
        elif change == "remove" and several:
            gone = several[which % len(several)]
            targets.update((gone.pod.namespace, gone.pod.name), None, None)
        elif change == "fail" and several:
            failing.add(several[which % len(several)])
        elif change == "recover":
            failing.clear()
        while True:
            began = {target: target.began for target in targets}
            target = schedule.next(now)
            if target is None:
                break
            assert not target.gone
            if is_slow(target):
                assert now >= began[target] + PERIOD * pause_of(target.faults)
            target.faults = max(target.faults + 1, 4) if target in failing else 0
            schedule.add([target])
        for target in targets:
            assert target.began is not None
            assert now - target.began < PERIOD * pause_of(target.faults)
        assert schedule.due(now) == 0
