"""Options that several commands share."""

from math import isfinite

import click

from hypot.cli.files import BadInput
from hypot.cli.mapping import read_mapping
from hypot.policy.model.decision import LATEST
from hypot.policy.model.settings import Settings, SettingsError
from hypot.policy.model.state import read_time

settings_named = click.option(
    "--settings", "settings_file", metavar="FILE", help="The controller's flags and gates, YAML or JSON."
)


def time_given(_: click.Context, __: click.Parameter, text: str | None) -> float | None:
    """A time from RFC 3339 text or from seconds since 1970."""
    if text is None:
        return None
    try:
        at: float | None = float(text)
    except ValueError:
        at = read_time(text)
    if at is None or not isfinite(at) or not 0 <= at <= LATEST:
        raise click.BadParameter(f"{text!r} is not a time; write 2026-11-15T01:58:03Z, or seconds since 1970")
    return at


def read_settings(file: str | None) -> Settings:
    if file is None:
        return Settings()
    data = read_mapping(file, "settings", "tolerance: 0.05")
    try:
        return Settings.from_dict(data)
    except SettingsError as error:
        hint = "; quote it in YAML, 1.30 is read as 1.3" if isinstance(data.get("kubernetes"), float) else ""
        raise BadInput(f"{file}: {error}{hint if str(error).startswith('kubernetes') else ''}") from error
