"""The scores of a replay as lines of text."""

import re
from dataclasses import replace

import pytest

from hypot.face.replay.scores import ALL, CHOSEN, best_of, shapes_as_text, shown
from hypot.face.replay.table import fleet_table, fleet_text, table
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.parameters import Shapes

FINE = Scores(
    cost=12.0,
    to_lower_bound=1.1,
    late=0.1704,
    lost=0.0,
    p99=180.4,
    cpu_hours=250.0,
    peak_pods=9,
    replica_changes=30.0,
    size_changes=2.0,
    restarts=0.0,
    price=13.0,
)
CHEAP = replace(FINE, cost=10.0, late=0.0001, price=10.5)
PEAK = Scores(cost=9.0, to_static=1.0)
SCORES = {"static peak": PEAK, "HPA 70 %": FINE, "Hvpa": CHEAP}


def cells(line):
    return re.split(r"\s{2,}|(?<=\*) ", line.strip())


def column(key):
    return next(one for one in ALL if one.key == key)


def test_one_line_a_policy():
    """Two lines of heads, the policies as they were given, the references last."""
    lines = table(SCORES)
    assert cells(lines[0]) == ["policy", *(one.head for one in CHOSEN)]
    assert cells(lines[1]) == [one.unit for one in CHOSEN]
    assert [cells(line)[0] for line in lines[2:]] == ["HPA 70 %", "Hvpa", "static peak"]
    assert cells(lines[2]) == [
        "HPA 70 %",
        "12.00",
        "1.10",
        "0.170",
        "0.000",
        "180",
        "250.0",
        "9",
        "32.0",
        "0.0",
        "13.00",
    ]


def test_the_best_is_marked():
    """Not where all are alike, and never a reference, which is the cheapest of all here."""
    lines = table(SCORES)
    assert [cell for cell in cells(lines[3]) if cell.endswith("*")] == ["10.00*", "<0.001*", "10.50*"]
    assert "*" not in lines[2] + lines[4]


def test_columns_stand_below_each_other():
    """The last digit of each figure is below the last letter of its head, marked or not."""
    head, _, *rows = table(SCORES)
    ends = [match.end() for match in re.finditer(r"\S+", head)][1:]
    for row in rows:
        assert all(row[end - 1 : end].strip() for end in ends)


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("late", None, "-"),
        ("late", float("nan"), "-"),
        ("late", 0.0, "0.000"),
        ("late", 0.0004, "<0.001"),
        ("late", 0.0006, "0.001"),
        ("p99", float("inf"), "inf"),
        ("oom_bad", True, "yes"),
        ("oom_bad", False, "no"),
        ("peak_pods", 12, "12"),
    ],
)
def test_figures(key, value, text):
    """What is more than nothing is not shown as nothing, and what is not there as no figure."""
    assert shown(column(key), value) == text


def test_what_looks_alike_is_a_tie():
    """Two are best where their figures read the same; nobody is where neither way is better or there is one alone."""
    late = column("late")
    three = {"a": replace(FINE, late=0.10001), "b": replace(FINE, late=0.10002), "c": FINE}
    assert best_of(late, three) == {"a", "b"}
    assert best_of(late, {"a": FINE}) == frozenset()
    assert best_of(late, {"a": FINE, "b": PEAK}) == frozenset()
    assert best_of(column("peak_pods"), three) == frozenset()
    assert best_of(column("speedup"), {"a": Scores(speedup=1.0), "b": Scores(speedup=2.0)}) == {"b"}


@pytest.mark.parametrize("wide", [False, True])
def test_it_fits(wide):
    """Long names lose their middle, so that both ends can still tell them apart."""
    scores = {
        f"HorizontalPodAutoscaler of the shop, cpu at {i} %": replace(FINE, cost=i * 999.0) for i in range(50, 90, 5)
    }
    lines = table(scores, wide=wide, notes=["words " * 40])
    assert max(map(len, lines)) <= 100
    assert any("at 55 %" in line and ".." in line for line in lines)


def test_wide_shows_all_that_is_known():
    """One line a score; those that nobody has are left out."""
    lines = table(SCORES, wide=True)
    assert cells(lines[0]) == ["score", "HPA 70 %", "Hvpa", "static peak"]
    assert [cells(line)[0] for line in lines[1:4]] == ["cost, $", "cpu hours, core-h", "to lower bound, x"]
    assert not any(line.startswith("recovery") for line in lines)


def test_wide_goes_on_below():
    """Policies that do not fit side by side stand below the others, each exactly once."""
    scores = {f"policy number {i}": FINE for i in range(12)}
    heads = [line for line in table(scores, wide=True) if line.startswith("score")]
    assert len(heads) > 1
    assert re.findall(r"policy number \d+", " ".join(heads)) == list(scores)


def test_notes_stand_below():
    """After an empty line."""
    assert table(SCORES, notes=["The lower bound may use 2 replicas.", "A gap was filled."])[-3:] == [
        "",
        "The lower bound may use 2 replicas.",
        "A gap was filled.",
    ]


def test_with_style():
    """The best is bold and needs no star; heads are bold, references and units dim."""

    def style(text, *, bold=False, dim=False):
        return f"[{text}]" if bold else f"({text})" if dim else text

    lines = table(SCORES, style=style)
    assert lines[0].startswith("[policy")
    assert "[10.00]" in lines[3]
    assert "*" not in "".join(lines)
    assert lines[4].startswith("(static peak")


def test_names_steer_no_terminal():
    """What is not printable is shown as an escape."""
    assert "\x1b" not in "".join(table({"\x1b[31mred\nline": FINE, "b": CHEAP}))


def test_a_fleet():
    """The median and the worst of each policy, and how often it has the lowest price."""
    fleet = {
        f"w{i}": {"HPA": replace(FINE, late=0.1 * i, price=2.0 + i), "Hvpa": replace(FINE, late=0.2, price=3.5)}
        for i in range(5)
    }
    head, units, hpa, hvpa, _, label = fleet_table(fleet)
    assert cells(head) == ["cost", "x bound", "late", "%", "lost", "%", "p99", "ms", "changes", "/day"]
    assert cells(units) == ["policy", *["median", "worst"] * 5, "wins"]
    assert cells(hpa) == ["HPA", "1.10", "1.10", "0.200", "0.400", *["0.000"] * 2, *["180"] * 2, *["32.0"] * 2, "2"]
    assert cells(hvpa)[3:5] == ["0.200", "0.200*"]
    assert cells(hvpa)[-1] == "3*"
    assert label == "Over 5 workloads; a policy wins a workload if its price is the lowest."


def test_a_fleet_says_what_is_missing():
    """A policy that could not run everywhere is not compared in silence."""
    lines = fleet_table({"a": {"HPA": FINE, "VPA": FINE}, "b": {"HPA": FINE}})
    assert "VPA: on 1 of 2 workloads" in lines


def test_a_fleet_without_prices():
    """There nobody wins."""
    assert "*" not in "".join(fleet_table({"a": {"x": PEAK, "y": PEAK}, "b": {"x": PEAK, "y": PEAK}}))


def test_the_worst_of_a_fleet_are_named():
    """A median hides them, and nobody reads ten thousand lines."""
    fleet = {
        f"w{i}": {"HPA": replace(FINE, late=0.1 * i, lost=0.0, to_lower_bound=2.0 - 0.1 * i), "static peak": PEAK}
        for i in range(8)
    }
    late, dear = "w7 (0.7 %), w6 (0.6 %), w5 (0.5 %)", "w0 (2 x), w1 (1.9 x), w2 (1.8 x)"
    assert list(fleet_text(fleet)) == [
        "Total cost: HPA $96.00, static peak $72.00.",
        f"HPA: most late or lost on {late}; farthest above its bound on {dear}.",
    ]


def test_a_small_fleet_is_seen_at_once():
    """With one workload, the worst one is not named."""
    fleet = {"a": {"HPA": FINE, "VPA": CHEAP}, "b": {"HPA": FINE}}
    assert list(fleet_text(fleet)) == ["Total cost: HPA $24.00."]


def test_the_worst_of_many_policies_are_not_all_named():
    """A grid would fill pages."""
    fleet = {f"w{i}": {f"p{j}": FINE for j in range(9)} for i in range(6)}
    lines = list(fleet_text(fleet))
    assert len(lines) == 9
    assert lines[-1] == "For the other 2 policies, -o csv lists every workload."


def test_what_is_never_late_is_not_told_as_late():
    """Nothing is the worst of nothing."""
    fleet = {f"w{i}": {"HPA": Scores(cost=1.0, late=0.0)} for i in range(6)}
    assert list(fleet_text(fleet)) == ["Total cost: HPA $6.00."]


@pytest.mark.parametrize(
    ("shapes", "label"),
    [
        (Shapes(), "The lower bound may use 2 to 1000 replicas of 1 core and 1Gi, or the policy's own."),
        (
            Shapes(min_replicas=3, max_replicas=3, min_cpu=0.5, max_cpu=4.0, max_memory=2**32),
            "The lower bound may use 3 replicas of 0.5 to 4 cores and 1Gi to 4Gi, or the policy's own.",
        ),
    ],
)
def test_shapes(shapes, label):
    """A reference is printed with what it is held to."""
    assert shapes_as_text(shapes) == label
