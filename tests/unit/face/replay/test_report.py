"""A replay as a page and as pictures."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from plotly.graph_objects import Figure

from hypot.face.chart import Dots, Line
from hypot.face.replay.charts import charts_of, columns_for, spent
from hypot.face.replay.labels import _SIDES, _box, labelled
from hypot.face.replay.moments import MOST_MARKS, chosen, decision_lines, move_of
from hypot.face.replay.picture import figures_of, picture
from hypot.face.replay.plane import LEAST_HARM, pareto, path_of, plane
from hypot.face.replay.report import page
from hypot.face.replay.value import FIGURES, CannotDraw, ReplayReport, headline
from hypot.policy.model.decision import Step
from hypot.replay.score.needed import cost_of_sums
from hypot.replay.score.scorecard import Scores
from hypot.replay.world.record import Moment, RulePrices
from replay_week import EVIL, MONDAY, POLICIES, fleet, week

MEGABYTE = 1e6
TIME = ("supply", "replicas", "decisions", "latency", "late", "cpu", "memory", "cost")
WATCH = ("watch-3-marks", "watch-3-proposal", "watch-3-countdown")
BEGINNINGS = {"png": b"\x89PNG", "svg": b"<?xml"}


def with_prices(report):
    """The last run has an Autoscaler whose count, but no size, is decided by rules."""
    *others, last = report.runs
    at = last.ticks.at[::40]
    prices = np.tile(np.linspace(1.0, 0.8, len(at)), (9, 1))
    prices[:, :3], prices[7] = np.nan, 3.0
    bank = RulePrices(15.0, at, prices, np.full_like(prices, np.nan))
    return replace(report, runs=(*others, replace(last, prices=bank)))


class Read(HTMLParser):
    """What a page refers to, the ids in it, and its text outside of scripts."""

    def __init__(self, text):
        super().__init__()
        self.references, self.ids, self.tags, self.label, self._tag = [], [], [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self._tag = tag
        self.tags.append(tag)
        self.references += [(tag, *one) for one in attributes if one[0] in {"src", "href", "srcset", "data", "action"}]
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_data(self, data):
        self.label += [] if self._tag in {"script", "style"} else [data]


def drawn(text):
    return json.loads(re.search(r"^const charts = (.*);$", text, re.MULTILINE).group(1))


@pytest.fixture(scope="module")
def report():
    return week()


@pytest.fixture(scope="module")
def text(report):
    return page(report)


def changed(report, **ticks):
    """The same report with other columns in the first run."""
    first = report.runs[0]
    return replace(report, runs=(replace(first, ticks=first.ticks._replace(**ticks)), *report.runs[1:]))


class TestPage:
    """One file that needs nothing else."""

    def test_it_needs_nothing_else(self, text):
        """It refers to nothing, and a policy of its own forbids the browser to fetch anything."""
        assert Read(text).references == []
        assert "default-src 'none'" in text
        assert text.count("plotly.js v") == 1

    def test_same_input_same_bytes(self, report, text):
        """Nothing of the clock, of chance or of the order of sets gets into it."""
        assert page(report) == text

    def test_every_figure_has_its_place(self, text):
        """By ids that stay the same from page to page."""
        ids = [f"figure-{key}" for key in ("pareto", "plane", *TIME, *WATCH)]
        assert list(drawn(text)) == ids
        assert [one for one in Read(text).ids if one.startswith("figure-")] == ids

    def test_plotly_knows_every_word(self, text):
        """Its own library takes each figure as valid."""
        for chart in drawn(text).values():
            assert len(Figure(chart).data) >= 2

    def test_the_words(self, text):
        """Verdict, notes, shapes and settings stand on the page."""
        label = " ".join(Read(text).label)
        for part in (
            "21 % cheaper",
            "3 gaps of the trace",
            "The lower bound",
            "service.deadline",
            "0.25s",
            "44.65",
        ):
            assert part in label

    def test_names_are_no_markup(self, report):
        """Wherever a name from a file stands, it opens no tag, ends no script and makes no link in a figure."""
        runs = (replace(report.runs[0], policy=EVIL, notes=(EVIL,)), *report.runs[1:])
        scores = {EVIL: report.scores["HPA 70 %"], **report.scores}
        step = Step("resolve", "x", 1, 2, EVIL)
        moments = [Moment(one.at, one.decision._replace(reason=EVIL, steps=(step,))) for one in runs[0].moments]
        runs = (replace(runs[0], moments=tuple(moments)), *runs[1:])
        made = page(replace(report, title=EVIL, verdict=EVIL, notes=(EVIL,), shapes=EVIL, scores=scores, runs=runs))
        assert "<script>alert" not in made
        assert Read(made).tags.count("script") == 2
        assert "a" not in Read(made).tags
        assert "<a href" not in json.dumps(drawn(made))

    def test_the_verdict_is_short_on_top(self, report):
        """One sentence is the headline, the others stand below it; a dot in a figure ends no sentence."""
        long = replace(report, verdict="HPA costs 12.5 $. By price Hvpa is first. So be it.")
        assert headline(long) == ("HPA costs 12.5 $.", "By price Hvpa is first. So be it.")
        assert headline(replace(report, verdict="")) == ("", "")

    def test_times_without_a_date(self, report):
        """A trace that counts from zero is shown in hours."""
        runs = tuple(
            [replace(run, ticks=run.ticks._replace(at=run.ticks.at - MONDAY), watch=None) for run in report.runs]
        )
        charts = drawn(page(replace(report, runs=tuple([replace(run, moments=()) for run in runs]))))
        assert charts["figure-supply"]["layout"]["xaxis"]["type"] == "linear"
        assert charts["figure-supply"]["layout"]["xaxis"]["range"] == [0, 168]

    def test_numbers_that_no_world_file_gives(self, report):
        """Each with its origin; the summary counts the assumed ones."""
        numbers = [("service.work", "0.02s", "assumed"), ("workload.cpu", "0.5", "Deployment/<web> (web.yaml:1)")]
        made = page(replace(report, numbers=numbers))
        assert "Numbers of the world that its file does not give (1 assumed)" in made
        assert '<td class="name">service.work</td><td>0.02s</td><td class="note">assumed</td>' in made
        assert "Deployment/&lt;web&gt; (web.yaml:1)" in made
        assert "that its file does not give" not in page(report)

    def test_scores_alone(self, report):
        """Without runs there is the table and the comparison."""
        assert list(drawn(page(replace(report, runs=())))) == ["figure-pareto"]

    def test_a_fleet(self):
        """Many workloads are shown by their scores: cost against harm, and each workload in the lane of its policy."""
        made = page(ReplayReport("40 workloads", "Hvpa wins.", fleet=fleet()))
        assert list(drawn(made)) == ["figure-pareto", "figure-spread"]
        assert "median, x bound" in made
        assert "All scores" not in made


class TestSize:
    """At most eight megabytes, whatever is shown."""

    @pytest.mark.parametrize(("policies", "days"), [(7, 62), (90, 7)])
    def test_a_page_stays_small(self, report, policies, days):
        """Noise all the time, thousands of decisions with long reasons each."""
        noisy = noisy_days(report, days)
        runs = tuple([replace(noisy, policy=f"policy number {i}") for i in range(policies)])
        scores = {run.policy: report.scores[POLICIES[0]] for run in runs}
        made = page(replace(report, runs=runs, scores=scores, demand=noisy.ticks.ready_cpu, intervals={}))
        assert len(made.encode()) < 8 * MEGABYTE
        assert ("Only the first 40 of 90 policies are drawn over time." in made) == (policies == 90)
        assert ("At first 21 of 90 policies are drawn" in made) == ('id="all"' in made) == (policies == 90)

    def test_many_policies_get_fewer_points(self, report):
        """And a few as many as there are pixels."""
        assert columns_for(replace(report, runs=report.runs[:4])) == 1200
        assert columns_for(replace(report, runs=report.runs * 8)) == 120


def noisy_days(report, days):
    """A run whose every column swings, whose shapes are all different, and whose pods die all the time."""
    source, count = report.runs[1].ticks, days * 1440
    noise = np.exp(0.2 * np.random.default_rng(1).standard_normal(count))
    columns = {name: np.resize(column, count) * noise for name, column in source._asdict().items()}
    columns |= {"at": MONDAY + np.arange(count) * 60.0, "evicted": np.ones(count), "killed": np.ones(count)}
    moment = report.runs[1].moments[0]
    steps = moment.decision.steps * 9
    moments = [Moment(MONDAY + i * days * 28.0, moment.decision._replace(steps=steps)) for i in range(3000)]
    return replace(report.runs[1], ticks=source._replace(**columns), moments=tuple(moments))


class TestFigures:
    """What is drawn."""

    def test_what_was_paid(self, report):
        """The line of costs ends at the cost."""
        for run in report.runs:
            paid = cost_of_sums(run.ticks.cpu.sum(), run.ticks.memory.sum(), run.world)
            assert spent(run)[-1] == pytest.approx(paid)

    def test_only_some_of_a_trace_may_be_judged(self, report):
        """Demand may begin later than the runs: they end together."""
        half = len(report.demand) // 2
        late = replace(report, demand=report.demand[half:])
        lines = {line.name: line for line in chart_of(late, "supply").lines}
        assert lines["demand"].xs[0] == report.runs[0].ticks.at[half]
        assert lines["demand"].xs[-1] == lines["HPA 70 %"].xs[-1]

    def test_without_a_demand(self, report):
        """The work that was offered is the ground."""
        bare = replace(report, demand=None)
        lines = [line.name for line in chart_of(bare, "supply").lines]
        assert lines[0] == "demand"

    def test_what_swings_too_fast_is_a_haze(self, report):
        """Its mean is a line, above the hazes of all others."""
        count = len(report.runs[0].ticks.at)
        looks = [line.look for line in chart_of(changed(report, replicas=np.arange(count) % 9.0), "replicas").lines]
        assert looks == ["haze", *["step"] * 5]

    def test_gaps_are_gaps(self, report):
        """Latency that is no number, or without end, leaves a hole and breaks nothing."""
        p99 = report.runs[0].ticks.p99.copy()
        p99[:3000], p99[5000:6000] = np.nan, np.inf
        charts = drawn(page(changed(report, p99=p99)))
        assert None in charts["figure-latency"]["data"][0]["y"]

    def test_pareto(self):
        """Those that nobody beats in both are joined; references are lines, and nothing is drawn as zero."""
        scores = {
            "cheap": Scores(cost=1.0, late=5.0, lost=1.0),
            "good": Scores(cost=3.0, late=0.0, lost=0.0),
            "beaten": Scores(cost=3.5, late=1.0, lost=0.0),
            "static peak": Scores(cost=0.5, late=0.0, lost=0.0),
        }
        chart = pareto(ReplayReport("x", "", scores))
        assert chart.x.title == "cost, $"
        assert list(zip(chart.lines[0].xs, chart.lines[0].ys, strict=True)) == [(1.0, 6.0), (3.0, LEAST_HARM)]
        assert chart.dots[1].texts == (("good", "3 $", "0 % late + lost"),)
        assert [line.name for line in chart.lines[1:]] == ["static peak"]
        assert [dots.name for dots in chart.dots] == ["cheap", "good", "beaten"]

    def test_the_path_in_the_plane(self, report):
        """Shapes one after the other, none twice in a row, none without pods."""
        count = len(report.runs[0].ticks.at)
        replicas = np.where(np.arange(count) < 10, 0.0, 2.0)
        replicas[-5:] = 3.0
        run = changed(report, replicas=replicas, size_cpu=np.full(count, 0.5)).runs[0]
        assert path_of(run).tolist() == [[2.0, 0.5], [3.0, 0.5]]
        assert plane(replace(report, runs=(run,))).key == "plane"

    def test_what_rules_have_cost(self, report):
        """One chart for each axis that has prices; what costs far more than an HPA is out of it."""
        (chart,) = [chart for chart in charts_of(with_prices(report)) if chart.key.startswith("rules")]
        assert chart.key == f"rules-{len(report.runs)}-count"
        assert [line.name for line in chart.lines][:2] == ["as now", "slope of 30 s"]
        assert chart.lines[-1].name == "decides"
        assert np.isnan(chart.lines[7].ys).all()
        assert chart.y.ends == pytest.approx((0.98 * 0.8, 1.02 * chart.lines[0].ys[3]))

    def test_no_pods_at_all(self, report):
        """Then there is no path, and the other figures are drawn."""
        count = len(report.runs[0].ticks.at)
        only = replace(changed(report, replicas=np.zeros(count)), intervals={})
        keys = [chart.key for chart in charts_of(replace(only, runs=only.runs[:1]))]
        assert "plane" not in keys
        assert "replicas" in keys

    def test_labels_lie_on_nothing(self):
        """Neither on a point nor on each other; those without room are left out."""
        chart = pareto(ReplayReport("x", "", {f"policy {i}": Scores(cost=1.0 + i / 50, late=1.0) for i in range(30)}))
        named = [dots for dots in chart.dots if dots.labels]
        assert 0 < len(named) < 30
        one = Dots("a", "a", "ink", (2.0,), (1.0,), ("dot",), (9.0,), ((),), ("label",))
        wide = chart.x._replace(ends=(1.0, 4.0))
        first, second = labelled([one, one._replace(xs=(2.05,))], (), wide, chart.y)
        assert (first.side, second.side) == ("middle left", "middle right")
        across = Line("level", "", "ink", np.array([1.0, 4.0]), np.array([1.0, 1.0]))
        assert labelled([one], [across], wide, chart.y)[0].side == "top center"
        assert not _box((0, 0), _SIDES[0], "a").meets(_box((0, 0), _SIDES[1], "a"))

    def test_marks_of_those_that_died(self, report):
        """One mark for pods that died in a tick, saying how many."""
        dots = [one for one in chart_of(report, "decisions").dots if one.symbols[:1] == ("killed",)]
        assert dots[0].who == "HPA + VPA"
        assert dots[0].texts[0] == ("1 pod killed, out of memory",)


def chart_of(report, key):
    return next(chart for chart in charts_of(report) if chart.key == key)


class TestDecisions:
    """Marks with their reasons."""

    def test_the_largest_moves_stay(self, report):
        """At most so many, the largest among them, in order, and no part of the replay without any."""
        moments = [Moment(float(i), one.decision) for i, one in enumerate(report.runs[0].moments * 10)]
        kept = chosen(moments, 100)
        assert 50 < len(kept) <= 100
        assert [one.at for one in kept] == sorted(one.at for one in kept)
        assert max(move_of(one.decision) for one in kept) == max(move_of(one.decision) for one in moments)
        assert max(np.diff([one.at for one in kept])) < len(moments) / 10

    def test_few_stay_all(self, report):
        """Nothing is thinned that can be drawn."""
        moments = report.runs[0].moments
        assert chosen(moments, MOST_MARKS) == list(moments)

    def test_what_is_told(self, report):
        """What changes, the reason and the sentences of all steps, in lines that fit beside a mark."""
        decision = report.runs[0].moments[0].decision
        lines = decision_lines(decision)
        assert lines[0].startswith("HorizontalPodAutoscaler shop/web: ")
        assert lines[0].endswith(f"{decision.current} → {decision.desired} replicas")
        assert decision.reason in lines
        assert lines[-1].endswith("is within 2 to 40.")

    def test_what_is_told_of_a_size(self, report):
        """Each container and resource that changes."""
        decision = next(one.decision for one in report.runs[3].moments if not one.decision.recounts)
        assert re.search(r"Hvpa shop/web: app cpu \S+ → \S+$", decision_lines(decision)[0])

    def test_a_long_reason_is_cut(self, report):
        """An ellipsis shows it."""
        decision = report.runs[0].moments[0].decision._replace(reason="word " * 500)
        lines = decision_lines(decision, 200)
        assert sum(map(len, lines)) < 260
        assert lines[-1].endswith("…")


class TestPictures:
    """The same figures by matplotlib."""

    @pytest.mark.parametrize("figure", [one for one in FIGURES if one not in {"spread", "overview"}])
    def test_every_figure(self, small, figure):
        """Each can be drawn alone."""
        assert picture(with_prices(small), figure, "png").startswith(BEGINNINGS["png"])

    @pytest.mark.parametrize("form", ["png", "svg"])
    def test_same_input_same_bytes(self, small, form):
        """Without dates, and with names that do not change."""
        first = picture(small, "overview", form)
        assert first == picture(small, "overview", form)
        assert first.startswith(BEGINNINGS[form])

    def test_which_there_are(self, small):
        """What a report has nothing to show in is not among them."""
        assert figures_of(with_prices(small)) == tuple([one for one in FIGURES if one != "spread"])
        assert figures_of(ReplayReport("x", "", fleet=fleet(3))) == ("overview", "pareto", "spread")
        assert picture(ReplayReport("x", "", fleet=fleet(3)), "spread", "png").startswith(BEGINNINGS["png"])

    @pytest.mark.parametrize(
        ("figure", "label"),
        [
            ("spread", "shop/web, 2 to 9 March 2026: there is nothing to show in the figure 'spread'"),
            ("pie", "there is no figure 'pie'"),
        ],
    )
    def test_what_cannot_be_drawn(self, small, figure, label):
        """Is said by name."""
        with pytest.raises(CannotDraw, match=re.escape(label)):
            picture(small, figure, "png")

    def test_names_are_no_formula(self, small):
        """What stands between dollars is text, and letters that no font has are no warning."""
        runs = (replace(small.runs[0], policy=r"a$\frac$b 政策"), *small.runs[1:])
        assert picture(replace(small, runs=runs, verdict=r"$\x$"), "decisions", "svg").startswith(BEGINNINGS["svg"])


@pytest.fixture(scope="module")
def small():
    """A day is enough to draw."""
    return week(1)


def test_what_draws_is_loaded_only_for_drawing():
    """A table costs neither plotly nor matplotlib, and a page no matplotlib."""
    code = (
        "import sys; import hypot.face.replay.table; before = set(sys.modules)\n"
        "from hypot.face.replay.report import ReplayReport, page; page(ReplayReport('x', 'y'))\n"
        "names = ('plotly', 'matplotlib', 'polars')\n"
        "print([name for name in names if name in before], [name for name in names if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[] ['plotly']"
