"""hypot replay as people run it."""

import io
import json
import os
import re
from pathlib import Path

import jsonschema
import polars as pl
import pytest
from click.testing import CliRunner

from hypot.cli.main import cli
from hypot.replay.fleet import fleet as compiled_engine

ROOT = Path(__file__).resolve().parents[3]
WEEK = str(ROOT / "examples/replay/week.csv")
POLICIES = str(ROOT / "examples/replay/policies.yaml")
WORLD = str(ROOT / "examples/replay/world.yaml")
UNTIL = ["--to", "2026-01-05T01:00:00Z"]
TRACES = Path(os.environ.get("HYPOT_TRACES", ROOT.parent / "shared" / "traces"))
HPA = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 30
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 70}}
"""


def replay(*arguments):
    return CliRunner().invoke(cli, ["replay", *map(str, arguments)], catch_exceptions=False)


def shop(*arguments):
    return replay(WEEK, "-f", POLICIES, "--world", WORLD, *UNTIL, *arguments)


@pytest.fixture
def hpa(tmp_path):
    path = tmp_path / "hpa.yaml"
    path.write_text(HPA)
    return path


def test_a_table_has_a_line_for_each_policy_and_the_static_peak():
    """The table has all policies and what they are compared with."""
    result = shop()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("week: 2026-01-05T00:00:00Z to 2026-01-05T01:00:00Z")
    names = [line.split("  ")[0] for line in lines]
    assert {"hpa", "marks", "vpa", "pair", "hvpa", "static peak"} <= set(names)
    assert "The lower bound may use 2 to 1000 replicas of 1 to 4 cores and 512Mi to 4Gi" in result.stdout


def test_the_same_input_gives_the_same_bytes():
    """A replay depends on nothing but its input."""
    assert shop("-o", "json").stdout_bytes == shop("-o", "json").stdout_bytes


def test_json_keeps_its_schema():
    """The JSON matches the published schema."""
    document = json.loads(shop("-o", "json", "--grid", "hpa.cpu=60,80").stdout)
    schema = json.loads((ROOT / "src/hypot/cli/replay.schema.json").read_text())
    jsonschema.validate(document, schema)
    scores = document["workloads"][0]["scores"]
    assert scores["hpa cpu=60"]["cost"] >= scores["hpa cpu=80"]["cost"] > 0
    assert scores["hpa cpu=60"]["to_lower_bound"] > 1.0 == scores["static peak"]["to_static"]


def test_assumed_numbers_are_above_the_table():
    """With what gives the others; the numbers of the world file are not repeated."""
    lines = shop().stdout.splitlines()
    above = lines[2 : lines.index("", 2)]
    assert above[0].startswith("These numbers are assumed; --world FILE gives yours")
    assert "  service  timeout 10s, baseCpu 0.05, useful 0.8" in above
    assert "  prices   cpu $0.04048, memory $0.004445, late 10, restart 5m" in above
    assert "From the trace: demand unit rps" in above
    assert f"From Deployment/shop ({POLICIES}:4): workload replicas 4, cpu 1," in " ".join(" ".join(above).split())


def test_assumed_numbers_are_in_every_form(tmp_path, hpa):
    """In JSON with the policies that they matter for, in the page, and on stderr where stdout has only rows."""
    numbers = {one["parameter"]: one for one in json.loads(shop("-o", "json").stdout)["numbers"]}
    assert numbers["service.timeout"] == {
        "parameter": "service.timeout",
        "value": 10.0,
        "text": "10s",
        "from": "default",
        "source": "",
        "policies": ["hpa", "marks", "vpa", "pair", "hvpa"],
    }
    assert numbers["memory.base"]["policies"] == ["vpa", "pair", "hvpa"]
    assert (numbers["workload.cpu"]["from"], numbers["workload.cpu"]["value"]) == ("manifest", 1.0)
    page = tmp_path / "r.html"
    result = replay(WEEK, "-f", hpa, *UNTIL, "--report", page, "-o", "csv")
    assert "These numbers are assumed" in result.stderr
    assert "assumed" not in result.stdout
    assert "Numbers of the world that its file does not give" in page.read_text()
    assert "These numbers are assumed" in shop("--explain", "+5m").stderr


def test_a_strict_world_assumes_nothing(tmp_path, hpa):
    """The error is the part of a world file that is missing: with it, the same replay assumes nothing."""
    given = (WEEK, "-f", hpa, *UNTIL)
    refused = replay(*given, "--strict-world")
    assert refused.exit_code == 2
    assert refused.stdout == ""
    head, *lines = refused.stderr.splitlines()
    assert "numbers would be assumed; write them in a file, and name it with --world:" in head
    assert "  start: 30s  # From creation to ready, with the image on the node." in lines
    assert "workload:  # or give the manifest of the workload with -f" in lines
    world = world_with(tmp_path, "\n".join(lines))
    accepted = replay(*given, "--strict-world", "--world", world, "-o", "json")
    assert accepted.exit_code == 0
    before, after = (json.loads(one.stdout) for one in (replay(*given, "-o", "json"), accepted))
    assert [one["parameter"] for one in after["numbers"]] == ["demand.unit"]
    assert before["workloads"] == after["workloads"]
    world.write_text("\n".join(lines).replace("  start: 30s", "  stop: 30s"))
    refused = replay(*given, "--strict-world", "--world", world)
    assert f"--strict-world: 1 number would be assumed; write them in {world}:" in refused.stderr


def test_csv_and_parquet_hold_the_same_rows():
    """Both are the same table for other tools."""
    text = pl.read_csv(io.BytesIO(shop("-o", "csv").stdout_bytes))
    packed = pl.read_parquet(io.BytesIO(shop("-o", "parquet").stdout_bytes))
    assert text["policy"].to_list() == packed["policy"].to_list()
    assert text["cost"].to_list() == pytest.approx(packed["cost"].to_list())


def test_reports_are_written_whole(tmp_path):
    """The page and the picture are written, and no temporary file is left."""
    page, picture = tmp_path / "r.html", tmp_path / "r.svg"
    result = shop("--report", page, "--report", picture)
    assert result.exit_code == 0
    assert len(page.read_bytes()) < 8 * 2**20
    assert picture.read_text().lstrip().startswith("<?xml")
    assert f"written: {page}" in result.stderr
    assert not list(tmp_path.glob(".*"))


def test_a_report_that_cannot_be_written_leaves_nothing(tmp_path):
    """The error names the file, and no part of it is left."""
    result = shop("--report", tmp_path / "missing" / "r.html")
    assert result.exit_code == 2
    assert "r.html: cannot write" in result.stderr
    assert not list(tmp_path.iterdir())


def test_explain_shows_the_steps_around_a_moment():
    """It shows why a policy acted as it did, at any moment."""
    result = shop("--explain", "+40m")
    assert result.exit_code == 0
    assert "cpu is at" in result.stdout
    assert "2026-01-05T00:40:00Z" in result.stdout
    assert "by the histograms of usage" in result.stdout


@pytest.mark.parametrize("moment", ["2026-02-01T00:00:00Z", "+90d", "+soon", "never"])
def test_a_moment_outside_the_trace_is_refused(moment):
    """The error says what the trace covers, or how to write a time."""
    result = shop("--explain", moment)
    assert result.exit_code == 2
    assert "the trace covers" in result.stderr or "write" in result.stderr


def test_windows_and_tuning_are_reported(tmp_path):
    """The text says how many windows there are, and on which part of the trace the best of a grid was chosen."""
    world = tmp_path / "world.yaml"
    world.write_text(Path(WORLD).read_text() + "scoring: {windows: 2, tune: 0.5}\n")
    result = replay(WEEK, "-f", POLICIES, "--world", world, *UNTIL, "--grid", "hpa.cpu=60..80:10")
    assert "over 2 windows" in result.stdout
    assert "hpa: on the first 50% of the trace" in result.stdout
    assert "the best by SLO and then by price is" in " ".join(result.stdout.split())


def test_the_time_before_the_trace_is_bounded_too(tmp_path, hpa):
    """Not only the trace: ten years before it would take as long as ten years of it."""
    trace, world = tmp_path / "day.csv", tmp_path / "world.yaml"
    trace.write_text("timestamp,rps\n0,50\n86400,50\n")
    world.write_text("demand: {leadIn: 87600h}\n")
    result = replay(trace, "-f", hpa, "--world", world)
    assert result.exit_code == 2
    assert "day has 21,029,760 ticks of 15 s, 5,000,000 fit" in result.stderr


def test_one_trace_that_is_too_short_is_left_out(tmp_path, hpa):
    """The others of a fleet are still scored; the message says how long it is."""
    lengths = {"long": 240, "short": 10, "tiny": 5}
    rows = [f"{name},{60 * i},50" for name, count in lengths.items() for i in range(count)]
    trace, world = tmp_path / "fleet.csv", tmp_path / "world.yaml"
    trace.write_text("\n".join(["workload,timestamp,rps", *rows]) + "\n")
    world.write_text("scoring: {skip: 1h}\n")
    result = replay(trace, "-f", hpa, "--world", world, "-o", "json")
    assert result.exit_code == 0
    assert [one["name"] for one in json.loads(result.stdout)["workloads"]] == ["long"]
    message = "short has 36 ticks of 15 s, 0 of them to score; use fewer scoring.windows, or a shorter scoring.skip"
    assert message in result.stderr
    assert result.stderr.startswith("left out: ")
    assert "(and 1 more like it)" in result.stderr


def test_a_fleet_has_the_median_and_the_worst(tmp_path, hpa):
    """Many workloads in one file have one line per policy."""
    rows = [f"{name},{60 * i},{rate + i % 7}" for name, rate in (("a", 50), ("b", 300)) for i in range(120)]
    trace = tmp_path / "fleet.csv"
    trace.write_text("\n".join(["workload,timestamp,rps", *rows]) + "\n")
    result = replay(trace, "-f", hpa)
    assert result.exit_code == 0
    assert "median" in result.stdout
    assert "worst" in result.stdout


def test_all_errors_are_reported_at_once(tmp_path):
    """Errors of the manifest and of the trace come together, each with its file."""
    policy = tmp_path / "bad.yaml"
    policy.write_text(HPA.replace("averageUtilization: 70", "averageUtilization: -1"))
    trace = tmp_path / "bad.csv"
    trace.write_text("timestamp,rps\n0,1\n60,-5\n")
    result = replay(trace, "-f", policy)
    assert result.exit_code == 2
    assert "bad.yaml:" in result.stderr
    assert "bad.csv" in result.stderr


def test_a_metric_that_the_world_does_not_know_is_refused():
    """The meaning of a custom metric must be given; it is never guessed."""
    result = replay(WEEK, "-f", POLICIES, *UNTIL)
    assert result.exit_code == 2
    assert "http_requests_per_second" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name trace files"),
        (["--query", "up"], "--prometheus"),
        (["--prometheus", "http://127.0.0.1:9"], "--query"),
        ([WEEK, "--prometheus", "http://127.0.0.1:9", "--query", "up"], "not both"),
        ([WEEK, "--prometheus", "http://127.0.0.1:9"], "name trace files or a Prometheus server, not both"),
        (["nowhere.csv"], "nowhere.csv"),
        ([WEEK, "--grid", "hpa.cpu=90..50:5"], "--grid"),
        ([WEEK, "--grid", "nobody.cpu=1,2"], "nobody"),
        ([WEEK, "--report", "r.pdf"], ".html, .png or .svg"),
        ([WEEK, "--from", "2027-01-01T00:00:00Z"], "2026-01-12"),
        ([WEEK, "--world", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_wrong_usage_says_what_to_do(arguments, message, hpa):
    """The exit status is 2, and the message helps."""
    result = replay(*arguments, "-f", hpa)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_server_that_is_not_there_is_reported(hpa):
    """Without a network there is an error, not a traceback."""
    result = replay("--prometheus", "http://127.0.0.1:9", "--query", "up", "-f", hpa)
    assert result.exit_code == 2
    assert "127.0.0.1:9" in result.stderr


def test_a_replay_of_too_many_ticks_is_refused(tmp_path, hpa):
    """It is refused before memory is full, and the message says what to do."""
    trace = tmp_path / "long.csv"
    trace.write_text("timestamp,rps\n0,1\n400000000,1\n")
    result = replay(trace, "-f", hpa)
    assert result.exit_code == 2
    assert "--from and --to" in result.stderr


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.csv")), ids=lambda path: path.stem)
def test_every_recorded_trace_replays_quietly(trace):
    """Two hours of each trace of real demand replay without a warning."""
    start = float(trace.read_text().splitlines()[1].partition(",")[0])
    world, policies = ROOT / "docs/results/world.yaml", ROOT / "docs/results/policies.yaml"
    result = replay(trace, "-f", policies, "--world", world, "--to", start + 2 * 3600, "-o", "json")
    assert result.exit_code == 0
    assert result.stderr == ""
    workload = json.loads(result.stdout)["workloads"][0]
    assert workload["notes"] == []
    assert workload["scores"]["hpa-70"]["cost"] > 0


def test_recorded_traces_are_there():
    """Skips with a reason where the test above had no traces."""
    if not TRACES.is_dir():
        pytest.skip(f"no recorded traces in {TRACES}; name their folder in HYPOT_TRACES")
    assert len(list(TRACES.glob("*.csv"))) >= 15


def world_with(tmp_path, text):
    path = tmp_path / "own.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("scoring", ["{windows: 1000}", "{skip: 48h}"])
def test_a_trace_too_short_to_judge_is_refused(tmp_path, hpa, scoring):
    """It is refused before anything runs, and the message says what to change."""
    result = replay(WEEK, "-f", hpa, *UNTIL, "--world", world_with(tmp_path, f"scoring: {scoring}\n"))
    assert result.exit_code == 2
    assert "to score; use fewer scoring.windows" in result.stderr


def test_windows_of_equal_demand_are_judged_alike(tmp_path, hpa):
    """Also where the trace has memory: each window is compared with the bound of its own ticks."""
    trace = tmp_path / "even.csv"
    trace.write_text("\n".join(["timestamp,rps,memory", *(f"{60 * i},50,900000000" for i in range(181))]) + "\n")
    result = replay(trace, "-f", hpa, "--world", world_with(tmp_path, "scoring: {windows: 3}\n"), "-o", "json")
    workload = json.loads(result.stdout)["workloads"][0]
    whole = workload["scores"]["web"]["to_lower_bound"]
    assert [one["to_lower_bound"] for one in workload["windows"]["web"]] == pytest.approx([whole] * 3)


def test_explanations_are_text():
    """There is no JSON form, so -o is refused."""
    result = shop("--explain", "+5m", "-o", "json")
    assert result.exit_code == 2
    assert "omit -o" in result.stderr


@pytest.mark.parametrize("world", ["tick: 1s\n", "demand: {retries: 0.3, retryAfter: 10m}\n"])
def test_a_world_that_the_compiled_engine_does_not_support(tmp_path, hpa, world):
    """The plain engine replays it, whichever was asked for."""
    given = (WEEK, "-f", hpa, "--to", "2026-01-05T00:20:00Z", "--world", world_with(tmp_path, world), "-o", "json")
    compiled, plain = (replay(*given, "--engine", engine) for engine in ("fleet", "plain"))
    assert compiled.exit_code == 0
    assert compiled.stdout_bytes == plain.stdout_bytes
    assert "plain engine, which is slower, for web: metrics are " in compiled.stderr
    assert "the limit is 32" in compiled.stderr
    assert not plain.stderr


def test_policies_that_need_the_plain_engine_are_reported_once_for_each_reason(tmp_path, hpa):
    """A grid has many such policies."""
    given = (WEEK, "-f", hpa, "--to", "2026-01-05T00:20:00Z", "--world", world_with(tmp_path, "tick: 1s\n"))
    result = replay(*given, "--grid", "hpa.cpu=50..90:20", "--engine", "fleet")
    assert result.exit_code == 0
    assert result.stderr.count("plain engine") == 1
    assert "(and 2 more like it): " in result.stderr


def test_compiling_is_reported_without_a_terminal(hpa, monkeypatch):
    """One line at the start and one at the end, without control characters; nothing if it is compiled already."""
    given = (WEEK, "-f", hpa, "--to", "2026-01-05T00:20:00Z", "--engine", "fleet")
    replay(*given)
    assert not replay(*given).stderr
    monkeypatch.setattr(compiled_engine, "is_compiled", lambda _: False)
    lines = replay(*given).stderr.splitlines()
    assert lines[0] == "compiling the engine, once for this version"
    assert re.fullmatch(r"compiling the engine, once for this version: done after \d+ s", lines[1])
    assert len(lines) == 2


HOT = """
apiVersion: autoscaling.k8s.io/v1alpha1
kind: Hvpa
metadata: {name: web}
spec:
  targetRef: {kind: Deployment, name: web}
  scalingIntervals: [{maxReplicas: 22}]
  vpa:
    template:
      spec: {resourcePolicy: {containerPolicies: [{containerName: app, maxAllowed: {cpu: 1500m, memory: 2Gi}}]}}
"""


def test_samples_before_time_zero_count(tmp_path):
    """A trace may start at second 0, and metrics are older than that: pods still count as hot."""
    trace, policy = tmp_path / "hot.csv", tmp_path / "hot.yaml"
    trace.write_text("timestamp,rps\n0,3000\n3600,3000\n")
    policy.write_text(HOT)
    given = (trace, "-f", policy, "--world", world_with(tmp_path, "metrics: {lag: 1m}\n"), "-o", "json")
    compiled, plain = (replay(*given, "--engine", engine) for engine in ("fleet", "plain"))
    assert plain.exit_code == 0
    assert compiled.stdout_bytes == plain.stdout_bytes


def test_both_engines_give_the_same_bytes(hpa):
    """The figures of the compiled and the plain engine are the same."""
    given = (WEEK, "-f", hpa, "--to", "2026-01-06T00:00:00Z", "-o", "json")
    assert replay(*given, "--engine", "plain").stdout_bytes == replay(*given, "--engine", "fleet").stdout_bytes


@pytest.fixture
def fleet(tmp_path):
    """Eight workloads of an hour in one file; w6 has gaps."""
    path = tmp_path / "fleet.parquet"
    rows = [
        (f"w{i}", 60 * t, 50.0 + 10 * i + t % 7) for i in range(8) for t in range(61) if i != 6 or t not in {20, 40}
    ]
    pl.DataFrame(rows, schema=["workload", "timestamp", "requests"], orient="row").write_parquet(path)
    return path


def in_parts(monkeypatch):
    """Make replay read files in parts of two workloads."""
    for module in ("history", "parts"):
        monkeypatch.setattr(f"hypot.replay.traces.{module}.PART_ROWS", 130)


@pytest.mark.parametrize("form", ["json", "table", "csv"])
def test_a_fleet_in_parts_gives_the_same_bytes(fleet, hpa, monkeypatch, form):
    """A file too large for memory is read and replayed in parts, with the same figures."""
    given = (fleet, "-f", hpa, "-o", form, "--engine", "plain")
    whole = replay(*given)
    in_parts(monkeypatch)
    assert whole.exit_code == 0
    assert replay(*given).stdout_bytes == whole.stdout_bytes


def test_a_fleet_in_parts_over_processes(fleet, hpa, monkeypatch):
    """The figures are the same in several processes, with a report."""
    given = (fleet, "-f", hpa, "-o", "json", "--engine", "plain")
    whole = replay(*given)
    in_parts(monkeypatch)
    monkeypatch.setattr("hypot.replay.jobs.work.WORTH_A_PROCESS", 0)
    page = fleet.with_name("r.html")
    assert replay(*given, "--report", page).stdout_bytes == whole.stdout_bytes
    assert b"8 workloads" in page.read_bytes()


def test_a_large_fleet_with_a_bad_row_prints_nothing(fleet, hpa, monkeypatch):
    """Nothing is printed, although the rows before it were replayed."""
    frame = pl.read_parquet(fleet)
    frame = frame.with_columns(requests=pl.when(pl.int_range(pl.len()) == 450).then(-1.0).otherwise("requests"))
    frame.write_parquet(fleet)
    in_parts(monkeypatch)
    result = replay(fleet, "-f", hpa)
    assert result.exit_code == 2
    assert "column requests: row 451 is negative (-1.0)" in result.stderr
    assert result.stdout == ""


def test_a_large_fleet_has_workloads_that_cannot_be_judged(fleet, hpa, monkeypatch, tmp_path):
    """Such workloads are reported when they are read."""
    in_parts(monkeypatch)
    result = replay(fleet, "-f", hpa, "--world", world_with(tmp_path, "scoring: {skip: 48h}\n"))
    assert result.exit_code == 2
    assert "to score; use fewer scoring.windows" in result.stderr


def test_a_large_fleet_is_not_explained(fleet, hpa, monkeypatch):
    """--explain is refused for large and small fleets alike."""
    message = [replay(fleet, "-f", hpa, "--explain", "+5m").stderr]
    in_parts(monkeypatch)
    message.append(replay(fleet, "-f", hpa, "--explain", "+5m").stderr)
    assert all("--explain needs a single workload, and there are" in one for one in message)


def test_the_notes_of_a_fleet_are_cut_short(tmp_path, hpa):
    """Every trace may have gaps of its own; the most common notes come first."""
    path = tmp_path / "gaps.parquet"
    rows = [(f"w{i}", 60 * t, 50.0) for i in range(20) for t in range(61) if t != 20 + i]
    pl.DataFrame(rows, schema=["workload", "timestamp", "requests"], orient="row").write_parquet(path)
    result = replay(path, "-f", hpa, "--engine", "plain")
    assert result.stdout.count("1 gap, the longest 2 min from") == 11
    assert "and 9 more notes: -o json has those of every workload" in result.stdout


TORTOISE = """
---
apiVersion: autoscaling.mercari.com/v1beta3
kind: Tortoise
metadata: {name: tuned, annotations: {hypot.dev/tortoise-slot-period: daily}}
spec:
  updateMode: Auto
  targetRefs:
    scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
    horizontalPodAutoscalerName: web
"""


@pytest.mark.parametrize("named", [True, False])
def test_what_a_tortoise_saves(tmp_path, named):
    """Against the HPA of its target, with the bounds that were written by hand, whether or not it names it."""
    tortoise = TORTOISE if named else TORTOISE.replace("    horizontalPodAutoscalerName: web\n", "")
    manifests, trace, world = tmp_path / "both.yaml", tmp_path / "web.csv", tmp_path / "world.yaml"
    by_container = "type: ContainerResource\n    containerResource: {container: app, name: cpu,"
    by_hand = HPA.replace("type: Resource\n    resource: {name: cpu,", by_container)
    manifests.write_text(by_hand.replace("minReplicas: 2", "minReplicas: 8") + tortoise)
    trace.write_text("timestamp,cores\n" + "".join(f"{1_700_000_000 + 3600 * i},2\n" for i in range(73)))
    world.write_text("tick: 5m\nworkload: {replicas: 8, cpu: 1}\n")
    given = (trace, "-f", manifests, "--world", world)
    scores = json.loads(replay(*given, "-o", "json").stdout)["workloads"][0]["scores"]
    before = scores["web"]["cpu_hours"]
    saved = before - scores["tuned"]["cpu_hours"]
    assert saved > 100
    text = " ".join(replay(*given).stdout.split())
    assert f"tuned saves {saved:.1f} core-hours ({100 * saved / before:.1f} %) against web, as written by hand." in text
