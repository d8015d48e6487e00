"""The file with known findings: files in it are relative to its folder, so that it can be part of a repository."""

import json
import os
from collections import Counter
from collections.abc import Callable, Container, Iterable
from pathlib import Path, PurePath
from typing import Any, Final

import click

from hypot.cli.configuration.file import OWN, ConfigurationFile
from hypot.cli.files import BadInput, check_writable, write_whole
from hypot.cli.output import to_json
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.lint.baseline import Baseline, KnownFinding, baseline_of
from hypot.lint.report import LintReport

# About 100,000 findings.
_LARGEST: Final = 32 * 2**20
_VERSION: Final = 1
STDOUT: Final = "-"


def places_for(baseline: str) -> Callable[[str], str]:
    """How files are named in this baseline, wherever hypot runs."""
    folder = os.path.realpath(os.path.dirname(baseline) or os.curdir)  # noqa: PTH120  also of a link to a folder

    def place(file: str) -> str:
        if file in {"", "<stdin>"}:
            return file
        # The folder may be a link, the file itself is what the user sees.
        own = os.path.realpath(os.path.dirname(file) or os.curdir)  # noqa: PTH120
        path = PurePath(own, os.path.basename(file))  # noqa: PTH119
        return PurePath(os.path.relpath(path, folder)).as_posix()

    return place


def check_baseline(file: str) -> None:
    """Check before all is read that the baseline can be written; its folder is made."""
    if file == STDOUT:
        return
    try:
        Path(file).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{file}: cannot make the folder {Path(file).parent}: {error.strerror or error}") from error
    check_writable(file)


def write_baseline(file: str, report: LintReport, found: ConfigurationFile) -> None:
    """Write all findings, sorted, so that a change of one is a change of few lines."""
    place = places_for(file)
    entries = sorted(baseline_of(report, place).elements())
    document = {"version": _VERSION, "findings": [entry._asdict() for entry in entries]}
    if file == STDOUT:
        click.echo(to_json(document).encode("utf-8", "replace"), nl=False)
        return
    write_whole(file, to_json(document).encode("utf-8", "replace"))
    click.echo(f"wrote {count_of(len(entries), 'finding')} to {printable(file)}", err=True)
    if not found.baseline or place(found.baseline) != place(file):
        shown = printable(places_for(found.file or OWN)(file))
        click.echo(f'to use it, write into {printable(found.file or OWN)}: baseline = "{shown}"', err=True)


def report_gone(gone: Baseline, baseline: str, read: Iterable[str], ignored: Container[str], *, verbose: bool) -> None:
    """What no longer occurs, of what this run could have found: not of a file that it did not read."""
    if not gone:
        return
    place = places_for(baseline)
    files = {place(file) for file in read}
    folder = Path(baseline).parent
    entries = [
        entry
        for entry in sorted(gone.elements())
        if entry.rule not in ignored and (entry.file in files or not (folder / entry.file).exists())
    ]
    if not entries:
        return
    for entry in entries if verbose else ():
        click.echo(printable(f"no longer there: {'  '.join(part for part in entry if part)}"), err=True)
    occur = f"{count_of(len(entries), 'finding')} in {printable(baseline)} no longer occur{'s' * (len(entries) == 1)}"
    click.echo(f"{occur}{'' if verbose else '; -v lists them'}; write it again with --write-baseline", err=True)


def read_baseline(file: str) -> Baseline:
    remedy = f"write it with `hypot lint . --write-baseline {file}`"
    try:
        if not Path(file).is_file():
            raise BadInput(f"{file}: there is no such baseline; {remedy}")
        with Path(file).open("rb") as opened:
            raw = opened.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: cannot read the baseline: {getattr(error, 'strerror', None) or error}") from error
    if len(raw) > _LARGEST:
        raise BadInput(f"{file}: larger than {_LARGEST:,} bytes; this is not a baseline")
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{file}: not a baseline: {error}; {remedy}") from error
    version, findings = (document.get(key) for key in ("version", "findings")) if isinstance(document, dict) else (0, 0)
    if version != _VERSION or not isinstance(findings, list):
        raise BadInput(f"{file}: not a baseline of this version of hypot; {remedy}")
    known = [_entry(one) for one in findings]
    wrong = [number for number, entry in enumerate(known, 1) if entry is None]
    if wrong:
        listed = ", ".join(map(str, wrong[:10]))
        raise BadInput(f"{file}: entries without {', '.join(KnownFinding._fields)} as text: {listed}; {remedy}")
    return Counter(entry for entry in known if entry is not None)


def _entry(one: Any) -> KnownFinding | None:
    if not isinstance(one, dict):
        return None
    values = [value for name in KnownFinding._fields if isinstance(value := one.get(name), str)]
    return KnownFinding(*values) if len(values) == len(KnownFinding._fields) else None
