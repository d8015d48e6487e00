"""Packages that only some commands need, and the command that installs them."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

# The top-level module of each package -> the extra that has it, in pyproject.toml.
EXTRA_OF = {
    "backports": "run",
    "cdk8s": "cdk8s",
    "cryptography": "run",
    "dask": "dask",
    "distributed": "dask",
    "llvmlite": "fleet",
    "matplotlib": "pictures",
    "numba": "fleet",
    "plotly": "replay",
    "polars": "replay",
    "rich": "replay",
}
# Programs that give a command an environment of its own: a file in it -> how to install it again, with more.
TOOLS = {"pipx_metadata.json": "pipx install --force", "uv-receipt.toml": "uv tool install"}


class MissingPackage(click.ClickException):
    """A package that is not installed: exit status 2."""

    exit_code = 2


def missing(error: ModuleNotFoundError) -> MissingPackage | None:
    """What to install, if a package of an extra is missing."""
    module = (error.name or "").partition(".")[0]
    extra = EXTRA_OF.get(module)
    if extra is None:
        return None
    return MissingPackage(_text(module, extra))


@contextmanager
def reported() -> Iterator[None]:
    """Report a package that is missing, instead of a traceback."""
    try:
        yield
    except ModuleNotFoundError as error:
        found = missing(error)
        if found is None:
            raise
        raise found from error


def check_can_draw(path: str) -> None:
    """Check before hours of work that the result can be drawn."""
    module = "plotly" if path.lower().endswith((".html", ".htm")) else "matplotlib"
    if sys.modules.get(module, module) is None or find_spec(module) is None:
        raise MissingPackage(_text(module, EXTRA_OF[module]))


def _text(module: str, extra: str) -> str:
    return f"this needs {module}, which is not installed: {install_command(extra)}"


def install_command(extra: str) -> str:
    """The command for the way in which hypot was installed: by what, and from an index, a folder, a file or a URL."""
    return f"{_program()} {_requirement(f'hypot[{extra}]', installed_from())}"


def _program() -> str:
    for file, command in TOOLS.items():
        if Path(sys.prefix, file).exists():
            return command
    return "uv pip install" if _noted("INSTALLER").strip() == "uv" else "pip install"


def _requirement(name: str, origin: Any) -> str:
    """What to install again, from where hypot came."""
    match origin:
        case {"dir_info": folder, "url": url} if url.startswith("file:"):
            from urllib.parse import unquote, urlsplit  # noqa: PLC0415  only here

            path = name.replace("hypot", unquote(urlsplit(url).path), 1)
            return f"-e '{path}'" if folder.get("editable") else f"'{path}'"
        case {"archive_info": _, "url": url}:
            return f"'{name} @ {url}'"
        case {"vcs_info": {"vcs": system, "commit_id": commit}, "url": url}:
            return f"'{name} @ {system}+{url}@{commit}'"
        case _:
            return f"'{name}'"


def installed_from() -> Any:
    """What the installer noted of its source; nothing if it was an index, as with a released version."""
    with suppress(ValueError):
        return json.loads(_noted("direct_url.json") or "{}")
    return {}


def _noted(file: str) -> str:
    """What the installer wrote next to the package."""
    # Importing this takes as long as all of click, and only few need it.
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415

    with suppress(PackageNotFoundError):
        return distribution("hypot").read_text(file) or ""
    return ""
