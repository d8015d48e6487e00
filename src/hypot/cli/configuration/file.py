"""Finds and reads the configuration of a repository: the nearest `.hypot.toml`, or `[tool.hypot]` in pyproject.toml."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from hypot.cli.configuration.fields import Configuration, checked
from hypot.cli.files import BadInput
from hypot.core.regex import regex
from hypot.kinds.text.folder import Exclude

OWN: Final = ".hypot.toml"
SHARED: Final = "pyproject.toml"
# A configuration is written by hand.
_LARGEST: Final = 256 * 2**10
# What a .gitignore gives a meaning.
_SPECIAL: Final = regex(r"[\\*?\[\]]")
_PLACE: Final = regex(r" \(at line (\d+), column (\d+)\)$")


class ConfigurationFile(NamedTuple):
    """A configuration, and where it was found; without a file, it has the defaults."""

    values: Configuration = Configuration()
    file: str = ""

    @property
    def folder(self) -> str:
        """Paths in the file are relative to this one."""
        return os.path.dirname(self.file) or os.curdir  # noqa: PTH120  a Path would drop what the user typed

    @property
    def exclude(self) -> Exclude:
        """Of the folders that are read; the baseline holds no manifests."""
        own = PurePath(os.path.normpath(self.values.baseline)).as_posix()
        quoted = _SPECIAL.sub(r"\\\g<0>", f"/{own}")
        return Exclude((*self.values.exclude, *([quoted] if self.values.baseline else [])), self.folder)

    @property
    def baseline(self) -> str:
        """The file with known findings, or nothing."""
        return os.path.normpath(Path(self.folder, self.values.baseline)) if self.values.baseline else ""


def configuration_for(paths: Sequence[str] = (), named: str | None = None) -> ConfigurationFile:
    """The named configuration file, else the one nearest to the first of these paths or to the working directory."""
    if named is not None:
        found = _read(named)
        if found is None:
            raise BadInput(f"{named}: there is no [tool.hypot] in it; write one, or name another file with --config")
        return found
    candidates = (_read(file) for file in _candidates(paths) if os.path.isfile(file))  # noqa: PTH113  never raises
    return next((found for found in candidates if found is not None), ConfigurationFile())


def _candidates(paths: Sequence[str]) -> Iterator[str]:
    """From the folder of the first path up to the root of its repository."""
    first = next((path for path in paths if path != "-"), os.curdir)
    start = Path(os.path.abspath(first)) if "\0" not in first else Path.cwd()  # noqa: PTH100  links stay as typed
    for folder in (start, *start.parents):
        yield from (_shown(folder / name) for name in (OWN, SHARED))
        if os.path.exists(folder / ".git"):  # noqa: PTH110  never raises
            return


def _shown(file: Path) -> str:
    """Relative to the working directory, if it is in it or not far above."""
    relative = os.path.relpath(file)
    return relative if len(relative) < len(str(file)) else str(file)


def _read(file: str) -> ConfigurationFile | None:
    """The configuration in this file; None if it is that of other tools only."""
    raw = _bytes_of(file)
    shared = os.path.basename(file) == SHARED  # noqa: PTH119  a name, not a place
    if shared and b"hypot" not in raw:
        return None
    text = _text_of(file, raw)
    import tomllib  # noqa: PLC0415  only if there is a configuration

    try:
        data: Any = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(_not_toml(file, error)) from error
    above = ("tool", "hypot") if shared else ()
    for key in above:
        data = data.get(key) if isinstance(data, dict) else None
    if data is None:
        return None
    if not isinstance(data, dict):
        raise BadInput(f"{file}: tool.hypot must be a table: write [tool.hypot], and the keys below it")
    configuration, problems = checked(data)
    if problems:
        from hypot.cli.configuration.lines import KeyLines  # noqa: PLC0415  only for mistakes

        lines = KeyLines(text)
        places = [(lines.line_of((*above, *one.path), one.element), one) for one in problems]
        places.sort(key=lambda place: place[0] or 0)
        raise BadInput(
            "\n".join(
                f"{file}{f':{line}' if line else ''}: {'.'.join(one.path)}: {one.message}{_misplaced(one.path)}"
                for line, one in places
            )
        )
    return ConfigurationFile(configuration, file)


def _misplaced(path: tuple[str, ...]) -> str:
    return "; [tool.hypot] is for pyproject.toml, here the keys are at the top" if path == ("tool",) else ""


def _not_toml(file: str, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"{file}: nested too deeply"
    message = str(error)
    place = _PLACE.search(message)
    if place is None:
        return f"{file}: not valid TOML: {message}"
    return f"{file}:{place[1]}: not valid TOML: {message[: place.start()]} (column {place[2]})"


def _bytes_of(file: str) -> bytes:
    try:
        with Path(file).open("rb") as opened:
            return opened.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        todo = "check the path and its permissions"
        raise BadInput(f"{file}: cannot read it: {getattr(error, 'strerror', None) or error}; {todo}") from error


def _text_of(file: str, raw: bytes) -> str:
    if len(raw) > _LARGEST:
        raise BadInput(f"{file}: larger than {_LARGEST:,} bytes; this is not a configuration")
    try:
        # As tomllib does it with files.
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInput(f"{file}:{line}: not UTF-8 text; save it as UTF-8") from error
