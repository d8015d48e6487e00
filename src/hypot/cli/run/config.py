"""Reads the configuration file of the controller."""

from collections.abc import Mapping
from typing import Any

from hypot.cli.files import BadInput
from hypot.cli.mapping import read_mapping
from hypot.run.config import RunConfig
from hypot.serving.config import ConfigError


def read_config(file: str | None, flags: Mapping[str, Any] | None = None) -> RunConfig:
    """The configuration from a file, or the default one; flags override it."""
    config, wrong = what_is_usable(file, flags or {})
    if wrong:
        raise BadInput("\n".join(wrong))
    return config


def what_is_usable(file: str | None, flags: Mapping[str, Any]) -> tuple[RunConfig, list[str]]:
    """The same without the invalid settings, and what is wrong with those."""
    written = {} if file is None else read_mapping(file, "configuration", "optIn: all")
    by_flag, wrong = _usable(flags, "")
    by_file, more = _usable({name: value for name, value in written.items() if name not in flags}, f"{file}: ")
    return RunConfig.from_dict({**by_file, **by_flag}), [*more, *wrong]


def _usable(given: Mapping[str, Any], place: str) -> tuple[dict[str, Any], list[str]]:
    try:
        RunConfig.from_dict(given)
    except ConfigError as error:
        rest = {name: value for name, value in given.items() if name not in error.names}
        return rest, [f"{place}{message}" for message in error.problems]
    return dict(given), []
