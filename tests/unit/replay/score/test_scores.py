"""The scorecard, the cutting of runs, and what is reported where nothing can be computed."""

from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from hypot.policy.model.decision import Decision, Name
from hypot.policy.model.settings import Settings
from hypot.replay.fleet import fleet
from hypot.replay.fleet.records import NotCoveredError, TooLargeError
from hypot.replay.jobs.comparison import ReplayJob, do
from hypot.replay.policies.policy import Policy, Start
from hypot.replay.score.scorecard import FAMILIES, Scores, families
from hypot.replay.score.scores import ScoreError, needed_by, part, score, window_borders
from hypot.replay.traces.trace import Trace
from hypot.replay.world.parameters import Scoring, World
from hypot.replay.world.record import Moment, Watch
from unit.replay.score.scores_world import GI, run, static

PAGE = Path(__file__).resolve().parents[4] / "docs" / "metrics.md"
HPA = Name("autoscaling/v2", "HorizontalPodAutoscaler", "shop", "web")


def moment(at):
    return Moment(at, Decision(HPA, HPA, at, 2, 3, "", (), (), ()))


class TestScorecard:
    @pytest.mark.parametrize("name", [score.name for score in fields(Scores)])
    def test_the_page_explains_every_score(self, name):
        """Each score has a formula, in addition to its row in the table of names."""
        explained = PAGE.read_text(encoding="utf-8").split("<!-- end -->")[1]
        assert f"`{name}`" in explained or f"{name} = " in explained

    def test_families_hold_every_score_once(self):
        """In the order of the scorecard."""
        assert [one.name for family in families().values() for one in family] == [one.name for one in fields(Scores)]
        assert list(families()) == list(FAMILIES.values())

    def test_to_dict(self):
        """All by name, for JSON."""
        assert Scores(cost=1.0).to_dict() == {**dict.fromkeys(one.name for one in fields(Scores)), "cost": 1.0}


class TestNothing:
    def test_no_ticks(self):
        """Without ticks there are no scores."""
        assert score(run(0)) == Scores()

    def test_one_tick_of_nothing(self):
        """No demand, no pods, no requests: zeros and None, never NaN."""
        scores = score(run(1))
        assert (scores.cost, scores.peak_pods, scores.paradox) == (0.0, 0, 0)
        assert (scores.late, scores.slack, scores.horizontal) == (None, None, None)

    def test_one_tick_of_a_static_run(self):
        """Scores that need no second tick are there."""
        scores = score(static(1, 2, 1.0, GI, requests=1.0, work=1.0))
        assert (scores.late, scores.under, scores.to_static) == (0.0, 0.0, pytest.approx(1.0))

    def test_the_demand_of_another_run(self):
        """It is refused, and the error says what to do."""
        with pytest.raises(ScoreError, match="the run has 3 ticks, its demand 4; make it from the same"):
            score(run(3), needed_by(run(4)))


class TestEngines:
    @pytest.mark.parametrize("error", [NotCoveredError("two of a kind"), TooLargeError("too many groups")])
    def test_the_plain_engine_does_what_the_compiled_one_cannot(self, monkeypatch, error):
        """Whichever error it raises, and whenever; progress is reported once."""
        refused, reported = [], []

        def refuse(*given):
            refused.append(given)
            raise error

        monkeypatch.setattr(fleet, "replay", refuse)
        start = Start("web", 2, "app", 1000, GI, 1200, GI)
        trace = Trace("web", np.array([0.0, 60.0]), np.array([50.0, 50.0]))
        job = ReplayJob(Policy("static", (), start), trace, World(), Settings())
        compiled, plain = (do(job._replace(compiled=may), reported.append) for may in (True, False))
        assert len(refused) == 1
        assert compiled.scores == plain.scores
        assert sum(reported) == 2 * (4 + 240)

    @pytest.mark.parametrize(
        "scoring",
        [
            Scoring(),
            Scoring(skip=120.0),
            Scoring(skip=1e6),
            Scoring(windows=3),
            Scoring(tune=0.4),
            Scoring(tune=0.4, windows=2),
        ],
    )
    def test_both_engines_judge_alike(self, scoring):
        """All scores, each window and the part for tuning are equal, whether or not rows are kept."""
        start = Start("web", 2, "app", 1000, GI, 1200, GI)
        trace = Trace("web", 60.0 * np.arange(40), np.linspace(50.0, 250.0, 40))
        job = ReplayJob(Policy("static", (), start), trace, replace(World(), scoring=scoring), Settings(), keep=False)
        compiled, plain = (do(job._replace(compiled=may)) for may in (True, False))
        assert len(compiled.windows) == (scoring.windows if scoring.windows > 1 else 0)
        for here, there in zip(judgements(compiled), judgements(plain), strict=True):
            assert list(here) == list(there)
            assert list(here.values()) == pytest.approx(list(there.values()), rel=1e-9)


def judgements(judged):
    scores = [judged.scores, judged.tuning or Scores(), judged.static, *judged.windows]
    reported = ({name: value for name, value in one.to_dict().items() if value is not None} for one in scores)
    return [{"prices": sum(judged.prices)}, *reported]


def windows(whole, count):
    """A run cut into windows."""
    edges = [*(float(whole.ticks.at[i]) for i in window_borders(len(whole.ticks.at), count)[:-1]), np.inf]
    return [part(whole, start, end) for start, end in pairwise(edges)]


class TestWindows:
    RUN = static(10, 2, 1.0, GI, requests=range(10), lost=range(10))

    def test_equal_to_a_tick(self):
        """Ten ticks in three windows: 3, 3 and 4, and none is lost."""
        cut = windows(self.RUN, 3)
        assert [len(one.ticks.at) for one in cut] == [3, 3, 4]
        assert np.concatenate([one.ticks.at for one in cut]).tolist() == self.RUN.ticks.at.tolist()

    def test_what_adds_up(self):
        """Cost, paid hours, lost requests, time in violation and restarts of windows are those of the run."""
        whole, cut = score(self.RUN), [score(one) for one in windows(self.RUN, 4)]
        for name in ("cost", "cpu_hours", "memory_hours", "late_minutes", "disruption"):
            assert sum(getattr(one, name) for one in cut) == pytest.approx(getattr(whole, name))
        assert sum(one.ticks.lost.sum() for one in windows(self.RUN, 4)) == self.RUN.ticks.lost.sum()


class TestPart:
    WATCH = Watch("cpu", *(np.arange(10) * 60.0 for _ in range(8)))
    RUN = replace(static(10, 2, 1.0, GI), moments=tuple(moment(at) for at in (0.0, 119.0, 120.0, 300.0)), watch=WATCH)

    def test_from_up_to(self):
        """The tick at the end belongs to the next part; decisions and marks are cut by their time."""
        cut = part(self.RUN, 120.0, 300.0)
        assert cut.ticks.at.tolist() == [120.0, 180.0, 240.0]
        assert [one.at for one in cut.moments] == [120.0]
        assert cut.watch.high.tolist() == [120.0, 180.0, 240.0]
        assert (cut.policy, cut.world) == (self.RUN.policy, self.RUN.world)

    def test_all_of_it(self):
        """Times beyond both ends add nothing."""
        cut = part(self.RUN, -100.0, 1e9)
        assert cut.ticks.at.tolist() == self.RUN.ticks.at.tolist()
        assert cut.moments == self.RUN.moments

    def test_none_of_it(self):
        """A time after the run gives an empty part."""
        cut = part(self.RUN, 1e6, 2e6)
        assert (len(cut.ticks.at), cut.moments, len(cut.watch.at)) == (0, (), 0)
