"""Which configuration is found, and what is wrong in it."""

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

from hypot.cli.configuration.fields import Configuration, ConfiguredTraces
from hypot.cli.configuration.file import ConfigurationFile, configuration_for
from hypot.cli.files import BadInput

SCHEMA = json.loads(files("hypot.cli").joinpath("configuration.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes files in the working directory, which is a repository."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()

    def make(**texts):
        for name, text in texts.items():
            path = tmp_path / NAMES.get(name, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    return make


NAMES = {
    "own": ".hypot.toml",
    "shared": "pyproject.toml",
    "own_below": "a/.hypot.toml",
    "shared_below": "a/pyproject.toml",
    "above": "../.hypot.toml",
}
LEVEL = 'fail-level = "never"\n'
IN_SHARED = f'[project]\nname = "hypot"\n[tool.hypot]\n{LEVEL}'


@pytest.mark.parametrize(
    ("texts", "paths", "found"),
    [
        ({}, ["a/b"], ""),
        ({"own": LEVEL}, ["a/b"], ".hypot.toml"),
        ({"own": LEVEL}, ["a/b/web.yaml", "/"], ".hypot.toml"),
        ({"own": LEVEL}, ["-"], ".hypot.toml"),
        ({"own": LEVEL}, ["-", "a"], ".hypot.toml"),
        ({"own": LEVEL}, ["nowhere/x"], ".hypot.toml"),
        ({"own": LEVEL}, [], ".hypot.toml"),
        ({"own": LEVEL, "own_below": LEVEL}, ["a/b"], "a/.hypot.toml"),
        ({"own": LEVEL, "own_below": LEVEL}, ["-"], ".hypot.toml"),
        ({"own": LEVEL, "shared": IN_SHARED}, ["a"], ".hypot.toml"),
        ({"shared": IN_SHARED}, ["a"], "pyproject.toml"),
        # A configuration of other tools is not ours.
        ({"own": LEVEL, "shared_below": '[project]\nname = "hypot"\n'}, ["a/b"], ".hypot.toml"),
        ({"own": LEVEL, "shared_below": "not = toml ="}, ["a/b"], ".hypot.toml"),
        # The repository ends where .git is.
        ({"above": LEVEL}, ["a"], ""),
    ],
)
def test_the_nearest_configuration_counts(write, texts, paths, found):
    """From the first path up to the root of the repository; its own file wins over the shared one."""
    write(**{"a/b/web.yaml": ""}, **texts)
    given = configuration_for(paths)
    assert given.file == found
    assert given.values.fail_level == ("never" if found else "error")
    Path("../.hypot.toml").unlink(missing_ok=True)


def test_all_keys(write):
    """Each key has its place; paths are relative to the file."""
    write(
        own_below='ignore = ["single-replica"]\nexclude = ["legacy/", "*.json"]\nkubernetes = "v1.34.2"\n'
        'fail-level = "warning"\nbaseline = "../known.json"\n'
        '[traces]\ntime = "ts"\nvalue = "req"\nunit = "requests"\nname = "app"\n'
        'zone = "Europe/Berlin"\ndecimal = ","\nsum = true\n'
    )
    found = configuration_for(["a"])
    assert found.values == Configuration(
        ("single-replica",),
        ("legacy/", "*.json"),
        (1, 34),
        "warning",
        "../known.json",
        ConfiguredTraces("ts", ("req",), "app", (), "requests", "Europe/Berlin", ",", sum=True),
    )
    assert (found.exclude.folder, found.baseline) == ("a", "known.json")


def test_without_a_file():
    """The defaults: nothing is silenced or left out."""
    assert ConfigurationFile() == (Configuration((), (), None, "error", "", ConfiguredTraces("", (), "", (), None)), "")
    assert ConfigurationFile().baseline == ""


def test_the_example_of_the_documentation(write):
    """It is accepted as it is."""
    page = (Path(__file__).parents[4] / "docs" / "lint.md").read_text(encoding="utf-8")
    write(own=page.partition("```toml\n")[2].partition("```")[0])
    assert configuration_for().values.traces == ConfiguredTraces("timestamp", ("requests_per_second",), unit="rps")


WRONG = """\
ignore = [
  "single-replica",
  "request-mising",
  7,
]
exlude = ["a"]
kubernetes = 1.30
fail-level = "warn"
baseline = " "

[traces]
unit = "rpm"
tme = "t"
value = 1
zone = "Qqq"
sum = "yes"
"""
PROBLEMS = [
    (1, "ignore: 7 is not text"),  # a number has no quotes to find it by
    (6, "exlude: no such key; did you mean exclude?"),
    (7, 'kubernetes: write the version as text, such as "1.36", not 1.3'),
    (8, "fail-level: 'warn' is not one of error, warning, never; did you mean warning?"),
    (9, "baseline: write text that is not empty, not ' '"),
    (12, "traces.unit: 'rpm' is not one of rps, requests, cores; did you mean rps?"),
    (13, "traces.tme: no such key; did you mean time?"),
    (14, "traces.value: write a list of text"),
    (15, "traces.zone: 'Qqq' is not a time zone such as Europe/Berlin"),
    (16, "traces.sum: write true or false"),
]


def problems_of(paths=(), named=None):
    with pytest.raises(BadInput) as raised:
        configuration_for(paths, named)
    return raised.value.message.splitlines()


def test_all_problems_at_once(write):
    """Each with its line and what was probably meant."""
    write(own=WRONG)
    assert problems_of() == [f".hypot.toml:{line}: {message}" for line, message in PROBLEMS]


def test_problems_of_the_shared_file(write):
    """The lines are those of the whole file."""
    write(shared='[project]\nname = "x"\n\n[tool.hypot]\nignore = ["zzzzz"]\n[tool.hypot.traces]\nunits = 1\n')
    assert problems_of() == [
        "pyproject.toml:5: ignore: there is no rule zzzzz",
        "pyproject.toml:7: traces.units: no such key; did you mean unit?",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = \n", ".hypot.toml:1: not valid TOML: Invalid value (column 5)"),
        ("a = 1\na = 2\n", ".hypot.toml:2: not valid TOML: Cannot overwrite a value (column 6)"),
        ("a = [" + "[" * 9000, ".hypot.toml: nested too deeply"),
        ("# " + "x" * 300_000, ".hypot.toml: larger than 262,144 bytes; this is not a configuration"),
        ('ignore = "x"', '.hypot.toml:1: ignore: write a list, such as ["x"]'),
        ('ignore = ["request-mising"]', "did you mean request-missing or target-missing?"),
        ("exclude = 1", ".hypot.toml:1: exclude: write a list of text"),
        ('kubernetes = "1.20"', "the oldest version that hypot supports is 1.23"),
        ("traces = 1", ".hypot.toml:1: traces: write a table"),
        ("zzz = 1", "zzz: no such key; known keys: ignore, exclude, kubernetes, fail-level, baseline, traces"),
        ("fail-level = []", "[] is not one of error, warning, never"),
        (
            "[tool.hypot]\n",
            "tool: no such key; known keys: ignore, exclude, kubernetes, fail-level, baseline, traces; ",
        ),
        ("[tool.hypot]\n", "[tool.hypot] is for pyproject.toml, here the keys are at the top"),
    ],
)
def test_what_cannot_be_used(write, text, problem):
    """One line says what is wrong and what to write."""
    write(own=text)
    assert problem in "\n".join(problems_of())


def test_text_in_another_encoding(tmp_path):
    """Its line is named; a byte order mark is read."""
    file = tmp_path / "x.toml"
    file.write_bytes(b"ignore = []\nbaseline = '\xe9'\n")
    assert problems_of(named=str(file)) == [f"{file}:2: not UTF-8 text; save it as UTF-8"]
    file.write_bytes(b"\xef\xbb\xbfexclude = ['x']\r\n")
    assert configuration_for((), str(file)).values.exclude == ("x",)


def test_a_file_that_is_named(write):
    """It is used whatever is near, and must be a configuration."""
    write(own='fail-level = "warning"', shared='[project]\nname = "x"\n', **{"ci/lint.toml": LEVEL})
    assert configuration_for((), "ci/lint.toml").values.fail_level == "never"
    assert problems_of(named="pyproject.toml") == [
        "pyproject.toml: there is no [tool.hypot] in it; write one, or name another file with --config"
    ]
    assert problems_of(named="no.toml") == [
        "no.toml: cannot read it: No such file or directory; check the path and its permissions"
    ]


def test_tool_hypot_is_a_table(write):
    """Any other value is refused."""
    write(shared="[tool]\nhypot = 1\n")
    assert problems_of() == ["pyproject.toml: tool.hypot must be a table: write [tool.hypot], and the keys below it"]


@pytest.mark.parametrize("key", ["ignore", "exclude", "kubernetes", "fail-level", "baseline", "traces", "more"])
@pytest.mark.parametrize("value", [1, 1.3, "1.34", "error", "", [], ["single-replica"], [1], {}, {"unit": "rps"}, True])
def test_the_schema_agrees(write, key, value):
    """What the published schema accepts is used, and what it refuses is a problem."""
    write(own=f"{key} = {toml(value)}\n")
    try:
        configuration_for()
        used = True
    except BadInput:
        used = False
    assert used == jsonschema.Draft202012Validator(SCHEMA).is_valid({key: value})


def toml(value):
    return (
        "{" + ", ".join(f'{k} = "{v}"' for k, v in value.items()) + "}"
        if isinstance(value, dict)
        else json.dumps(value)
    )
