"""What holds for the governor with any history of wants, in one namespace and in several."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.policy.governor import WINDOW, Fleet, Governor, Running, Want, budget_of, govern, parts_of

often = settings(max_examples=200, deadline=None)
SPACES = ("shop", "pay", "tiny")
KEYS = {space: [("Hvpa", space, f"web-{i:02}") for i in range(30)] for space in SPACES}
amounts = st.sampled_from([0, 100, 1000, 5000, 60_000])


def wants_in(*spaces):
    keys = st.sampled_from([key for space in spaces for key in KEYS[space]])
    return st.lists(st.builds(Want, keys, amounts), max_size=30, unique_by=lambda want: want.key)


def reconciles_of(*spaces):
    seconds = st.sampled_from([1.0, 15.0, 15.0, 60.0, 299.0, 300.0, 1000.0])
    return st.lists(st.tuples(seconds, wants_in(*spaces)), min_size=1, max_size=25)


running = st.builds(Running, st.sampled_from([0, 1, 9, 10, 30, 80]), st.sampled_from([0, 5000, 30_000, 200_000]))
capacities = st.sampled_from([None, 40_000, 10**9])
alone = st.builds(lambda one: Fleet({"shop": one}), running)
fleets = st.builds(lambda *each: Fleet(dict(zip(SPACES, each[:3], strict=True)), each[3]), *[running] * 3, capacities)


def charged(want, fleet):
    """The want with no more millicores than run in its namespace."""
    return want._replace(millicores=min(want.millicores, fleet.cores(want.key[1])))


def history(steps, fleet):
    """For each reconcile: its time, the wants, the admitted keys, and the state before and after."""
    state, now = Governor(), 1_000_000.0
    for seconds, asked in steps:
        now += seconds
        admitted, after = govern(state, asked, fleet, now)
        yield now, asked, admitted, state, after
        state = after


def windows(steps, fleet):
    """For each reconcile: the wants that were admitted in the window that ends with it."""
    log = []
    for now, asked, admitted, _, _ in history(steps, fleet):
        log += [(now, charged(want, fleet)) for want in asked if want.key in admitted]
        yield [want for at, want in log if at > now - WINDOW]


def is_within(window, number, millicores):
    """Whether both limits hold; one want that exceeds the cores is admitted without another that frees cores."""
    freed = [want.millicores for want in window if want.millicores]
    return len({want.key for want in window}) <= number and (sum(freed) <= millicores or len(freed) == 1)


def check_no_five_minutes_see_more_than_the_budget(steps, fleet):
    """The limits are workloads and cores."""
    budget = budget_of(*fleet.namespaces["shop"])
    assert all(is_within(window, *budget) for window in windows(steps, fleet))


def check_the_oldest_go_first(steps, fleet):
    """Every admitted want has waited at least as long as the others."""
    since = {}
    for now, asked, admitted, _, after in history(steps, fleet):
        since = {want.key: since.get(want.key, now) for want in asked}
        assert admitted <= since.keys()
        left = [since[key] for key in since.keys() - admitted]
        assert all(since[key] <= min(left, default=now) for key in admitted)
        assert {key for key, _ in after.waiting} == since.keys() - admitted
        for key in admitted:
            del since[key]


def check_nobody_starves(steps, fleet, last):
    """A repeated want is admitted, at the latest after one window for each want before it."""
    *_, (now, _, _, _, state) = history(steps, fleet)
    waiting = {want.key: want for want in last}
    for _ in range(len(last)):
        now += WINDOW
        admitted, state = govern(state, list(waiting.values()), fleet, now)
        assert admitted or not waiting
        for key in admitted:
            del waiting[key]
    assert not waiting


def check_a_clock_that_goes_back_gives_nothing(steps, fleet, back):
    """The result is the same as with a clock that stands still."""
    *_, (now, asked, _, _, state) = history(steps, fleet)
    assert govern(state, asked, fleet, now - back)[0] == govern(state, asked, fleet, now)[0]


def check_the_state_is_small_and_survives(steps, fleet):
    """It has at most one window and the current wants, and is the same after JSON."""
    for now, asked, _, _, after in history(steps, fleet):
        assert len(after.waiting) <= len(asked)
        assert all(one.at > now - WINDOW for one in after.admitted)
        assert Governor.from_dict(json.loads(json.dumps(after.to_dict()))) == after


@often
@given(reconciles_of("shop"), alone, wants_in("shop"), st.floats(0, 10_000))
def test_any_history_of_wants(steps, fleet, last, back):
    """One history serves all checks: drawing it takes much longer than governing."""
    check_no_five_minutes_see_more_than_the_budget(steps, fleet)
    check_the_oldest_go_first(steps, fleet)
    check_nobody_starves(steps, fleet, last)
    check_a_clock_that_goes_back_gives_nothing(steps, fleet, back)
    check_the_state_is_small_and_survives(steps, fleet)


# Several namespaces: no set of objects in one changes what another may do, except in the common part.


def own_part(fleet, space):
    """A tenth of what runs in the namespace, up to a tenth of all nodes; nothing else counts."""
    workloads, millicores = fleet.namespaces[space]
    return workloads // 10, min(millicores, millicores if fleet.capacity is None else fleet.capacity) // 10


def of(space, window):
    return [want for want in window if want.key[1] == space]


def check_no_other_namespace_uses_an_own_part(steps, fleet):
    """What waits does not fit the own part of its namespace, so others cannot make it wait."""
    for window, (_, asked, _, _, after) in zip(windows(steps, fleet), history(steps, fleet), strict=True):
        for space in SPACES:
            waiting = [key for key, _ in after.waiting if key[1] == space]
            if not waiting:
                continue
            used, (number, millicores) = of(space, window), own_part(fleet, space)
            first = next(charged(want, fleet) for want in asked if want.key == waiting[0])
            is_full = len({want.key for want in [*used, first]}) > number
            assert is_full or sum(want.millicores for want in [*used, first]) > millicores


def check_no_namespace_uses_more_than_its_own_and_the_common_part(steps, fleet):
    """Also not all together; one want that fits no part is admitted if the common part is unused."""
    own, common = parts_of(fleet)
    for window in windows(steps, fleet):
        largest = max([want.millicores for want in window], default=0)
        for spaces in (*[(space,) for space in SPACES], SPACES):
            theirs = [want for want in window if want.key[1] in spaces]
            number = sum(own[space].number for space in spaces) + max(common.number, 1)
            millicores = sum(own[space].millicores for space in spaces) + max(common.millicores, largest)
            assert len({want.key for want in theirs}) <= number
            assert sum(want.millicores for want in theirs) <= millicores


def check_each_namespace_gets_a_turn(steps, fleet, mine, theirs):
    """One that waits goes after at most one turn of each other namespace, whatever they ask for again and again."""
    *_, (now, _, _, _, state) = history(steps, fleet)
    for _ in range(int((len(SPACES) + 1) * WINDOW / 60)):
        now += 60
        admitted, state = govern(state, [mine, *theirs], fleet, now)
        if mine.key in admitted:
            return
    raise AssertionError(state)


@often
@given(
    reconciles_of(*SPACES),
    fleets,
    st.builds(Want, st.just(("Hvpa", "tiny", "mine")), amounts),
    wants_in("shop", "pay"),
)
def test_any_history_of_several_namespaces(steps, fleet, mine, theirs):
    """One history serves all checks."""
    check_no_other_namespace_uses_an_own_part(steps, fleet)
    check_no_namespace_uses_more_than_its_own_and_the_common_part(steps, fleet)
    check_each_namespace_gets_a_turn(steps, fleet, mine, theirs)


@often
@given(fleets, running, capacities)
def test_what_runs_elsewhere_changes_no_own_part(fleet, other, capacity):
    """Whatever a tenant creates, the parts of the others stay as they are."""
    before = parts_of(Fleet(fleet.namespaces, capacity))[0]
    after = parts_of(Fleet({**fleet.namespaces, "shop": other}, capacity))[0]
    assert all(
        after[space] == before[space] == own_part(Fleet(fleet.namespaces, capacity), space) for space in SPACES[1:]
    )
