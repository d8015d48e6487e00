"""How traces are read, in every command: --trace, [traces] of the configuration, and what is assumed."""

import runpy
from pathlib import Path

import pytest
import yaml

from unit.cli.command import hypot

ROOT = Path(__file__).resolve().parents[3]
EXPORTS = ROOT / "examples" / "traces"
GRAFANA, SPREADSHEET, PROMETHEUS = (EXPORTS / name for name in ("grafana.csv", "spreadsheet.csv", "prometheus.json"))
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


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A repository with a manifest."""
    monkeypatch.chdir(tmp_path)
    Path(".git").mkdir()
    Path("hpa.yaml").write_text(HPA, encoding="utf-8")


def replay(trace, *said, more=()):
    keys = [part for one in said for part in ("--trace", one)]
    return hypot("replay", trace, "-f", "hpa.yaml", *keys, *more)


def above(result) -> list[str]:
    """What was assumed of the trace: key and value."""
    lines = result.out.splitlines()
    begin = next((place for place, line in enumerate(lines) if line.startswith("Assumed of the trace")), None)
    if begin is None:
        return []
    end = next(place for place, line in enumerate(lines) if line.startswith(("These numbers", "From ")))
    return [line.split(":")[0].strip() for line in lines[begin + 1 : end] if line[2:3] not in {" ", ""} and ":" in line]


def test_what_is_assumed_is_above_the_table():
    """With why, and with what says otherwise."""
    result = replay(GRAFANA)
    assert result.status == 0, result.err
    head, *_ = result.out.splitlines()
    assert head.startswith("3 workloads, checkout, search, GET /healthz: 2026-01-05T19:00:00Z to 2026-01-05T21:00:00Z")
    assert above(result) == ["unit   rps", 'value  ["checkout", "search", "GET /healthz"]', "zone   UTC"]
    assert "Assumed of the trace; --trace KEY=VALUE says otherwise, and --strict-world refuses to assume:" in result.out
    assert "4 values empty or NaN: left out (search)" in result.out


@pytest.mark.parametrize(
    ("trace", "said", "assumed"),
    [
        (GRAFANA, ("workload=checkout", "unit=rps", "zone=Europe/Berlin"), []),
        (SPREADSHEET, ("value=Anfragen", "unit=requests"), ["time  Zeit", "zone  UTC"]),
        (SPREADSHEET, ("time=1", "value=2", "unit=requests", "zone=Europe/Berlin"), []),
        (PROMETHEUS, ("unit=rps",), ["sum  false"]),
        (PROMETHEUS, ("unit=rps", "sum=true"), []),
        (PROMETHEUS, ("unit=rps", "sum=true", "name=job"), []),
    ],
)
def test_what_is_said_is_not_assumed(trace, said, assumed):
    """The examples of the documentation."""
    result = replay(trace, *said)
    assert result.status == 0, result.err
    assert above(result) == assumed


def test_numbers_are_read_in_the_way_of_their_file():
    """The sum of the counted requests of five minutes is that of the exports in requests/s."""
    documents = [
        replay(trace, *said, more=("-o", "json")).json
        for trace, said in (
            (GRAFANA, ("workload=checkout", "unit=rps", "zone=Europe/Berlin")),
            (SPREADSHEET, ("value=Anfragen", "unit=requests", "zone=Europe/Berlin")),
            (PROMETHEUS, ("unit=rps", "sum=true")),
        )
    ]
    assert {(one["workloads"][0]["from"], one["workloads"][0]["to"]) for one in documents} == {
        ("2026-01-05T18:00:00Z", "2026-01-05T20:00:00Z")
    }
    hours = [one["workloads"][0]["scores"]["web"]["cpu_hours"] for one in documents]
    assert max(hours) < 1.1 * min(hours)


def test_a_strict_world_prints_what_to_write():
    """As [traces] of the configuration: with it, nothing is assumed of the trace."""
    refused = replay(GRAFANA, more=("--strict-world",))
    assert refused.status == 2
    assert "--strict-world: how to read the trace would be assumed; write it in .hypot.toml" in refused.err
    Path(".hypot.toml").write_text(refused.err[refused.err.index("[traces]") :], encoding="utf-8")
    Path("grafana.csv").write_bytes(GRAFANA.read_bytes())
    result = replay("grafana.csv", more=("-o", "json"))
    assert not [one for one in result.json["numbers"] if one["parameter"].startswith("traces.")]
    assert [one["name"] for one in result.json["workloads"]] == ["checkout", "search", "GET /healthz"]


def test_assumptions_are_in_json_and_in_the_page():
    """As numbers with the default as their origin."""
    result = replay(SPREADSHEET, more=("-o", "json", "--report", "r.html"))
    found = {one["parameter"]: (one["value"], one["from"]) for one in result.json["numbers"]}
    assert found["traces.zone"] == ("UTC", "default")
    assert found["traces.time"] == ("Zeit", "default")
    assert "traces.zone" in Path("r.html").read_text(encoding="utf-8")


def test_the_configuration_nearest_to_the_trace_counts():
    """Else that of the working directory; a flag wins over both."""
    Path(".hypot.toml").write_text('[traces]\ntime = "wann"\nvalue = "wieviel"\nunit = "cores"\n', encoding="utf-8")
    rows = "".join(f"{60 * at},{at % 3}\n" for at in range(30))
    Path("sub").mkdir()
    for file in ("load.csv", "sub/load.csv"):
        Path(file).write_text(f"wann,wieviel\n{rows}", encoding="utf-8")
    assert "From the trace: demand unit cores" in replay("load.csv").out
    assert "From the trace: demand unit rps" in replay("load.csv", "unit=rps").out
    Path("sub/.hypot.toml").write_text('[traces]\ntime = "wann"\nvalue = "wieviel"\nunit = "rps"\n', encoding="utf-8")
    assert "From the trace: demand unit rps" in replay("sub/load.csv").out


def test_the_configuration_of_the_working_directory(tmp_path_factory):
    """It counts for a trace that is elsewhere, such as among downloads."""
    Path(".hypot.toml").write_text('[traces]\nunit = "cores"\n', encoding="utf-8")
    downloads = tmp_path_factory.mktemp("downloads")
    (downloads / ".git").mkdir()
    (downloads / "load.csv").write_text("time,value\n0,1\n600,2\n", encoding="utf-8")
    assert "From the trace: demand unit cores" in replay(downloads / "load.csv").out


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("unit", "--trace unit: write unit=rps, unit=requests or unit=cores"),
        ("units", "--trace units: write KEY=VALUE; did you mean unit?"),
        ("workload", "--trace workload: write workload=VALUE"),
        ("units=rps", "--trace units=rps: no such key; did you mean unit?"),
        ("unit=rpm", "--trace unit: 'rpm' is not one of rps, requests, cores; did you mean rps?"),
        ("zone=Qqq", "--trace zone: 'Qqq' is not a time zone such as Europe/Berlin"),
        ("decimal=x", "--trace decimal: 'x' is not one of ., ,"),
        ("sum=yes", "--trace sum: write true or false"),
        ("value=", "--trace value: '' is not text"),
        ("time=", "--trace time: write text that is not empty, not ''"),
    ],
)
def test_wrong_keys(said, problem):
    """All are reported at once, before anything is read."""
    result = replay("nowhere.csv", said, "name=x", "name=y")
    assert (result.status, result.out) == (2, "")
    assert problem.removesuffix(" or") in result.err
    assert "--trace name=y: name is given twice" in result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,rps\n0,1e308\n60,1\n", "trace.csv: column rps: row 2 is too large (1e308): at most 1e+15 fits"),
        ("time,requests\n0,1e15\n1e-9,1e15\n", "trace.csv: workload 'trace' has 1e+24 at 0 s: at most 1e+15 fits"),
    ],
)
def test_values_that_are_too_large(text, message):
    """One line of error, no traceback."""
    Path("trace.csv").write_text(text, encoding="utf-8")
    result = replay("trace.csv", *(("unit=requests",) if "requests" in text else ()))
    assert (result.status, result.out) == (2, "")
    assert message in result.err


@pytest.mark.parametrize("engine", ["plain", "auto"])
def test_the_largest_values_that_fit(engine):
    """They are replayed, also where times are very close."""
    Path("trace.csv").write_text("time,rps\n0,1e15\n1e-300,1e15\n60,1e15\n", encoding="utf-8")
    result = replay("trace.csv", more=("--engine", engine))
    assert result.status == 0, result.err


def test_tortoises_learn_from_the_same_files():
    """What is assumed is a note of the Tortoise."""
    weeks = [f"2026-01-{day:02} {hour:02}:00:00,{1 + hour % 3}" for day in range(1, 29) for hour in range(24)]
    Path("usage.csv").write_text("\n".join(["Time,web,db", *(f"{row},9" for row in weeks)]) + "\n", encoding="utf-8")
    example = str(ROOT / "examples" / "tortoise.yaml")
    names = [
        one["metadata"]["name"] for one in yaml.safe_load_all(Path(example).read_text()) if one["kind"] == "Deployment"
    ]
    said = ("--trace", "value=web", "--trace", "unit=cores")
    result = hypot("history", "import", "usage.csv", "-f", example, "--state", "state.json", *said)
    assert (result.status, len(names)) == (0, 1), result.err
    assert "note: assumed: zone UTC: its times have no time zone; --trace zone=Europe/Berlin names it" in result.out
    assert "note: ignored: column 'db'" in result.out
    refused = hypot(
        "history", "import", "usage.csv", "-f", example, "--state", "s.json", *said[:2], "--trace", "unit=rps"
    )
    assert "is in requests/s, and a Tortoise learns from usage" in refused.err


def test_a_pair_from_the_same_files():
    """What is assumed is a comment, as the other reasons."""
    world = ROOT / "examples" / "replay" / "world.yaml"
    given = ("deployment/web", "--rate", "auto", "--history", SPREADSHEET, "--world", world, "--replicas", "2..30")
    result = hypot("pair", *given, "--trace", "value=Anfragen", "--trace", "unit=requests")
    assert result.status == 0, result.err
    text = " ".join(line.strip(" #") for line in result.out.splitlines())
    assert "Assumed: zone UTC: its times have no time zone; --trace zone=Europe/Berlin names it." in text


def test_the_exports_are_those_of_their_script(tmp_path):
    """So that they can be changed."""
    copy = tmp_path / "exports.py"
    copy.write_bytes((EXPORTS / "exports.py").read_bytes())
    runpy.run_path(str(copy), run_name="__main__")
    for file in (GRAFANA, SPREADSHEET, PROMETHEUS):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes()
