"""hypot history, from the command line to its exit status."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import yaml

from hypot.core.instant import show_time
from unit.cli.command import hypot
from unit.policy.sizes_world import DAY, HOUR, NOW, box, workload
from unit.policy.tortoise.tortoise_world import container_metric, hpa, policy, tortoise
from unit.replay.traces.prometheus_server import needs_prometheus, serving

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE, USAGE = str(ROOT / "examples/tortoise.yaml"), str(ROOT / "examples/usage.csv")
PNG = b"\x89PNG\r\n\x1a\n"
WEEK = 7 * DAY
# The end of the histories: the last full hour before the dump.
END = NOW - NOW % HOUR
DEPLOYMENT = workload("Deployment", 4, box("app", cpu="1", memory="1Gi"))
BY_MEMORY = {"autoscalingPolicy": [policy(cpu="Off", memory="Horizontal")]}


def given(folder, *objects, name="dump.yaml"):
    path = folder / name
    path.write_text("---\n".join(yaml.safe_dump(one, sort_keys=False) for one in objects), encoding="utf-8")
    return path


def named(data, name, namespace="shop"):
    """The same object by another name; the target of a Tortoise has it too."""
    made = json.loads(json.dumps(data))
    made["metadata"] |= {"name": name, "namespace": namespace}
    if made["kind"] == "Tortoise":
        made["spec"]["targetRefs"]["scaleTargetRef"]["name"] = name
    return made


def rows(weeks=4, usage=1.4, step=HOUR, until=END):
    times = until - step * np.arange(int(weeks * WEEK / step))[::-1]
    return [(float(at), usage) for at in times]


def trace(folder, *series, name="usage.csv", column="cores"):
    """A file with these series: (workload, rows), or rows alone."""
    path = folder / name
    if isinstance(series[0], list):
        lines = [f"timestamp,{column}", *(f"{at:.0f},{value}" for at, value in series[0])]
    else:
        lines = [f"workload,timestamp,{column}"]
        lines += [f"{workload},{at:.0f},{value}" for workload, each in series for at, value in each]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def learn(folder, traces, *objects, more=()):
    """Import into state.json["tortoises"]; by default for one Tortoise and its Deployment."""
    dump = given(folder, *(objects or (tortoise(), DEPLOYMENT)))
    arguments = [traces] if not isinstance(traces, list) else traces
    return hypot("history", "import", *arguments, "-f", dump, "--state", folder / "state.json", *more)


def stored(folder, key="Tortoise/shop/web"):
    return json.loads((folder / "state.json").read_text())["autoscalers"][key]["tortoise"]


BOTH = workload("Deployment", 4, box("app", cpu="1"), box("proxy", cpu="200m"))


class TestImport:
    """Traces become the state that `hypot decide` continues from."""

    def test_the_example_works_from_its_first_day(self, tmp_path):
        """Without a history it would make an HPA with the administrator's bounds."""
        state = tmp_path / "state.json"
        result = hypot("history", "import", USAGE, "-f", EXAMPLE, "--state", state)
        assert (result.status, result.err) == (0, "")
        lines = result.out.splitlines()
        assert lines[0] == "shop/web  Tortoise → Deployment/web"
        assert "168 of 168 slots have data, from 666 occurrences; 5 left out for lack of samples" in result.out
        assert lines[-1] == f"{state}: 1 Tortoise of 1 learned."
        decided = hypot("decide", "-f", EXAMPLE, "--state", state)
        assert "Friday 7:00 to 8:00 needed at most 2871m of cpu in the last 4 weeks: 3 to 6 replicas." in decided.out
        again = json.loads(hypot("decide", "-f", EXAMPLE, "--state", state, "-o", "json").out)
        assert again["decisions"][0]["status"]["tortoisePhase"] == "Working"

    def test_the_state(self, tmp_path):
        """Since the start of the history, at the first target, until its end."""
        assert learn(tmp_path, trace(tmp_path, rows())).status == 0
        found = stored(tmp_path)
        begun = END - 4 * WEEK + HOUR
        assert (found["since"], found["targets"]) == ({"app/cpu": begun}, {"app/cpu": 70})
        assert (found["learned"]["place"], found["learned"]["since"]) == ("app/cpu", begun)
        entry = json.loads((tmp_path / "state.json").read_text())["autoscalers"]["Tortoise/shop/web"]
        assert entry["seen"] == {"replicas": None, "at": END}

    def test_the_target_is_that_of_the_hpa(self, tmp_path):
        """A lower target needs more."""
        dump = (tortoise(), DEPLOYMENT, hpa(3, 20, container_metric(percent=50)))
        result = learn(tmp_path, trace(tmp_path, rows(usage=2.0)), *dump)
        assert "at a target of 50 %" in result.out
        assert "most needed: 4 of cpu" in result.out
        assert stored(tmp_path)["targets"] == {"app/cpu": 50}

    def test_slots_are_those_of_the_settings(self, tmp_path):
        """Annotations count too."""
        settings = tmp_path / "settings.yaml"
        settings.write_text("tortoise: {slotHours: 6, timeZone: Europe/Berlin}\n")
        own = tortoise(annotations={"hypot.dev/tortoise-window-weeks": "2"})
        result = learn(tmp_path, trace(tmp_path, rows()), own, DEPLOYMENT, more=["--settings", settings])
        assert "28 of 28 slots have data" in result.out
        learned = stored(tmp_path)["learned"]
        assert (learned["hours"], learned["zone"], learned["weeks"]) == (6, "Europe/Berlin", 2)

    def test_a_short_history_gathers_on(self, tmp_path):
        """Less than a week does not have each slot."""
        result = learn(tmp_path, trace(tmp_path, rows(weeks=0.5)))
        assert result.status == 0
        assert "too little to work at once: it gathers data for 7 days" in result.out

    def test_traces_are_matched_by_the_name_of_the_target(self, tmp_path):
        """With or without its namespace; others are ignored, and Tortoises without a trace are named."""
        several = [
            object_
            for name, namespace in (("web", "shop"), ("api", "shop"), ("api", "blog"), ("idle", "shop"))
            for object_ in (named(tortoise(), name, namespace), named(DEPLOYMENT, name, namespace))
        ]
        usage = trace(tmp_path, ("web", rows()), ("shop/api", rows(usage=2.8)), ("blog/api", rows()), ("other", rows()))
        result = learn(tmp_path, usage, *several)
        assert result.status == 1
        assert "not learned: no trace is called shop/idle or idle" in result.out
        assert result.out.splitlines()[-1].endswith("3 Tortoises of 4 learned.")
        assert result.err == "ignored: 1 trace without a Tortoise: other\n"
        assert set(json.loads((tmp_path / "state.json").read_text())["autoscalers"]) == {
            "Tortoise/shop/web",
            "Tortoise/shop/api",
            "Tortoise/blog/api",
        }

    def test_parquet_and_part_of_the_time(self, tmp_path):
        """The same readers as those of hypot replay."""
        usage = pl.DataFrame({"time": [at for at, _ in rows()], "cpu": [value for _, value in rows()]})
        usage.write_parquet(tmp_path / "usage.parquet")
        since = show_time(END - WEEK)
        result = learn(tmp_path, tmp_path / "usage.parquet", more=["--from", since, "--to", show_time(END)])
        assert f"1.0 weeks, {since} to {show_time(END)}" in result.out

    def test_one_of_several_containers(self, tmp_path):
        """A trace without a container is that of the first one; the other is observed first."""
        result = learn(tmp_path, trace(tmp_path, rows()), tortoise(), BOTH)
        missing = "replicas also follow cpu of proxy, which is not learned: a trace of it is called shop/web/proxy"
        assert missing in result.out
        assert set(stored(tmp_path)["since"]) == {"app/cpu"}

    @pytest.mark.parametrize("names", [("web", "shop/web/proxy"), ("shop/web/proxy", "shop/web/app")])
    def test_each_of_several_containers(self, tmp_path, names):
        """Each with its own trace, in any order; the history shows both."""
        result = learn(tmp_path, trace(tmp_path, *[(name, rows()) for name in names]), tortoise(), BOTH)
        assert result.status == 0, result.err
        assert result.out.endswith("1 Tortoise of 1 learned.\n")
        assert set(stored(tmp_path)["since"]) == {"app/cpu", "proxy/cpu"}
        arguments = ["history", "-f", tmp_path / "dump.yaml", "--state", tmp_path / "state.json"]
        found = json.loads(hypot(*arguments, "-o", "json").out)["tortoises"]
        assert {(one["container"], one["size"], one["slots"][0]["needed"]) for one in found} == {
            ("app", "1", found[0]["slots"][0]["needed"]),
            ("proxy", "200m", found[0]["slots"][0]["needed"]),
        }
        assert hypot(*arguments).out.count("shop/web  Tortoise") == 2

    def test_a_container_twice(self, tmp_path):
        """With and without its name."""
        result = learn(tmp_path, trace(tmp_path, ("web", rows(1)), ("shop/web/app", rows(1))), tortoise(), BOTH)
        assert result.status == 2
        assert "are both that of shop/web: keep one of them" in result.err

    @pytest.mark.parametrize("until", [END - 8 * WEEK, END - WEEK])
    def test_an_older_history_replaces_nothing(self, tmp_path, until):
        """What is newer stays, and the import says so."""
        assert learn(tmp_path, trace(tmp_path, rows(usage=14.0))).status == 0
        before = stored(tmp_path)
        result = learn(tmp_path, trace(tmp_path, rows(weeks=2, usage=2.8, until=until)))
        assert result.status == 0
        assert "note: what it observed itself is newer than the end of this trace, and stays" in result.out
        after = stored(tmp_path)
        assert after["learned"]["codes"] == before["learned"]["codes"]
        assert after["learned"]["tally"] == before["learned"]["tally"]

    def test_a_newer_history_replaces_what_it_covers(self, tmp_path):
        """A few days more, and the weeks before stay."""
        learn(tmp_path, trace(tmp_path, rows(usage=14.0, until=END - DAY)))
        result = learn(tmp_path, trace(tmp_path, rows(weeks=2 / 7, usage=1.4)))
        assert (result.status, "stays" in result.out) == (0, False)
        text = hypot("history", "-f", tmp_path / "dump.yaml", "--state", tmp_path / "state.json").out
        assert text.count(" 20 ") >= 168

    def test_what_no_workload_needs(self, tmp_path):
        """A trace in another unit is cut, and the import says so."""
        assert "is the trace in cores?" in learn(tmp_path, trace(tmp_path, rows(usage=1e12))).out

    def test_what_is_known_otherwise_stays(self, tmp_path):
        """Phase and targets of earlier decisions, and other autoscalers."""
        dump = given(tmp_path, tortoise(), DEPLOYMENT, hpa(), name="before.yaml")
        state = tmp_path / "state.json"
        at = show_time(END - 2 * WEEK)
        hypot("decide", "-f", dump, "--state", state, "--now", at)
        before = stored(tmp_path)
        kept = json.loads(state.read_text())["autoscalers"].keys()
        assert learn(tmp_path, trace(tmp_path, rows())).status == 0
        after = stored(tmp_path)
        assert (after["phase"], after["targets"], after["low"]) == (before["phase"], before["targets"], before["low"])
        assert after["since"]["app/cpu"] == END - 4 * WEEK + HOUR
        assert json.loads(state.read_text())["autoscalers"].keys() == kept


REFUSED = [
    pytest.param("rps", [("web", rows(1))], "'web' is in requests/s, and a Tortoise learns from usage", id="requests"),
    pytest.param("cores", [("web", [(0, 1), (60, 1)])], "do not count from 1970", id="no dates"),
    pytest.param("cores", [("web", rows(1)), ("shop/web", rows(1))], "are both that of shop/web", id="twice"),
    pytest.param("cores", [("a", rows(1)), ("b", rows(1))], "there are a, b, wanted is shop/web", id="nobody"),
    pytest.param("cores", [("web", [(END, "x"), (END + 60, 1)])], "row 2 ('x') is not a number", id="not a number"),
]


class TestRefused:
    """Input that cannot be learned from: nothing is written."""

    @pytest.mark.parametrize(("column", "series", "expected"), REFUSED)
    def test_traces(self, tmp_path, column, series, expected):
        """The reason says what to do."""
        result = learn(tmp_path, trace(tmp_path, *series, column=column))
        assert result.status == 2
        assert expected in result.err
        assert not (tmp_path / "state.json").exists()

    def test_all_problems_at_once(self, tmp_path):
        """Of all traces."""
        several = [named(tortoise(), name) for name in ("web", "api")]
        several += [named(DEPLOYMENT, name) for name in ("web", "api")]
        usage = trace(tmp_path, ("web", rows(1)), ("api", rows(1)), column="requests")
        assert learn(tmp_path, usage, *several).err.count("requests/s") == 2

    def test_a_name_in_two_namespaces(self, tmp_path):
        """A trace without a namespace could be either."""
        both = [named(one, "web", space) for space in ("shop", "blog") for one in (tortoise(), DEPLOYMENT)]
        result = learn(tmp_path, trace(tmp_path, ("web", rows(1)), ("api", rows(1))), *both)
        assert result.status == 2
        assert "may be that of the Tortoises shop/web and blog/web: name it by namespace and name" in result.err

    @pytest.mark.parametrize(
        ("objects", "expected"),
        [
            ([tortoise()], "Deployment/web is not in the input"),
            ([tortoise(), {**DEPLOYMENT, "spec": {"replicas": 2, "selector": {}}}], "with its pod template"),
            (
                [tortoise(refs={"horizontalPodAutoscalerName": "own"}), DEPLOYMENT],
                "HorizontalPodAutoscaler own: add it",
            ),
            ([tortoise(**BY_MEMORY), DEPLOYMENT], "its replicas follow memory, and a trace has only cores"),
            ([tortoise(autoscalingPolicy=[policy(cpu="Off")]), DEPLOYMENT], "no resource is Horizontal"),
            ([tortoise(mode="Sometimes"), DEPLOYMENT], "it is not valid"),
        ],
    )
    def test_tortoises(self, tmp_path, objects, expected):
        """Each with its file and line."""
        result = learn(tmp_path, trace(tmp_path, rows(1)), *objects)
        assert result.status == 2
        assert expected in result.err
        assert f"{tmp_path / 'dump.yaml'}:1: shop/web: " in result.err

    def test_one_of_several(self, tmp_path):
        """The others learn."""
        several = [named(tortoise(), "web"), DEPLOYMENT, named(tortoise(), "api")]
        several += [named(tortoise(**BY_MEMORY), "cache"), named(DEPLOYMENT, "cache")]
        usage = trace(tmp_path, *[(name, rows()) for name in ("web", "api", "cache")])
        result = learn(tmp_path, usage, *several)
        assert result.status == 1
        assert result.out.splitlines()[-1].endswith("1 Tortoise of 3 learned.")
        assert "not learned: its replicas follow memory" in result.out
        assert "not learned: Deployment/api is not in the input" in result.out

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ([], "name trace files, or a Prometheus server"),
            (["--prometheus", "http://127.0.0.1:1"], "--prometheus needs a --query, such as 'sum(rate("),
            (["--query", "up"], "--query needs the server"),
        ],
    )
    def test_usage(self, tmp_path, arguments, expected):
        """As for hypot replay."""
        result = learn(tmp_path, [], more=arguments)
        assert (result.status, expected in result.err) == (2, True)

    def test_no_tortoise(self, tmp_path):
        """It says what there is."""
        result = learn(tmp_path, trace(tmp_path, rows(1)), DEPLOYMENT)
        assert (result.status, "no Tortoise in the input: found only 1 Deployment" in result.err) == (2, True)

    def test_options_before_import(self, tmp_path):
        """They would be ignored."""
        result = hypot("history", "-f", EXAMPLE, "import", USAGE, "-f", EXAMPLE, "--state", tmp_path / "state.json")
        assert (result.status, "options of import belong after it" in result.err) == (2, True)


@needs_prometheus
def test_usage_from_a_real_prometheus(tmp_path, monkeypatch):
    """Weeks of a counter become the same need as a trace of its rate; without --from, only the last weeks count."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HYPOT_PROMETHEUS_TOKEN", raising=False)
    step = 300
    times = range(int(END - WEEK), int(END) + 1, step)
    lines = ["# TYPE cpu_seconds counter"]
    lines += [
        f'cpu_seconds_total{{deployment="web"}} {1.4 * step * number:.1f} {at}' for number, at in enumerate(times)
    ]
    with serving(tmp_path, "\n".join([*lines, "# EOF", ""]), step + 60) as address:
        query = "sum by (deployment) (rate(cpu_seconds_total[10m]))"
        asked = ["--prometheus", address, "--query", query, "--from", END - WEEK + 600, "--to", END]
        result = learn(tmp_path, [], more=asked)
    assert (result.status, result.err) == (0, "")
    assert "most needed: 2 of cpu in total" in result.out
    assert "of 168 slots have data" in result.out


@pytest.fixture(scope="module")
def taught(tmp_path_factory):
    """The state of the example, after its history."""
    folder = tmp_path_factory.mktemp("history")
    assert hypot("history", "import", USAGE, "-f", EXAMPLE, "--state", folder / "state.json").status == 0
    return folder / "state.json"


def test_a_state_that_cannot_be_read_is_not_overwritten(taught, tmp_path):
    """Weeks would be lost."""
    data = json.loads(taught.read_text())
    for entry in data["autoscalers"].values():
        entry["tortoise"]["learned"]["codes"] = "AAAA"
    state = tmp_path / "broken.json"
    state.write_text(json.dumps(data))
    result = hypot("decide", "-f", EXAMPLE, "--state", state)
    assert result.status == 2
    assert "learned slots cannot be read" in result.err
    assert json.loads(state.read_text()) == data


class TestShow:
    """The week as text, as JSON and as a picture."""

    def test_text(self, taught):
        """A line for each slot: bounds, needs by week, and what was left out."""
        result = hypot("history", "-f", EXAMPLE, "--state", taught)
        assert (result.status, result.err) == (0, "")
        lines = [" ".join(line.split()) for line in result.out.splitlines()]
        assert lines[1] == "cpu of app, 1 per pod; 4 weeks by the clock of UTC; since 2026-12-18T08:00:00Z"
        assert lines[3] == "slot min max cores 12-13 12-20 12-27 01-03 01-10"
        assert "Monday 2:00 to 3:00 3 6 2.464 - 2.464 2.33 2.284 2.198" in lines
        assert "Saturday 17:00 to 18:00 4 13 6.24 - - - 6.24 - 2026-12-26 left out: unmeasured" in lines
        assert sum(line.startswith(("Sunday ", "Monday ")) for line in lines) == 48

    def test_json(self, taught):
        """The same in the published form."""
        (found,) = hypot("history", "-f", EXAMPLE, "--state", taught, "-o", "json").json["tortoises"]
        assert (found["container"], found["size"], found["slotPeriod"]) == ("app", "1", "weekly")
        assert len(found["slots"]) == 168
        saturday = next(each for each in found["slots"] if (each["weekday"], each["from"]) == ("Saturday", 17))
        assert (saturday["minReplicas"], saturday["maxReplicas"], saturday["needed"]) == (4, 13, "6240m")
        assert saturday["needs"] == [{"day": "2027-01-09", "needed": "6240m", "replicas": 6.24}]
        assert saturday["leftOut"] == [{"day": "2026-12-26", "reason": "unmeasured"}]

    def test_the_bounds_are_those_of_a_decision(self, taught, tmp_path):
        """Its status has them for all slots."""
        (found,) = hypot("history", "-f", EXAMPLE, "--state", taught, "-o", "json").json["tortoises"]
        state = tmp_path / "state.json"
        state.write_bytes(taught.read_bytes())
        decided = json.loads(hypot("decide", "-f", EXAMPLE, "--state", state, "-o", "json").out)
        status = decided["decisions"][0]["status"]["recommendations"]["horizontal"]
        for key in ("minReplicas", "maxReplicas"):
            listed = [(each["weekday"], each["from"], each["value"]) for each in status[key]]
            assert listed == [(each["weekday"], each["from"], each[key]) for each in found["slots"]]

    def test_daily_slots_and_gaps(self, tmp_path):
        """Slots without history take the need of others, and say so."""
        settings = tmp_path / "settings.yaml"
        settings.write_text("tortoise: {slotPeriod: daily, slotHours: 6}\n")
        usage = [(at, value) for at, value in rows(weeks=1) if at % DAY < 12 * HOUR]
        assert learn(tmp_path, trace(tmp_path, usage), more=["--settings", settings]).status == 0
        arguments = ("-f", tmp_path / "dump.yaml", "--state", tmp_path / "state.json", "--settings", settings)
        text = hypot("history", *arguments).out
        assert "12:00 to 18:00    3    6      2  no history, as 6:00 to 12:00" in text
        (found,) = hypot("history", *arguments, "-o", "json").json["tortoises"]
        assert found["slots"][2]["instead"] == ["6:00 to 12:00"]
        assert "weekday" not in found["slots"][2]
        plot = tmp_path / "day.svg"
        assert hypot("history", *arguments, "--plot", plot).status == 0
        assert b"<svg" in plot.read_bytes()

    def test_nothing_to_show(self, tmp_path, taught):
        """It says why, also in JSON."""
        dump, expected = (
            given(tmp_path, named(tortoise(), "other"), named(DEPLOYMENT, "other")),
            "the state has nothing",
        )
        plot = tmp_path / "week.html"
        result = hypot("history", "-f", dump, "--state", taught, "--plot", plot)
        assert (result.status, expected in result.out) == (1, True)
        assert "not drawn" in result.err
        assert not plot.exists()
        assert expected in hypot("history", "-f", dump, "--state", taught, "-o", "json").json["tortoises"][0]["missing"]

    def test_in_other_slots(self, tmp_path, taught):
        """What was learned is shown in the slots of now, as the next decision reads it."""
        dump = given(tmp_path, tortoise(annotations={"hypot.dev/tortoise-slot-hours": "2"}), DEPLOYMENT)
        result = hypot("history", "-f", dump, "--state", taught)
        assert result.status == 0
        assert "Monday 8:00 to 10:00" in result.out

    def test_a_page_and_a_picture(self, taught, tmp_path):
        """The same input gives the same bytes."""
        page, picture = tmp_path / "week.html", tmp_path / "week.png"
        for plot in (page, picture):
            result = hypot("history", "-f", EXAMPLE, "--state", taught, "--plot", plot)
            assert (result.status, result.err) == (0, f"drawn: {plot}\n")
        text = page.read_text(encoding="utf-8")
        assert "<title>History of shop/web</title>" in text
        assert "week of 2026-12-20" in text
        assert "left out, unmeasured" in text
        assert picture.read_bytes().startswith(PNG)

    @pytest.mark.parametrize(
        ("arguments", "expected"),
        [
            ([], "name the Tortoises with -f and what they learned with --state"),
            (["-f", EXAMPLE], "name the Tortoises with -f"),
            (["-f", EXAMPLE, "--state", "x", "--plot", "week.pdf"], "is not a plot file"),
            (["-f", EXAMPLE, "--state", "x", "--name", "api"], "no Tortoise named api; there are shop/web"),
        ],
    )
    def test_bad_usage(self, arguments, expected):
        """Exit status 2 and a reason."""
        result = hypot("history", *arguments)
        assert (result.status, expected in result.err) == (2, True)

    def test_a_picture_shows_one(self, tmp_path):
        """Two need a page, or a choice."""
        both = [named(one, name) for name in ("web", "api") for one in (tortoise(), DEPLOYMENT)]
        learn(tmp_path, trace(tmp_path, ("web", rows()), ("api", rows())), *both)
        arguments = ("-f", tmp_path / "dump.yaml", "--state", tmp_path / "state.json")
        refused = hypot("history", *arguments, "--plot", tmp_path / "week.png")
        assert (refused.status, "a picture shows one Tortoise, and there are 2" in refused.err) == (2, True)
        assert hypot("history", *arguments, "--name", "api", "--plot", tmp_path / "week.png").status == 0
        assert hypot("history", *arguments, "--plot", tmp_path / "week.html").status == 0
