"""Lists that are kept: what is made anew, and what is dropped."""

import pytest

from hypot.metricsapi.ages import Ages
from hypot.metricsapi.serve import lists as module
from hypot.metricsapi.serve.lists import ListChoice, ListItem, Lists
from hypot.metricsapi.serve.query import read_query
from unit.metricsapi.pods_world import pod, scraped, targets_of

PATH = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/requests_per_second"


def query(selector=""):
    return read_query(PATH, {"labelSelector": selector})


class Asked:
    """Lists of some pods, and what was done to answer."""

    def __init__(self, count=4, size=1):
        self.lists, self.size = Lists(), size
        self.targets = list(targets_of(pods=[pod(f"web-{i}") for i in range(count)]))
        self.written, self.chosen, self.until = [], 0, 90.0

    def write(self, choice, now):
        self.written.append(choice.target.pod.name)
        return ListItem(self.until, b"x" * self.size) if now <= self.until else None

    def choose(self):
        self.chosen += 1
        return [ListChoice(target, 0) for target in self.targets]

    def ask(self, now=0.0, selector="", generation=1):
        self.written = []
        return self.lists.texts(query(selector), now, (generation,), self.choose, self.write)


def test_only_the_block_of_a_new_sample_is_made_anew(monkeypatch):
    """The others are sent as they are."""
    monkeypatch.setattr(module, "BLOCK", 2)
    asked = Asked()
    assert asked.ask() == [b"x,x", b"x,x"]
    assert (len(asked.written), asked.ask(), asked.written) == (4, [b"x,x", b"x,x"], [])
    asked.targets[2].sampled(scraped(1.0, 1), Ages())
    asked.ask()
    assert asked.written == ["web-2", "web-3"]


def test_a_value_that_is_too_old_is_not_sent():
    """Without any change of the pods."""
    asked = Asked()
    assert (asked.ask(90.0), asked.ask(90.1)) == ([b"x,x,x,x"], [])


def test_another_generation_chooses_again():
    asked = Asked()
    for generation in (1, 1, 2):
        asked.ask(generation=generation)
    assert asked.chosen == 2


@pytest.mark.parametrize(("limit", "value"), [("MOST_LISTS", 3), ("MOST_BYTES", 3 * 14_500)])
def test_the_least_recently_used_list_is_dropped(monkeypatch, limit, value):
    """Their number is bounded, and their size."""
    monkeypatch.setattr(module, limit, value)
    asked = Asked(count=1, size=10_000)
    for selector in ("a", "b", "c", "a", "d"):
        asked.ask(selector=selector)
    assert len(asked.lists) == 3
    assert (asked.ask(selector="a"), asked.written) == ([b"x" * 10_000], [])
    asked.ask(selector="b")
    assert asked.written == ["web-0"]


def test_a_list_that_is_not_used_is_dropped():
    """Its autoscaler is gone."""
    asked = Asked()
    asked.ask(0.0, "a")
    asked.ask(module.UNUSED_AFTER + 1, "b")
    assert len(asked.lists) == 1
    assert asked.lists._size == asked.lists._kept[query("b")].size


def test_one_list_may_be_larger_than_the_limit(monkeypatch):
    """Else it would be made anew for each request."""
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    asked = Asked()
    asked.ask()
    assert (asked.ask(), asked.written) == ([b"x,x,x,x"], [])
