"""Adopted source makes the same objects, and is formatted as ruff formats it."""

import subprocess
import sys
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

import hypot
from hypot import from_yaml, to_yaml
from hypot.authoring.adopt import AdoptedObject
from hypot.authoring.adopt import adopted_source as source_of
from hypot.authoring.read import autoscaler_of
from hypot.authoring.source import text
from hypot.kinds.catalogue import find_autoscaler
from hypot.kinds.text.load import load
from hypot.kinds.values.names import group_of
from property.authoring.objects import manifests
from property.kinds.test_kinds import broken

PLAIN = hypot.HPA("deployment/web", max_replicas=3).to_dict()
ROOT = Path(__file__).resolve().parents[3]
FILES = [*(ROOT / "examples").rglob("*.yaml"), *(ROOT.parent / "shared" / "examples").glob("*.yaml")]


def adopted_source(given):
    return source_of(given, hypot.__all__)


def made_by(source):
    """The objects that the source makes, in its order."""
    space = {"__name__": "adopted"}
    exec(compile(source, "adopted", "exec"), space)  # noqa: S102  our own text
    return [value for key, value in space.items() if hasattr(value, "read_from") and not isinstance(value, type)]


def of_examples():
    names = [str(path) for path in FILES if path.name not in {"prices.yaml", "world.yaml"}]
    found = load(names, keep=lambda version, kind: find_autoscaler(group_of(version), kind) is not None)
    return [AdoptedObject(autoscaler_of(one), f"{Path(one.source.file).name}:{one.source.line}") for one in found]


@settings(max_examples=150)
@given(st.lists(manifests, min_size=1, max_size=3), st.text())
@example([], "x\nraise SystemExit")
def test_adopted_objects_are_equal(some, place):
    """Whatever a constructor cannot write is read from a mapping, and a file may have any name."""
    objects = [one for data in [PLAIN, *some] for one in from_yaml(to_yaml(data))]
    source = adopted_source([AdoptedObject(one, place) for one in objects])
    assert made_by(source) == objects
    assert [one.to_dict() for one in made_by(source)] == [one.to_dict() for one in objects]


@settings(max_examples=100)
@given(broken())
def test_broken_manifests_are_adopted_too(kind_and_data):
    """They are read from a mapping, with their problems as a comment."""
    kind, data = kind_and_data
    one = kind.from_dict(data)
    assert made_by(adopted_source([AdoptedObject(one, "a.yaml:1")])) == [one]


def test_the_examples_are_adopted_and_formatted(tmp_path):
    """All autoscalers of the examples, in one module that ruff's formatter leaves as it is."""
    found = of_examples()
    source = adopted_source(found)
    assert made_by(source) == [one.autoscaler for one in found]
    assert len(found) > 10
    (tmp_path / "adopted.py").write_text(source, encoding="utf-8")
    command = [Path(sys.executable).with_name("ruff"), "format", "--isolated", "--diff", tmp_path / "adopted.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@settings(max_examples=30)
@given(st.lists(manifests, min_size=6, max_size=6))
def test_random_objects_are_formatted_as_ruff_does(some):
    """Several at once: the formatter is a process of its own."""
    source = adopted_source([AdoptedObject(one, "a.yaml:1") for data in some for one in from_yaml(to_yaml(data))])
    command = [Path(sys.executable).with_name("ruff"), "format", "--isolated", "--diff", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@settings(max_examples=300)
@given(st.text(max_size=20) | st.sampled_from(['"', "'", "it's", 'say "no"', "\\", "'\"", "\n", "\x07"]))
def test_any_text_is_a_literal(value):
    """With the quotes that ruff prefers."""
    assert eval(text(value)) == value  # noqa: S307  our own text
