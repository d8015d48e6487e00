"""What the configuration file of a repository may say, and the checks of each key."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeVar, get_args

from hypot.core.dataclass import dataclass
from hypot.core.similar import similar
from hypot.kinds.values.version import Version, parse_version
from hypot.replay.traces.reading import TraceReading, TraceUnit

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

FailLevel = Literal["error", "warning", "never"]
Read = Callable[[Any], Any]
Path = tuple[str, ...]
_C = TypeVar("_C", bound="DataclassInstance")


class ConfigurationProblem(NamedTuple):
    """What is wrong at a key; `element` is the element of its list that is wrong."""

    path: Path
    message: str
    element: str = ""


class _WrongValue(ValueError):  # noqa: N818  the name says what was written
    """A value that cannot be used; of a list, each wrong element."""

    def __init__(self, *problems: tuple[str, str]) -> None:
        super().__init__("; ".join(message for message, _ in problems))
        self.problems = problems

    @classmethod
    def of(cls, message: str) -> "_WrongValue":
        return cls((message, ""))


def near(name: str, known: Iterable[str]) -> str:
    """A suggestion, if a known name is similar."""
    found = similar(name, known, 3, 0.6)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _WrongValue.of(f"write text that is not empty, not {value!r}")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _WrongValue.of(f'write a list, such as ["{value}"]' if isinstance(value, str) else "write a list of text")
    wrong = [(f"{one!r} is not text", str(one)) for one in value if not isinstance(one, str) or not one.strip()]
    if wrong:
        raise _WrongValue(*wrong)
    return tuple(value)


def _rules(value: Any) -> tuple[str, ...]:
    from hypot.lint.rule_list import all_rules, no_such_rule  # noqa: PLC0415  other commands need no rules

    rule_ids = _texts(value)
    if wrong := [(no_such_rule(one), one) for one in rule_ids if one not in all_rules()]:
        raise _WrongValue(*wrong)
    return rule_ids


def _version(value: Any) -> Version:
    if not isinstance(value, str):
        # 1.30 is the number 1.3.
        raise _WrongValue.of(f'write the version as text, such as "1.36", not {value!r}')
    try:
        return parse_version(value)
    except ValueError as error:
        raise _WrongValue.of(str(error)) from error


def _one_of(*words: str) -> Read:
    def read(value: Any) -> str:
        if value not in words:
            suggestion = near(value, words) if isinstance(value, str) else ""
            raise _WrongValue.of(f"{value!r} is not one of {', '.join(words)}{suggestion}")
        return str(value)

    return read


def _text_or_texts(value: Any) -> tuple[str, ...]:
    return (_text(value),) if isinstance(value, str) else _texts(value)


def _zone(value: Any) -> str:
    from zoneinfo import available_timezones  # noqa: PLC0415  only for traces

    zone = _text(value)
    if zone not in available_timezones():
        raise _WrongValue.of(f"{zone!r} is not a time zone such as Europe/Berlin{near(zone, available_timezones())}")
    return zone


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _WrongValue.of("write true or false")
    return value


def _key(read: Read, why: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"read": read, "why": why, "schema": schema}


def _words(why: str, *words: str) -> dict[str, Any]:
    return _key(_one_of(*words), why, {"enum": list(words)})


_NAME: Final = {"type": "string", "minLength": 1}
_NAMES: Final = {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}
_RULE: Final = {"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"}
_VERSION: Final = {"type": "string", "pattern": r"^v?1\.[0-9]{1,3}"}


@dataclass(frozen=True, slots=True)
class ConfiguredTraces:
    """How to read traces; what is empty was not given."""

    time: str = field(default="", metadata=_key(_text, "The column with the time, by name or number.", _NAME))
    value: tuple[str, ...] = field(
        default=(),
        metadata=_key(_text_or_texts, "The column with the value, or several: each is a workload of its own.", _NAMES),
    )
    name: str = field(
        default="",
        metadata=_key(_text, "The column with the name of the workload; of Prometheus, the label.", _NAME),
    )
    workload: tuple[str, ...] = field(
        default=(), metadata=_key(_text_or_texts, "The only workloads that are used, by name.", _NAMES)
    )
    unit: TraceUnit | None = field(
        default=None,
        metadata=_words(
            "What a value is: requests per second, requests since the row before, or used cores.", *get_args(TraceUnit)
        ),
    )
    zone: str = field(
        default="",
        metadata=_key(_zone, "The time zone of times that have none, such as Europe/Berlin.", _NAME),
    )
    decimal: Literal["", ".", ","] = field(
        default="", metadata=_words("The mark before decimals, if numbers such as 1,234 leave it open.", ".", ",")
    )
    sum: bool = field(
        default=False,
        metadata=_key(
            _truth,
            "Add up the values of one time: of all rows of a workload, of all value columns, or of all series.",
            {"type": "boolean"},
        ),
    )

    def reading(self) -> TraceReading:
        return TraceReading(**{one.name: getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True)
class Configuration:
    """The configuration of a repository."""

    ignore: tuple[str, ...] = field(
        default=(), metadata=_key(_rules, "Rules that are silenced everywhere.", {"type": "array", "items": _RULE})
    )
    exclude: tuple[str, ...] = field(
        default=(),
        metadata=_key(
            _texts,
            "What is left out of folders: lines as in a .gitignore in the folder of this file.",
            {"type": "array", "items": _NAME},
        ),
    )
    kubernetes: Version | None = field(
        default=None, metadata=_key(_version, "The Kubernetes version of the cluster.", _VERSION)
    )
    fail_level: FailLevel = field(
        default="error",
        metadata=_words("The least severity that gives `hypot lint` the exit status 1.", *get_args(FailLevel)),
    )
    baseline: str = field(
        default="",
        metadata=_key(_text, "The file with known findings, which are not reported; relative to this file.", _NAME),
    )
    traces: ConfiguredTraces = field(
        default=ConfiguredTraces(), metadata={"section": ConfiguredTraces, "why": "How to read traces."}
    )


def checked_traces(data: Mapping[str, Any]) -> tuple[ConfiguredTraces, list[ConfigurationProblem]]:
    """The part about traces."""
    return _checked(ConfiguredTraces, data, ())


def key_of(name: str) -> str:
    """A field's name in the file."""
    return name.replace("_", "-")


def checked(data: Mapping[str, Any]) -> tuple[Configuration, list[ConfigurationProblem]]:
    """The configuration of what is right, and what is wrong."""
    return _checked(Configuration, data, ())


def _checked(of: type[_C], data: Mapping[str, Any], above: Path) -> tuple[_C, list[ConfigurationProblem]]:
    known = {key_of(one.name): one for one in fields(of)}
    values: dict[str, Any] = {}
    problems: list[ConfigurationProblem] = []
    for key, value in data.items():
        path = (*above, key)
        if key not in known:
            suggestion = near(key, known) or f"; known keys: {', '.join(known)}"
            problems.append(ConfigurationProblem(path, f"no such key{suggestion}"))
            continue
        metadata = known[key].metadata
        try:
            if "section" in metadata:
                values[known[key].name], found = _checked(metadata["section"], _table(value), path)
                problems += found
            else:
                values[known[key].name] = metadata["read"](value)
        except _WrongValue as error:
            problems += [ConfigurationProblem(path, message, element) for message, element in error.problems]
    return of(**values), problems


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _WrongValue.of("write a table")
    return value


def configuration_schema() -> dict[str, Any]:
    """The JSON Schema of `.hypot.toml`, and of `[tool.hypot]` in pyproject.toml."""
    from hypot.serving.config import schema_of  # noqa: PLC0415  only for the documentation

    return schema_of("The configuration of hypot in a repository: .hypot.toml", _properties(Configuration))


def _properties(of: "type[DataclassInstance]") -> dict[str, Any]:
    return {key_of(one.name): {"description": one.metadata["why"], **_schema(one.metadata)} for one in fields(of)}


def _schema(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    if "section" not in metadata:
        schema: Mapping[str, Any] = metadata["schema"]
        return schema
    return {"type": "object", "properties": _properties(metadata["section"]), "additionalProperties": False}
