"""The file that says how a controller is set up."""

from hypot.cli.files import BadInput
from hypot.cli.options import read_mapping
from hypot.run.config import ConfigError, RunConfig


def read_config(file: str | None) -> RunConfig:
    """The configuration of a file, or the default one."""
    if file is None:
        return RunConfig()
    try:
        return RunConfig.from_dict(read_mapping(file, "configuration", "optIn: all"))
    except ConfigError as error:
        raise BadInput(f"{file}: {error}") from error
