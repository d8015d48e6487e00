"""The effective scaling intervals as people see them: rows, curves and charts."""

from itertools import pairwise
from math import isnan

import pytest

from hypot.face.intervals.charts import parts_of
from hypot.face.intervals.curves import curves_of
from hypot.face.intervals.table import figure, notes_of, silent, tables_of
from hypot.kinds.hvpa import Hvpa
from unit.policy.hvpa.hvpa_cases import INTERVALS, OVERLAP, hpa, manifest, policy, sized, vpa
from unit.policy.hvpa.hvpa_world import FREE, GI, asking, box, decided, one, world

CPU_30 = {"cpu": {"percentage": 30}, "memory": {"percentage": 30}}
LEAST = {"cpu": "125m", "memory": "512Mi"}


def made(data):
    hvpa = Hvpa.from_dict(data)
    assert [str(p) for p in hvpa.problems() if p.severity == "error"] == []
    return hvpa


def seed_example(**spec):
    return made(manifest(INTERVALS, **spec))


def overlapping(**spec):
    """The proposal's table with an overlap of 30 %, for pods that have at least what its first row says."""
    return seed_example(scalingIntervalsOverlap=CPU_30, vpa=vpa(policy("app", LEAST)), **spec)


def written(hvpa, container="*"):
    """Every figure of a table as it is printed: replicas, then per resource up and down, per pod and total."""
    table = next(table for table in tables_of(hvpa) if container in table.containers)
    rows = []
    for row in table.rows:
        figures = [str(row.replicas)]
        for resource in table.resources:
            reach, down = row.reaches[resource], row.down_to_per_pod(resource)
            amounts = (row.up_to_per_pod(resource), down, reach.up_to, reach.down_to)
            figures += ["-" if amount is None else figure(resource, amount) for amount in amounts]
        rows.append(" ".join(figures))
    return rows


class TestTheProposalsTables:
    """Every number of the document, corrected where it is wrong."""

    def test_the_example(self):
        """Max per pod and in total, cpu and memory; without overlap a count ends where the one below it does."""
        assert written(seed_example()) == [
            "1 0.5 0 0.5 0 2 0 2 0",
            "2 1 0.25 2 0.5 4 1 8 2",
            "3 2 0.667 6 2 8 2.667 24 8",
            "4 4 1.5 16 6 16 6 64 24",
            "5 8 3.2 40 16 32 12.8 160 64",
        ]

    def test_an_overlap_of_30_percent(self):
        """The document prints 0.765 where 2 Gi less 30 % over two pods are 0.7."""
        assert written(overlapping(), "app") == [
            "1 0.5 0.125 0.5 0.125 2 0.5 2 0.5",
            "2 1 0.175 2 0.35 4 0.7 8 1.4",
            "3 2 0.467 6 1.4 8 1.867 24 5.6",
            "4 4 1.05 16 4.2 16 4.2 64 16.8",
            "5 8 2.24 40 11.2 32 8.96 160 44.8",
        ]

    def test_only_the_first_row_is_held_up_by_the_least_a_pod_may_have(self):
        """Its lower end is minAllowed, which the document does not say."""
        rows = tables_of(overlapping())[0].rows
        assert [notes_of(row) for row in rows] == [("down to minAllowed",), (), (), (), ()]

    def test_its_last_manifest(self):
        """With 1.5Gi the larger of the two counts, and where 0.5 Gi would be left, two pods of 512Mi hold it up."""
        hvpa = made(manifest(INTERVALS, OVERLAP, vpa=vpa(policy("*", {"memory": "512Mi"}))))
        assert written(hvpa)[1] == "2 1 0.125 2 0.25 4 0.5 8 1"
        assert notes_of(tables_of(hvpa)[0].rows[1]) == ("down to minAllowed (memory)",)

    def test_vertical_only(self):
        """Two pods of 4 cores and 16 Gi are 8 cores and 32 Gi; the document prints 16 and 64."""
        hvpa = made(sized((2, "4", "16Gi"), hpa={**hpa(minReplicas=2), "deploy": False}))
        assert written(hvpa) == ["2 4 0 8 0 16 0 32 0"]

    @pytest.mark.parametrize(
        "rows",
        [
            pytest.param([(count, "500m", "2Gi", "horizontalOnly") for count in range(1, 6)], id="one by one"),
            pytest.param([(5, "500m", "2Gi", "horizontalOnly")], id="at once"),
        ],
    )
    def test_horizontal_only(self, rows):
        """The size is fixed, so only totals say when pods come and go."""
        hvpa = made(sized(*rows))
        assert written(hvpa) == [
            "1 0.5 - 0.5 0 2 - 2 0",
            "2 0.5 - 1 0.5 2 - 4 2",
            "3 0.5 - 1.5 1 2 - 6 4",
            "4 0.5 - 2 1.5 2 - 8 6",
            "5 0.5 - 2.5 2 2 - 10 8",
        ]
        assert {notes_of(row) for row in tables_of(hvpa)[0].rows} == {("size fixed",)}


class TestTables:
    """Which containers have which rows."""

    def test_without_a_policy_there_is_one_for_all(self):
        """No container is known, and all have the same intervals."""
        assert [table.containers for table in tables_of(seed_example())] == [("*",)]

    def test_containers_that_are_alike_share_one(self):
        """By what they may have; those that are switched off have no rows."""
        policies = [policy("a", LEAST), policy("b", LEAST), policy("c"), policy("d", mode="Off")]
        tables = tables_of(seed_example(vpa=vpa(*policies)))
        assert [table.containers for table in tables] == [("a", "b"), ("c", "*"), ("d",)]
        assert [len(table.rows) for table in tables] == [5, 5, 0]
        assert silent(tables[2]) == "not scaled, the mode is Off"

    def test_the_policy_for_all_others_is_theirs(self):
        """Its name stands last, wherever it is written."""
        tables = tables_of(seed_example(vpa=vpa(policy("*", mode="Off"), policy("app"))))
        assert [(table.containers, table.off) for table in tables] == [(("app",), False), (("*",), True)]

    def test_only_what_is_controlled_has_columns(self):
        """A container whose memory nobody sizes has no memory to show, and one without anything has no rows."""
        policies = [policy("app", controlledResources=["cpu"]), policy("*", controlledResources=[])]
        app, others = tables_of(seed_example(vpa=vpa(*policies)))
        assert (app.resources, app.unsized, silent(app)) == (("cpu",), (), "")
        assert (others.rows, silent(others)) == ((), "neither cpu nor memory is controlled")

    def test_a_resource_without_a_size_has_no_say(self):
        """Horizontal only allows an interval to say nothing of memory."""
        table = tables_of(made(sized((3, "1", None, "horizontalOnly"))))[0]
        assert (table.resources, table.unsized) == (("cpu",), ("memory",))
        assert silent(table).startswith("memory does not affect replicas")

    @pytest.mark.parametrize(
        ("resource", "amount", "text"),
        [
            ("cpu", 0, "0"),
            ("cpu", 500, "0.5"),
            ("cpu", 1400 / 3, "0.467"),
            ("cpu", 12, "0.012"),
            ("cpu", 37 / 3, "0.0123"),
            ("cpu", 1_000_000, "1000"),
            ("memory", 10 * 2**20, "0.00977"),
            ("memory", 3 * GI // 2, "1.5"),
            ("memory", 1, "0.000000001"),
        ],
    )
    def test_figures(self, resource, amount, text):
        """Cores and GiB, with as many decimals as say something."""
        assert figure(resource, amount) == text


def borders(points):
    """Between which two totals the count changes, and to what."""
    return [(a.asked, b.asked, b.replicas) for a, b in pairwise(points) if a.replicas != b.replicas]


class TestCurves:
    """Where a workload comes to rest when the demand rises and falls."""

    def test_going_up_a_count_ends_with_its_interval(self):
        """The border belongs to the count below it, to the millicore."""
        curves = curves_of(overlapping(), "app", "cpu")
        assert borders(curves.up) == [(500, 501, 2), (2000, 2001, 3), (6000, 6001, 4), (16000, 16001, 5)]

    def test_going_down_a_pod_goes_when_the_others_need_not_grow(self):
        """Below the interval the size is frozen: four pods take over where they need no more than 2240m each."""
        curves = curves_of(overlapping(), "app", "cpu")
        assert borders(curves.down) == [(8961, 8960, 4), (3151, 3150, 3), (935, 934, 2), (176, 175, 1)]
        frozen = {(p.replicas, p.per_pod) for p in curves.down if 8961 <= p.asked <= 11200}
        assert frozen == {(5, 2240)}

    def test_as_long_as_nothing_shrinks_sizes_only_rise(self):
        """Which is what the proposal's charts show: two pods of 500m for a demand of 501m."""
        curves = curves_of(seed_example(), "*", "cpu")
        assert all(a.per_pod <= b.per_pod for a, b in pairwise(curves.untrimmed))
        first = next(p for p in curves.untrimmed if p.replicas == 2)
        assert (first.asked, first.per_pod, first.given - first.asked) == (501, 500, 499)

    @pytest.mark.parametrize("resource", ["cpu", "memory"])
    def test_at_least_what_is_asked_for(self, resource):
        """Up to the last interval nobody gets less; beyond it pods end at what they may have."""
        most = {"cpu": "8", "memory": "32Gi"}
        hvpa = seed_example(scalingIntervalsOverlap=CPU_30, vpa=vpa(policy("app", LEAST, most)))
        last = {"cpu": 40_000, "memory": 160 * GI}[resource]
        curves = curves_of(hvpa, "app", resource)
        for points in curves[:3]:
            assert all(p.given >= p.asked for p in points if p.asked <= last)
            assert {(p.replicas, p.given) for p in points if p.asked >= last} == {(5, last)}

    def test_one_size_has_one_way(self):
        """Horizontal only knows neither overlap nor paradox: up and down are the same."""
        curves = curves_of(made(sized((5, "500m", "2Gi", "horizontalOnly"))), "*", "cpu")
        assert curves.up == curves.down[::-1]
        assert {p.per_pod for p in curves.up} == {500}

    def test_no_count_is_leapt_over(self):
        """The way down is walked finely enough to find the narrow places where a pod may go."""
        curves = curves_of(made(sized((60, "5", "5Gi"))), "*", "cpu")
        assert [p[2] for p in borders(curves.down)] == list(range(59, 0, -1))

    def test_very_many_counts(self):
        """Some borders stand for the others, and the whole way is still walked."""
        curves = curves_of(made(sized((2000, "5", "5Gi"))), "*", "cpu")
        assert {curves.up[-1].replicas, curves.down[0].replicas} == {2000}
        assert curves.down[-1].replicas == 1
        assert max(map(len, curves[:3])) < 2000

    def test_nothing_is_drawn_of_what_has_no_intervals(self):
        """Memory that no interval has a size of."""
        assert curves_of(made(sized((3, "1", None, "horizontalOnly"))), "*", "memory") is None

    @pytest.mark.parametrize(
        "more",
        [
            pytest.param({}, id="plain"),
            pytest.param({"baseResourcesPerReplica": {"cpu": {"value": "50m", "percentage": 5}}}, id="base"),
        ],
    )
    @pytest.mark.parametrize("way", ["up", "down"])
    def test_a_decision_leads_there(self, way, more):
        """`decide` itself, asked for each total until nothing moves, rests on every point of the curve."""
        hvpa = overlapping(hpa={"deploy": False}, scaleUp=FREE, scaleDown=FREE, **more)
        points = getattr(curves_of(hvpa, "app", "cpu"), way)
        replicas, size = points[0].replicas, points[0].per_pod
        for point in points[:: 1 if way == "down" else 7]:
            for _ in range(4):
                source = asking(app={"cpu": point.asked})
                replicas, size = one(decided(hvpa, world(replicas, box(cpu=size)), sources=[source]))
                size = size["cpu"]
            assert (point.asked, replicas, size) == (point.asked, point.replicas, point.per_pod)


class TestCharts:
    """What is drawn, before anybody draws it."""

    def test_four_of_each_resource(self):
        """Always in the same order, with units on their axes."""
        (part,) = parts_of(seed_example(vpa=vpa(policy("*", LEAST))))
        assert (part.name, [panel.resource for panel in part.panels]) == ("every container", ["cpu", "memory"])
        for panel, unit in zip(part.panels, ("cores", "GiB"), strict=True):
            assert [chart.key for chart in panel.charts] == ["replicas", "size", "thresholds", "deviation"]
            titles = [(chart.x.title, chart.y.title) for chart in panel.charts]
            asked = f"requested in total, {unit}"
            assert titles == [
                (asked, "replicas"),
                (asked, f"per pod, {unit}"),
                ("replicas", unit),
                (asked, f"more than requested, {unit}"),
            ]

    def test_thresholds_are_the_table(self):
        """Up and down, in total and per pod."""
        (part,) = parts_of(seed_example(scalingIntervalsOverlap=CPU_30))
        lines = {line.name: line for line in part.panels[0].charts[2].lines}
        assert lines["up to, in total"].ys == (0.5, 2, 6, 16, 40)
        assert isnan(lines["down to, in total"].ys[0])
        assert lines["down to, in total"].ys[1:] == (0.35, 1.4, 4.2, 11.2)
        assert lines["up to, per pod"].ys == (0.5, 1, 2, 4, 8)
        assert isnan(lines["down to, per pod"].ys[0])
        assert lines["down to, per pod"].ys[1:] == pytest.approx((0.175, 1.4 / 3, 1.05, 2.24))
        assert [line.dash for line in lines.values()] == ["solid", "solid", "dash", "dash"]
        assert all(line.marked for line in lines.values())

    @pytest.mark.parametrize(("counts", "ticks"), [(12, tuple(range(1, 13))), (13, ())])
    def test_few_counts_are_marked(self, counts, ticks):
        """Each with a tick; of many only whole ones get a tick."""
        (part,) = parts_of(made(sized((counts, "1", "1Gi"))))
        chart = part.panels[0].charts[2]
        assert (chart.x.ticks, chart.x.whole) == (ticks, True)
        assert {line.marked for line in chart.lines} == {bool(ticks)}

    def test_colours_are_directions(self):
        """The same in all charts; what is not trimmed yet has the colour of rising, dotted."""
        (part,) = parts_of(seed_example(scalingIntervalsOverlap=CPU_30))
        lines = [line for panel in part.panels for chart in panel.charts for line in chart.lines]
        assert {line.tint for line in lines if line.name.startswith("up")} == {"tint-1"}
        assert {line.tint for line in lines if line.name.startswith("down")} == {"tint-2"}
        assert {line.dash for line in lines if line.name == "up, not trimmed yet"} == {"dot"}

    def test_wide_ranges_are_shown_on_a_logarithmic_scale(self):
        """From half a core to forty; with few ticks, all of them round."""
        (part,) = parts_of(seed_example())
        axis = part.panels[0].charts[0].x
        assert (axis.kind, axis.ticks) == ("log", (0.1, 0.2, 0.5, 1, 2, 5, 10, 20))
        assert axis.tick_labels == ("0.1", "0.2", "0.5", "1", "2", "5", "10", "20")

    def test_very_wide_ranges_have_ticks_at_powers_of_ten(self):
        """With those at 2 and 5 there would be too many."""
        (part,) = parts_of(made(sized((1, "2m", "1Gi"), (3, "500", "2Gi"))))
        assert part.panels[0].charts[0].x.ticks == (0.001, 0.01, 0.1, 1, 10, 100, 1000)

    def test_narrow_sizes_of_wide_totals_are_on_a_linear_scale(self):
        """No round number is between 1.3 and 1.8 cores, so a logarithmic scale would have no tick."""
        bounds = vpa(policy("*", {"cpu": "1300m"}, {"cpu": "1800m"}))
        intervals = [(replicas, "1800m", "1Gi") for replicas in (1, 100)]
        (part,) = parts_of(made(sized(*intervals, vpa=bounds)))
        total, size = part.panels[0].charts[0].x, part.panels[0].charts[1].y
        assert (total.kind, size.kind) == ("log", "linear")

    def test_narrow_ranges_are_not(self):
        """There zero has its place."""
        (part,) = parts_of(made(sized((2, "1", "1Gi"), (4, "1", "1Gi"))))
        charts = part.panels[0].charts
        assert [(chart.x.kind, chart.y.kind) for chart in charts] == [("linear", "linear")] * 4
        assert charts[2].lines[1].ys[0] == 0

    def test_a_deviation_is_what_is_given_beyond_what_is_asked(self):
        """501m are asked for, and two pods have 500m each until they are trimmed."""
        (part,) = parts_of(seed_example())
        untrimmed = next(line for line in part.panels[0].charts[3].lines if line.name == "up, not trimmed yet")
        place = untrimmed.xs.index(0.501)
        assert (untrimmed.ys[place], untrimmed.texts[place]) == (pytest.approx(0.499), " (+100 %)")
