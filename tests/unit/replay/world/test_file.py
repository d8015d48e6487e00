"""A world from a file: what users may write, and how mistakes are reported."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.replay.world.file import WorldError, read_world, world_from_dict, world_to_dict
from hypot.replay.world.parameters import Demand, Drop, Metrics, Span, Workload, World
from hypot.replay.world.rules import _ORDERS
from hypot.replay.world.units import UNITS, sections

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "world.md"
SCHEMA = ROOT / "src" / "hypot" / "cli" / "world.schema.json"
VALIDATOR = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "world.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def problems(read, given):
    with pytest.raises(WorldError) as caught:
        read(given)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def outcome(read, given):
    try:
        return read(given), ()
    except WorldError as error:
        return None, error.problems


def test_an_empty_file_is_a_world_of_defaults(written):
    """What is not written has its default."""
    assert read_world(written("")) == read_world(written("demand:\nmetrics: {names: , gaps: }\n")) == World()


def test_the_example_of_the_page_is_a_world(written):
    """The documented example can be used as it is, and its schema accepts it."""
    text = re.search(r"<!-- example: world -->\n\n```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    world = read_world(written(text))
    assert world.demand == Demand(peak=12.0, noise=0.05, drops=(Drop(93600.0, 100800.0, 0.5),))
    assert world.metrics.gaps == (Span(108000.0, 108120.0),)
    assert world.metrics.names == {"http_requests": "requests", "queue_length": "queue"}
    assert world.workload == Workload(3, 0.5, 512 * 2**20, None, 2**30)
    assert (world.service.work, world.service.base_cpu, world.memory.fall) == (0.02, 0.05, 1800.0)


@pytest.mark.parametrize(
    ("section", "name", "text", "value"),
    [
        ("service", "work", "20ms", 0.02),
        ("service", "work", "0.5", 0.5),
        ("memory", "fall", "2h30m", 9000.0),
        ("pods", "stop", "0", 0.0),
        ("pods", "burnCpu", "500m", 0.5),
        ("pods", "burnCpu", "2", 2.0),
        ("memory", "base", "1.5Gi", 3 * 2**29),
        ("memory", "leak", "35k", 35000.0),
        ("memory", "base", "100", 100),
        ("resize", "inPlace", "false", False),
        ("resize", "room", "null", None),
        ("resize", "room", "250m", 0.25),
        ("nodes", "start", "3", 3),
        ("prices", "cpu", "0.05", 0.05),
        ("demand", "unit", "cores", "cores"),
        ("workload", "cpuLimit", "null", None),
    ],
)
def test_values_as_people_write_them(written, section, name, text, value):
    """Durations, quantities and plain numbers."""
    world = read_world(written(f"{section}:\n  {name}: {text}\n"))
    found = next(s for s in sections() if s.name == section)
    attribute = next(p.attribute for p in found.parameters if p.name == name)
    held = getattr(getattr(world, found.attribute), attribute)
    assert held == value
    assert type(held) is type(value)


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("tick: 0", "1: tick: 0 must be above 0s and at most 5m"),
        ("tick: 6m", '1: tick: "6m" must be above 0s and at most 5m'),
        ("sead: 3", "1: sead: unknown parameter; did you mean seed?"),
        ("seed: 1.5", "1: seed: 1.5 is not a whole number such as 2"),
        ("seed: '3'", '1: seed: "3" is not a whole number such as 2'),
        ("demand:\n  nois: 1", "2: demand.nois: unknown parameter; did you mean noise?"),
        ("demand:\n  noise: true", "2: demand.noise: true is not a number such as 0.15"),
        ("demand:\n  noise: '0.1'", '2: demand.noise: "0.1" is not a number such as 0.15'),
        ("demand:\n  noise:", "2: demand.noise: is empty; write a value, or leave it out for the default"),
        ("demand:\n  unit: requests", '2: demand.unit: "requests" is not one of rps, cores'),
        ("demand:\n  drops: 3h", "2: demand.drops: write a list of at most 10000 entries"),
        ("demand:\n  drops:\n  - {start: 1h, end: 2h}", "3: demand.drops[0]: has no factor"),
        ("demand:\n  drops: [3]", "2: demand.drops[0]: 3 is not a mapping; write one, such as 'start: 2h'"),
        (
            "demand:\n  drops:\n  - start: 2h\n    end: 1h\n    factor: 0.5",
            "4: demand.drops[0].end: 1h is not after the start, 2h",
        ),
        (
            "metrics:\n  gaps:\n  - {start: 1h, end: 2h}\n  - {start: 90m, end: 3h}",
            "4: metrics.gaps[1].start: 90m is before the end of the previous entry, 2h; write them in order",
        ),
        ("metrics:\n  names: {rps: request}", '2: metrics.names.rps: "request" is not one of requests, latency, queue'),
        ("metrics:\n  names: {'': queue}", "2: metrics.names: a metric without a name"),
        ("metrics:\n  window: 25h", "2: metrics.window (25h) is more than 24h; autoscalers work with minutes"),
        ("metrics: [1]", "1: metrics: [1] is not a mapping; write one, such as 'window: ...'"),
        ("service:\n  slo: 1", "2: service.slo: 1 must be above 0 and below 1"),
        ("service:\n  useful: 0", "2: service.useful: 0 must be above 0 and at most 1"),
        ("service:\n  work: 20mss", '2: service.work: "20mss" is not a duration such as 15s, 2h30m or 90'),
        ("service:\n  deadline: 20s", "2: service.deadline (20s) is above service.timeout (10s, the default)"),
        ("memory:\n  base: 2Qi", '2: memory.base: "2Qi" is not a quantity such as 200Mi or 2Gi'),
        ("memory:\n  base: 100Ti", '2: memory.base: "100Ti" must be at least 0 and at most 64Ti'),
        ("pods:\n  start: 2s", "2: pods.create (3s, the default) is above pods.start (2s); containers run before"),
        ("workload:\n  cpu: 2", "2: workload.cpu (2) is above workload.cpuLimit (1.2, the default); write the limit"),
        ("workload:\n  memoryLimit: 1Mi", "2: workload.memory (1Gi, the default) is above workload.memoryLimit (1Mi)"),
        ("workload:\n  replicas: 0", "2: workload.replicas: 0 must be at least 1"),
        ("shapes:\n  minReplicas: 4\n  maxReplicas: 3", "2: shapes.minReplicas (4) is above shapes.maxReplicas (3)"),
        ("demand:\n  scale: 2\n  peak: 12", "2: demand.scale and demand.peak both say how large a trace is"),
        (
            "nodes:\n  start: 1\n  cpu: 1",
            "3: workload.cpu (1, the default) is more than a node has for pods: nodes.cpu (1), of which nodes.reserved",
        ),
        ("tick: 15s\ntick: 5s", "2: the key 'tick' is given twice, first on line 1"),
        ("tick: 15s\n---\ntick: 5s", "3: a second document; write one world per file"),
        ("tick: .nan", "1: .nan is not a number"),
        ("[1, 2]", "1: the world: [1, 2] is not a mapping; write one, such as 'tick: 15s'"),
        ("a: [1", "a ',' or ']' is missing"),
    ],
)
def test_problems_are_reported_with_their_line(written, text, reported):
    """One problem, its line, and what to do."""
    path = written(text)
    found = problems(read_world, path)
    assert len(found) == 1
    assert reported in found[0].removeprefix(f"{path}:")


def test_everything_is_reported_at_once_in_order(written):
    """All mistakes of a file can be corrected in one go."""
    path = written("pods: {start: 1s}\nservice: {slo: 2, wrk: 1}\ntick: x\nprices: 3\n")
    found = [line.removeprefix(f"{path}:").split(":")[0] for line in problems(read_world, path)]
    assert found == ["1", "2", "2", "3", "4"]


def test_a_parameter_that_cannot_be_read_is_not_judged_again(written):
    """A limit that is not a quantity is not also reported as below the request."""
    assert len(problems(read_world, written("workload: {cpu: 4, cpuLimit: much}"))) == 1


def test_files_that_cannot_be_read(tmp_path):
    """Missing, binary and too large files are reported by name."""
    binary, huge = tmp_path / "binary.yaml", tmp_path / "huge.yaml"
    binary.write_bytes(b"\xff\xfe\xfa")
    huge.write_bytes(b"#" * (2**20 + 1))
    reported = {
        tmp_path / "none.yaml": "cannot be read",
        tmp_path: "cannot be read",
        binary: "not UTF-8 text",
        huge: "larger than",
    }
    for path, message in reported.items():
        assert message in problems(read_world, path)[0]
        assert str(path) in problems(read_world, path)[0]


@pytest.mark.parametrize(
    ("tick", "window", "rounded"),
    [("15s", "30s", 30.0), ("15s", "10s", 15.0), ("20s", "30s", 40.0), ("100ms", "300ms", 0.3), ("7s", "1ms", 7.0)],
)
def test_the_window_of_metrics_is_whole_ticks(written, tick, window, rounded):
    """Rounded up, in decimals: three times 0.1 is 0.3."""
    assert read_world(written(f"tick: {tick}\nmetrics: {{window: {window}}}")).metrics.window == rounded


def test_the_default_window_too_is_whole_ticks():
    """A longer tick makes it longer."""
    assert world_from_dict({"tick": 20}).metrics == replace(Metrics(), window=40.0)


def test_a_dict_is_reported_without_lines():
    """The messages are the same without a file."""
    stranger, tick = problems(world_from_dict, {"tick": -1, 3: 4})
    assert stranger.startswith("3: unknown parameter; the parameters here are tick, seed, demand, service, memory, ")
    assert tick == "tick: -1 must be above 0s and at most 5m"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 10**400, object(), b"1"])
def test_invalid_numbers(value):
    """Infinite, absurd and non-numeric values are refused."""
    assert problems(world_from_dict, {"prices": {"cpu": value}})[0].startswith("prices.cpu: ")


def values_of(parameter):
    """Values that a parameter may have, as a file would hold them."""
    held = parameter.range
    if parameter.choices:
        return st.sampled_from(parameter.choices)
    if parameter.unit == "names":
        return st.dictionaries(st.text(min_size=1, max_size=5), st.sampled_from(["requests", "usage"]), max_size=2)
    if parameter.unit in {"spans", "drops"}:
        more = {"factor": 0.25} if parameter.unit == "drops" else {}
        ends = st.lists(st.floats(0, 1e6), min_size=2, max_size=6, unique=True).map(sorted)
        pairs = ends.map(lambda at: list(zip(at[::2], at[1::2], strict=False)))
        return pairs.map(lambda found: [{"start": start, "end": end, **more} for start, end in found])
    if parameter.unit == "truth":
        return st.booleans()
    if parameter.unit in {"count", "bytes"}:
        found = st.integers(int(held.least), int(held.most))
    else:
        found = st.floats(
            held.least, held.most, exclude_min=held.open_low, exclude_max=held.open_high, allow_subnormal=False
        )
    return st.none() | found if parameter.optional else found


@st.composite
def dicts(draw):
    """A world file that breaks no rule."""
    data = {}
    for section in sections():
        chosen = draw(st.lists(st.sampled_from(section.parameters), max_size=4))
        part = {one.name: draw(values_of(one)) for one in chosen}
        data.update({section.name: part} if section.name else part)
    for order in _ORDERS:
        defaults = {p.name: p.default for s in sections() if s.name == order.section for p in s.parameters}
        part = data[order.section]
        low, high = (part.get(name, defaults[name]) for name in (order.low, order.high))
        if high is not None and low > high:
            part[order.low], part[order.high] = high, low
    if data["demand"].get("peak") is not None:
        data["demand"].pop("scale", None)
    data["nodes"].pop("start", None)
    data["metrics"]["window"] = draw(st.floats(0, 86000, exclude_min=True))
    return data


@settings(deadline=None)
@given(dicts())
def test_random_worlds_there_and_back(data):
    """Through JSON, as the schema describes it; reading it again gives the same world."""
    VALIDATOR.validate(data)
    world = world_from_dict(data)
    plain = json.loads(json.dumps(world_to_dict(world), allow_nan=False))
    VALIDATOR.validate(plain)
    assert world_from_dict(plain) == world


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
junk = st.recursive(scalars, lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(max_size=6), s, max_size=3))
names = st.sampled_from([p.name for s in sections() for p in s.parameters] + [s.name for s in sections()])


@settings(deadline=None)
@given(st.dictionaries(names, st.dictionaries(names | st.text(max_size=4), junk, max_size=4) | junk, max_size=5) | junk)
def test_junk_is_a_world_or_reported(data):
    """No other error is raised."""
    world, reported = outcome(world_from_dict, data)
    assert isinstance(world, World) or reported


@settings(deadline=None)
@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_file_is_a_world_or_reported(tmp_path_factory, content):
    """This holds for any bytes."""
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    world, reported = outcome(read_world, path)
    assert isinstance(world, World) or reported
    assert all(line.startswith(str(path)) for line in reported)


def test_the_schema_is_published():
    """It is a valid JSON schema."""
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "data",
    [
        {"tik": 1},
        {"tick": 0},
        {"tick": "x"},
        {"demand": {"unit": "requests"}},
        {"demand": {"drops": [{"start": 1, "end": 2}]}},
        {"metrics": {"names": {"a": "b"}}},
        {"service": {"slo": 1}},
        {"workload": {"cpu": None}},
    ],
)
def test_the_schema_refuses_what_is_refused(data):
    """The schema and the reader refuse the same."""
    assert list(VALIDATOR.iter_errors(data))
    assert problems(world_from_dict, data)


def test_every_parameter_is_described():
    """Each has a unit that can be read, a range that its default keeps, and a reason."""
    for section in sections():
        for one in section.parameters:
            assert one.why.endswith(".")
            assert one.unit in {*UNITS, "word", "names", "spans", "drops"}
            if one.unit in UNITS and one.unit != "truth" and one.default is not None:
                assert one.range.holds(one.default)
    parts = [f for f in fields(World) if is_dataclass(f.type)]
    assert len(sections()) == 1 + len(parts)
    assert len(sections()[0].parameters) == len(fields(World)) - len(parts)
    assert [len(s.parameters) for s in sections()[1:]] == [len(fields(f.type)) for f in parts]
