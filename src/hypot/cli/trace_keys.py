"""How traces are read: `--trace KEY=VALUE`, and below that `[traces]` of the configuration."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

import click

from hypot.cli.configuration.fields import ConfiguredTraces, checked_traces, near
from hypot.cli.configuration.file import configuration_for
from hypot.replay.traces.reading import OPTION, TraceReading

KEYS: Final = tuple(one.name for one in fields(ConfiguredTraces))
# A key that may be given more than once.
_LISTS: Final = ("value", "workload")
_EXAMPLES: Final = {"unit": "rps, unit=requests or unit=cores", "zone": "Europe/Berlin", "decimal": ",", "sum": "true"}
_TRUTHS: Final = {"true": True, "false": False}

trace_keys = click.option(
    OPTION,
    "trace_keys",
    multiple=True,
    metavar="KEY=VALUE",
    help=f"How to read traces, such as unit=rps; may be repeated. Keys: {', '.join(KEYS)}; see docs/traces.md.",
)


def reading_given(said: Sequence[str], traces: Sequence[str]) -> TraceReading:
    """What these options say, else the configuration nearest to the first trace, else the one of this folder."""
    given, problems = _given(said)
    options, wrong = checked_traces(given)
    problems += [f"{'.'.join(one.path)}: {one.message}" for one in wrong]
    if problems:
        raise click.UsageError("\n".join(f"{OPTION} {problem}" for problem in problems))
    configuration = configuration_for(traces)
    if traces and not configuration.file:
        configuration = configuration_for()
    chosen = {name: getattr(options, name) for name in given}
    return replace(configuration.values.traces, **chosen).reading()


def _given(said: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """The values by key, and what is wrong."""
    given: dict[str, Any] = {}
    problems: list[str] = []
    for text in said:
        key, mark, value = text.partition("=")
        if not mark or key not in KEYS:
            known = near(key, KEYS) or f"; keys: {', '.join(KEYS)}"
            example = f"{key}={_EXAMPLES.get(key, 'VALUE')}" if key in KEYS else f"KEY=VALUE{known}"
            problems.append(f"{text}: no such key{known}" if mark else f"{text}: write {example}")
        elif key in _LISTS:
            given.setdefault(key, []).append(value)
        elif key in given:
            problems.append(f"{text}: {key} is given twice")
        else:
            given[key] = _TRUTHS.get(value, value) if key == "sum" else value
    return given, problems
