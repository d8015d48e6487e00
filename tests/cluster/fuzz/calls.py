"""Calls of a constructor as values: made as an author makes them, or without the constructor's own checks."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from unittest.mock import patch

from hypothesis import strategies as st

from hypot.kinds.base import InvalidAutoscaler, Kind
from hypot.kinds.problem import Problem

Values = st.SearchStrategy[Any]


@dataclass(frozen=True)
class Call:
    """A function with its arguments, which may be calls themselves. It is shown as an author would write it."""

    make: Callable[..., Any]
    args: tuple[Any, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> Any:
        return self.make(*map(made, self.args), **{key: made(value) for key, value in self.given.items()})

    def __repr__(self) -> str:
        written = [*map(repr, self.args), *[f"{key}={value!r}" for key, value in self.given.items()]]
        return f"{self.make.__name__}({', '.join(written)})"


def made(value: Any) -> Any:
    """The value, with every call in it made."""
    if isinstance(value, Call):
        return value()
    if isinstance(value, list):
        return [made(item) for item in value]
    return {key: made(item) for key, item in value.items()} if isinstance(value, dict) else value


def refused(call: Call) -> tuple[Problem, ...]:
    """Why the constructor refuses; empty if it does not."""
    try:
        call()
    except InvalidAutoscaler as error:
        return error.problems
    return ()


def written(call: Call) -> Any:
    """The manifest that would be written if nothing were checked; None if JSON has no such values or keys."""
    with unchecked():
        manifest = call().to_dict()
    try:
        sent = json.loads(json.dumps(manifest, allow_nan=False))
    except (TypeError, ValueError):
        return None
    return sent if sent == manifest else None


@contextmanager
def unchecked() -> Iterator[None]:
    """Constructors that take everything that their fields can hold."""
    with (
        patch.object(Kind, "raise_if_refused", lambda *_: None),
        patch("hypot.kinds.hpa.fields.exactly_one", lambda *_, **__: None),
    ):
        yield


# Arguments.


def mostly(valid: Values, odd: Values) -> Values:
    """One in twelve is odd: a call has many arguments, and half of the calls should be accepted."""
    return st.integers(1, 12).flatmap(lambda drawn: odd if drawn == 12 else valid)


def calls(make: Callable[..., Any], *args: Values, **given: Values) -> Values:
    """Each keyword may be left out, unless its name ends with an underscore."""
    needed = {key.removesuffix("_"): values for key, values in given.items() if key.endswith("_")}
    optional = {key: values for key, values in given.items() if not key.endswith("_")}
    keywords = st.fixed_dictionaries(needed, optional=optional)
    return st.tuples(st.tuples(*args), keywords).map(lambda drawn: Call(make, *drawn))


durations = mostly(
    st.sampled_from([1, 15, 60, 1800, "15s", "1m30s", "30m", timedelta(minutes=1)]),
    st.sampled_from(
        (
            *(
                0,
                -1,
                1801,
                3600,
                3601,
                2**31,
                True,
                60.0,
                1.5,
                "1h",
                "1h1s",
                "60",
                "1.5m",
                "",
                "s",
                "1d",
                "-5s",
                "\N{ARABIC-INDIC DIGIT FIVE}s",
            ),
            *(timedelta(hours=1), timedelta(seconds=0.5), timedelta(seconds=-1), timedelta(0), [], "9" * 30 + "s"),
        )
    ),
)
