"""What holds for lists that are kept in blocks: they are what a list is that is made anew."""

import json
from datetime import datetime
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from hypot.metricsapi.ages import Ages
from hypot.metricsapi.serve import lists
from hypot.metricsapi.serve.query import read_query
from hypot.metricsapi.serve.values import ServedValues
from unit.metricsapi.pods_world import AHEAD, DEPTH, RATE, add, pod, rule, scraped, targets_of

AGES = Ages()
NAMES = [f"web-{i}" for i in range(9)]
FIRST = rule("first", RATE, DEPTH, pods={"matchLabels": {"tier": "1"}})
SECOND = rule("second", {"counter": "other_total", "names": ["requests_per_second"]}, pods={})
CUSTOM = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/requests_per_second"
EXTERNAL = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"
QUERIES = [
    *(read_query(CUSTOM, {"labelSelector": selector}) for selector in ("", "tier=1", "tier!=1")),
    read_query(CUSTOM.replace("v1beta2", "v1beta1"), {}),
    read_query(EXTERNAL, {"labelSelector": "tier=1"}),
]
events = st.sampled_from(["sampled", "sampled", "sampled", "added", "deleted", "replaced", "relabelled", "unchanged"])
steps = st.lists(st.tuples(events, st.sampled_from(NAMES), st.sampled_from([0, 1, 11, 45])), max_size=40)


def happens(targets, event, name, now):
    known = {target.pod.name: target.pod for target in targets}.get(name)
    if event == "sampled":
        for target in targets:
            if target.pod.name == name:
                target.sampled(scraped(now, *[now * 10] * len(target.rule.wanted)), AGES)
    elif known is None:
        add(targets, pod(name, uid=f"uid-{now}", labels={"tier": str(len(name + str(now)) % 2)}))
    elif event == "deleted":
        targets.update(("shop", name), None, None)
    elif event == "replaced":
        add(targets, known._replace(uid=f"uid-{now}"))
    elif event == "relabelled":
        add(targets, known._replace(labels={"tier": "2" if known.labels["tier"] == "1" else "1"}))
    else:
        add(targets, known)


def body(values, query):
    return b"".join(values.answer(query))


@given(steps)
def test_a_kept_list_is_as_one_that_is_made_anew(several):
    """After any change of its pods, in the same order, and without a value that is too old."""
    with patch.object(lists, "BLOCK", 2):
        targets, clock = targets_of(FIRST, SECOND, pods=[pod(name, labels={"tier": "1"}) for name in NAMES[:6]]), [0.0]
        for name in [*NAMES[:6], *NAMES[:6]]:
            happens(targets, "sampled", name, clock[0])
            clock[0] += 5
        kept = ServedValues(targets, AGES, lambda: clock[0])
        for event, name, passed in several:
            now = clock[0] = clock[0] + passed
            happens(targets, event, name, now)
            for query in QUERIES:
                found = body(kept, query)
                for target in targets:
                    target.made.clear()
                assert found == body(ServedValues(targets, AGES, lambda: clock[0]), query)
                for item in json.loads(found)["items"]:
                    assert now + AHEAD - datetime.fromisoformat(item["timestamp"]).timestamp() < AGES.oldest + 1
                    described = item.get("describedObject") or {"name": item["metricLabels"]["pod"]}
                    assert described["name"] in {target.pod.name for target in targets}
