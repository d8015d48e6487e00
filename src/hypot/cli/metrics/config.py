"""Reads the configuration file of the metrics server."""

from collections.abc import Mapping
from typing import Any

from hypot.cli.files import BadInput
from hypot.cli.mapping import read_mapping
from hypot.metricsapi.config import MetricsConfig
from hypot.serving.config import ConfigError


def read_config(file: str | None, flags: Mapping[str, Any]) -> MetricsConfig:
    """The configuration from a file, or the default one; flags override it."""
    written = {} if file is None else read_mapping(file, "configuration", "scrapePeriod: 60")
    try:
        return MetricsConfig.from_dict({**written, **flags})
    except ConfigError as error:
        place = "" if file is None else f"{file}: "
        raise BadInput("\n".join(f"{place}{problem}" for problem in error.problems)) from error
