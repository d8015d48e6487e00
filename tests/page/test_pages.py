"""Pages in a real browser: what is drawn, what it answers to, and that nothing is asked of the network."""

from pathlib import Path

import pytest

from hypot.face.intervals.plot import page as interval_page
from hypot.face.recommend.page import page as recommend_page
from hypot.face.recommend.value import RecommendReport
from hypot.face.replay.report import page
from hypot.face.replay.value import ReplayReport
from hypot.kinds.hvpa import Hvpa
from hypot.kinds.text.load import load
from hypot.replay.score.scorecard import Scores
from page.browser import CHROMIUM, browser
from recommended import cluster
from replay_week import POLICIES, fleet, week

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: pages are not looked at")

EXAMPLE = Path(__file__).parents[2] / "examples" / "hvpa.yaml"
LAPTOP, PHONE = (1280, 900), (390, 800)
# Every figure, and whether plotly has drawn it with at least one line or dot.
DRAWN = """Object.fromEntries([...document.querySelectorAll(".chart")].map(place => [place.id,
  [...place.querySelectorAll(".scatterlayer .js-line, .scatterlayer .points path")].length > 0]))"""
WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Whether exactly the lines and dots of somebody are hidden.
HIDDEN = """Object.values(charts).every((chart, i) => {
  const traces = document.getElementById(Object.keys(charts)[i]).data;
  return traces.every(trace => (trace.meta.who === "%s") === (trace.visible === false));
})"""
RANGES = """[...new Set(Object.entries(charts).filter(([, chart]) => chart.layout.meta === "time")
  .map(([id]) => document.getElementById(id).layout.xaxis.range.map(end => +new Date(end)).join()))]"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "report.html"
    path.write_text(page(week(2)), encoding="utf-8")
    return path


@pytest.fixture(scope="class")
def opened(tab, report):
    """The report on a laptop, in a light room."""
    return shown(tab, report, LAPTOP)


def shown(tab, path, size, *, dark=False):
    tab.requests.clear()
    tab.complaints.clear()
    tab.look(*size, dark=dark)
    tab.open(path)
    return tab


def middle(tab, what):
    """Where an element is, after scrolling there."""
    tab.run(f"{what}.scrollIntoView({{block: 'center'}})")
    x, y, width, height = tab.run(
        f"(({{x, y, width, height}}) => [x, y, width, height])({what}.getBoundingClientRect())"
    )
    return x + width / 2, y + height / 2


def assert_drawn(tab, report):
    """Every figure, without a complaint, nothing fetched, and nothing wider than the screen."""
    drawn = tab.run(DRAWN)
    assert len(drawn) == 13
    assert all(drawn.values())
    assert tab.complaints == []
    assert tab.requests == [report.as_uri()]
    assert tab.run(WIDE) <= 0


def test_every_figure_is_drawn_on_a_phone(tab, report):
    """In the dark."""
    assert_drawn(shown(tab, report, PHONE, dark=True), report)


class TestReport:
    """What a report answers to. The page is opened once, and each test leaves it as it was."""

    def test_every_figure_is_drawn(self, opened, report):
        """On a laptop, in the light."""
        assert_drawn(opened, report)

    def test_it_follows_the_room(self, opened):
        """When it gets dark, the page and its figures get other colours."""
        seen = []
        for dark in (True, False):
            opened.look(*LAPTOP, dark=dark)
            ink = "#e4e8ed" if dark else "#1d232b"
            opened.until(f"document.getElementById('figure-cost').layout.font.color === '{ink}'")
            ground = opened.run("getComputedStyle(document.body).backgroundColor")
            line = opened.run("document.getElementById('figure-cost').data[0].line.color")
            seen.append((ground, line))
        assert seen == [("rgb(20, 24, 29)", "#4887fc"), ("rgb(255, 255, 255)", "#3b35cc")]

    def test_a_switch_hides_a_policy_everywhere(self, opened):
        """In all figures at once, while the others stay; and back again."""
        click = "document.querySelector('#policies input[value=policy-2]').click()"
        assert opened.run("document.querySelectorAll('#policies input').length") == len(POLICIES) + 1
        assert not opened.run(HIDDEN % "policy-2")
        opened.run(click)
        assert opened.run(HIDDEN % "policy-2")
        opened.run(click)
        assert opened.run(HIDDEN % "nobody")

    def test_figures_zoom_together(self, opened):
        """Who drags over a day in one of them sees that day in all, until a double click."""
        before = opened.run(RANGES)
        assert len(before) == 1
        x, y = middle(opened, "document.querySelector('#figure-replicas .nsewdrag')")
        opened.drag((x - 200, y), (x + 100, y))
        opened.until(f"{RANGES}.length === 1 && {RANGES}[0] !== '{before[0]}'")
        opened.until(f"{RANGES}.join(' and ') === '{before[0]}'", lambda: opened.double_click(x, y))
        assert opened.complaints == []

    def test_a_mark_tells_why(self, opened):
        """Pointing at a decision shows its reason."""
        x, y = middle(opened, "document.querySelectorAll('#figure-decisions .points path')[3]")
        reported = "document.querySelector('#figure-decisions .hoverlayer').textContent"
        opened.until(reported, lambda: [opened.move(x - 50, y), opened.move(x, y)])
        message = opened.run(reported)
        assert "HorizontalPodAutoscaler shop/web" in message
        assert "is within 2 to 40." in message

    def test_a_head_sorts(self, opened):
        """Up with the first click and down with the second; what has no figure stays last."""
        names = "[...document.querySelectorAll('#scores tbody tr')].map(row => row.children[0].textContent)"
        price = "[...document.querySelectorAll('#scores th')].at(-1).click()"
        opened.run(price)
        assert opened.run(names)[:2] == ["Hvpa, intervals", "HPA 70 %"]
        opened.run(price)
        assert opened.run(names)[0] == "static"
        assert opened.run(names)[-1] == "static peak"


def test_many_policies(tab, tmp_path):
    """As many as can be distinguished are drawn at first, and one switch shows or hides all of them."""
    scores = {f"hpa {i}": Scores(cost=10.0 + i, late=1.0 / (i + 1), to_lower_bound=1.0 + i) for i in range(30)}
    path = tmp_path / "many.html"
    path.write_text(page(ReplayReport("web", "None wins.", scores)), encoding="utf-8")
    shown(tab, path, LAPTOP)
    drawn = "document.querySelectorAll('#figure-pareto .points path').length"
    counts = [tab.run(drawn)]
    for _ in range(2):
        tab.run("document.getElementById('all').click()")
        counts.append(tab.run(drawn))
    assert counts == [21, 30, 0]
    assert "At first 21 of 30 policies are drawn" in tab.run("document.body.textContent")
    assert tab.complaints == []


def test_a_fleet(tab, tmp_path):
    """Its figures are drawn too."""
    path = tmp_path / "fleet.html"
    path.write_text(page(ReplayReport("40 workloads", "Hvpa wins.", fleet=fleet())), encoding="utf-8")
    shown(tab, path, PHONE)
    assert tab.run(DRAWN) == {"figure-pareto": True, "figure-spread": True}
    assert (tab.complaints, tab.requests) == ([], [path.as_uri()])
    assert tab.run(WIDE) <= 0


def test_intervals(tab, tmp_path):
    """The page of scaling intervals stands in the same frame, and follows the room."""
    path = tmp_path / "intervals.html"
    path.write_text(interval_page([Hvpa.from_dict(one.data) for one in load([str(EXAMPLE)])]), encoding="utf-8")
    shown(tab, path, PHONE, dark=True)
    drawn = tab.run(DRAWN)
    assert len(drawn) == 8
    assert all(drawn.values())
    colours = "document.getElementById('hvpa-1-1-cpu-replicas').data.map(line => line.line.color)"
    assert tab.run(colours) == ["#4887fc", "#ffac2b"]
    tab.look(*PHONE)
    tab.until(f"{colours}[0] === '#3b35cc'")
    assert (tab.complaints, tab.requests) == ([], [path.as_uri()])


@pytest.fixture(scope="module")
def recommended(tab, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "cluster.html"
    path.write_text(recommend_page(RecommendReport(cluster())), encoding="utf-8")
    return shown(tab, path, LAPTOP)


def test_a_cluster_is_drawn_without_a_network(recommended):
    """All workloads are dots, and nothing is asked of the network."""
    assert recommended.run(DRAWN) == {"figure-savings": True}
    assert [one for one in recommended.requests if not one.startswith("file:")] == []
    assert (recommended.complaints, recommended.run(WIDE)) == ([], 0)


def test_a_click_sorts_workloads(recommended):
    """By figures, not by their digits."""
    recommended.run("document.querySelectorAll('#scores th')[3].click()")
    found = recommended.run("[...document.querySelectorAll('#scores tbody tr')].map(r => +r.children[3].dataset.value)")
    assert found in (sorted(found), sorted(found, reverse=True))
    assert len(found) == 14
