"""The HPA that a Tortoise edits, as plain numbers: its edits, its controller, and whether it has metrics."""

from math import inf
from typing import Any, NamedTuple

from hypot.core.learning.bounds import NONE, pods_kept
from hypot.core.learning.needs import KNOWN
from hypot.core.learning.phases import WORKING
from hypot.core.replicas.ratio import per_pod_share, trunc_div, utilization
from hypot.replay.numbers.hpa import (
    AVERAGE,
    FAILED,
    PODS,
    SHARE,
    UTILIZATION,
    HpaRule,
    count_for,
    is_outside,
    largest_proposal,
    look_first,
    measure_pods,
    propose,
)
from hypot.replay.numbers.past import PastMoves
from hypot.replay.numbers.tortoise import HORIZONTAL, TortoisePast, TortoiseRule
from hypot.replay.world.cohorts import Cohorts
from hypot.replay.world.lifecycle import alive
from hypot.replay.world.params import Params
from hypot.replay.world.signals import total_value
from hypot.replay.world.site import Site


class HpaForm(NamedTuple):
    """An HPA without its bounds, which change; columns have one element per metric."""

    hpa: HpaRule
    # The resource whose target it is, NONE for others; the target as found, and how many of its units are a percent.
    places: Any
    found: Any
    percents: Any
    # Whether its absence is that of usage, and whether its value shows that there are metrics.
    lacking: Any
    showing: Any


def edit_hpa(rule: TortoiseRule, past: TortoisePast, made: HpaForm) -> None:
    """Give the HPA the bounds and targets that were decided last; `made` is its form from the first edit on.

    The target of a resource that is still observed stays. With `decides` nobody else needs the HPA: it is not written.
    """
    if rule.horizontals == 0 or not (rule.acts or rule.decides):
        return
    for r in range(2):
        if rule.words[r] == HORIZONTAL and (past.phases[r] == WORKING or past.there[r] == 0):
            past.hpa_targets[r] = past.targets[r]
            past.there[r] = 0 if rule.decides else past.targets[r]
    for m in range(made.hpa.metrics):
        r = made.places[m]
        given = 0 if r == NONE else past.hpa_targets[r]
        made.hpa.targets[m] = made.found[m] if given == 0 else given * made.percents[m]
    past.edited[0] = 1
    if past.first[0] != NONE:
        past.hpa_low[0], past.hpa_high[0] = past.first[0], past.last[0]
        if not rule.decides:
            past.exists[0] = 1


def form_in_use(past: TortoisePast, found: HpaForm, made: HpaForm) -> HpaForm:
    return made if past.edited[0] else found


def decided_count(
    rule: TortoiseRule,
    past: TortoisePast,
    form: HpaForm,
    moves: PastMoves,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> int:
    """The replicas, if the Tortoise decides them: by the HPA as it should be, and as many as must stay."""
    current = s.asked[0]
    if not rule.decides or rule.horizontals == 0:
        return int(current)
    count = follow_hpa(past, form, moves, c, s, p, i, now, blind)
    return max(count, pods_kept(current, rule.counts.most, past.reason[0] != KNOWN))


def follow_hpa(
    past: TortoisePast,
    form: HpaForm,
    moves: PastMoves,
    c: Cohorts,
    s: Site,
    p: Params,
    i: int,
    now: float,
    blind: bool,
) -> int:
    """The replicas that the controller of the HPA sets; records whether it has metrics."""
    hpa, current, low, high = form.hpa, s.asked[0], past.hpa_low[0], past.hpa_high[0]
    look_first(moves, current, now)
    outside = is_outside(current, low, high)
    best = FAILED if outside or blind else largest_proposal(hpa, c, s, p, i, now)
    if outside:
        # Its status says nothing about metrics then; the condition stays.
        past.shows[0] = 0
    elif best != FAILED:
        past.failing_since[0], past.lacks[0], past.shows[0] = inf, 0, 0
    else:
        note_missing(past, form, c, s, p, i, now, blind)
    return count_for(hpa, moves, best, current, low, high, now)


def note_missing(
    past: TortoisePast, form: HpaForm, c: Cohorts, s: Site, p: Params, i: int, now: float, blind: bool
) -> None:
    """Record what the status of the HPA says without a proposal: the first metric that is missing, and any value."""
    if past.failing_since[0] == inf:
        # A status has times in whole seconds.
        past.failing_since[0] = float(int(now))
    first, past.shows[0] = NONE, 0
    for m in range(form.hpa.metrics):
        if blind or propose(form.hpa, m, c, s, p, i, now) == FAILED:
            first = m if first == NONE else first
        elif form.showing[m] and has_value(form.hpa, m, c, s, p, i, now):
            past.shows[0] = 1
    past.lacks[0] = form.lacking[first]


def has_value(hpa: HpaRule, m: int, c: Cohorts, s: Site, p: Params, i: int, now: float) -> bool:
    """Whether the value of a metric that can be read is not zero."""
    source, subject = hpa.sources[m], hpa.subjects[m]
    if source == UTILIZATION or source in (AVERAGE, PODS):
        use = measure_pods(hpa, source, subject, hpa.targets[m], c, s, p, i, now)
        shown = trunc_div(use.used, use.samples) != 0
        return bool(shown or (source == UTILIZATION and utilization(use.used, use.asked) != 0))
    amount = total_value(s, p, subject, i)
    return bool((per_pod_share(amount, alive(c)) if source == SHARE else amount) != 0)
