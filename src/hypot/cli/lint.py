"""hypot lint: checks manifests, alone and together."""

import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, get_args

import click

from hypot.cli.configuration.baseline import check_baseline, places_for, read_baseline, report_gone
from hypot.cli.configuration.baseline import write_baseline as write_known
from hypot.cli.configuration.fields import FailLevel
from hypot.cli.configuration.file import ConfigurationFile, configuration_for
from hypot.cli.files import BadInput, GivenFiles, read_given
from hypot.cli.left_out import how_to_render, line_of, listing
from hypot.cli.live.options import LIVE_SECTION, LiveOptions, given_live, live_options
from hypot.cli.options import Word, configuration_named, report_newer, version_given
from hypot.cli.output import to_json
from hypot.cli.sections import in_sections
from hypot.cli.terminal import columns_of_terminal, in_colour, safe_for
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.kinds.problem import some
from hypot.kinds.text.folder import Exclude
from hypot.kinds.values.version import NEWEST, Version, show_version
from hypot.lint.baseline import Baseline, without_known
from hypot.lint.input.world import worth_keeping
from hypot.lint.report import Finding, LintReport, check
from hypot.lint.rule_list import UnknownRule, known_ids
from hypot.lint.rules.given import UNREADABLE
from hypot.lint.rules.target import TARGET_NOT_GIVEN

if TYPE_CHECKING:
    from hypot.cli.live.session import LiveCluster

_SECTIONS = {
    "Charts and kustomizations": ("rendered", "values"),
    "Configuration": ("config", "exclude", "ignore", "fail_level", "write_baseline"),
    "A live cluster": (*LIVE_SECTION["A live cluster"], "namespace"),
}
_WIDEST = 110
# So many workloads that are not in the input are named in one line.
_MANY = 2
# So many findings with one fix are shown together, also if their messages differ.
_MANY_ALIKE = 3
# So many other places of the same problem are named.
_MOST_PLACES = 10
_COLOURS = {"error": "red", "warning": "yellow", "advice": "cyan"}


# The severities that end with status 1, by the level.
_FAILING: Final[dict[FailLevel, frozenset[str]]] = {
    "error": frozenset({"error"}),
    "warning": frozenset({"error", "warning"}),
    "never": frozenset(),
}


def _ids(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    try:
        return known_ids(word.strip() for value in values for word in value.split(",") if word.strip())
    except UnknownRule as error:
        raise click.BadParameter(str(error)) from error


@click.command("lint", cls=in_sections(_SECTIONS))
@click.argument("named", nargs=-1, metavar="[FILE|DIR|-]...")
@click.option("-f", "--filename", "paths", multiple=True, metavar="FILE|DIR|-", help="The same, as with kubectl.")
@click.option(
    "--render", "rendered", multiple=True, metavar="DIR", help="Check what a chart or a kustomization renders to."
)
@click.option("--values", multiple=True, metavar="FILE", help="Values for the charts, as with helm.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave files out, as a line of a .gitignore does.")
@click.option(
    "--kubernetes",
    callback=version_given,
    metavar="VERSION",
    help=f"The Kubernetes version of the cluster, by default {show_version(NEWEST)}.",
)
@click.option(
    "--ignore", callback=_ids, multiple=True, metavar="RULE", help="Silence a rule. May be given more than once."
)
@click.option(
    "--fail-level",
    type=Word(get_args(FailLevel)),
    help="The least severity that gives exit status 1, by default error.",
)
@click.option(
    "--write-baseline", metavar="FILE", help="Write all findings to a file, or - for standard output, as known ones."
)
@configuration_named
@click.option("-o", "--output", type=Word(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="List what was not read, and all places of a finding.")
@live_options
@click.option("-n", "--namespace", metavar="NS", help="Read this namespace instead of the kubeconfig's own.")
@click.pass_context
def command(
    ctx: click.Context,
    named: tuple[str, ...],
    paths: tuple[str, ...],
    rendered: tuple[str, ...],
    values: tuple[str, ...],
    exclude: tuple[str, ...],
    kubernetes: Version | None,
    ignore: frozenset[str],
    fail_level: FailLevel | None,
    write_baseline: str | None,
    config: str | None,
    output: str,
    verbose: bool,
    live: bool,
    context: str | None,
    everywhere: bool,
    save: str | None,
    namespace: str | None,
) -> None:
    """Check manifests for errors, alone and together, as in `hypot lint k8s/`.

    Pass everything that belongs together: autoscalers, workloads, disruption budgets, quotas. In a folder, what git
    ignores is left out, and files for other programs are counted. With --live, the objects of a cluster are checked.
    Exit status 0 means no error, 1 at least one error, 2 that there was nothing to read. To silence rules for one
    object, give it the annotation hypot.dev/lint-ignore: RULE,RULE. What holds for a repository is in .hypot.toml, or
    in pyproject.toml below [tool.hypot].
    """
    everything = (*named, *paths)
    options = given_live(
        live=live,
        context=context,
        namespace=namespace,
        everywhere=everywhere,
        save=save,
        files=(*everything, *rendered),
    )
    _check_usage(everything, rendered, values, options, namespace)
    found = configuration_for((*everything, *rendered), config)
    baseline = _known(found, write_baseline)
    cluster = None if options is None else _read_cluster(options)
    version = kubernetes or (cluster and cluster.version) or found.values.kubernetes or NEWEST
    report_newer(version)
    given = read_given(everything, worth_keeping, (Exclude(exclude), found.exclude)) if everything else GivenFiles.of()
    given = GivenFiles.of(given, *_read_rendered(rendered, values, version))
    ignore |= frozenset(found.values.ignore)
    if cluster is None:
        report = check(*given.objects, kubernetes=version, ignore=ignore, unread=given.broken)
    else:
        report = check(*cluster.objects, kubernetes=version, ignore=ignore, complete=not cluster.refusals)
    if write_baseline is not None:
        write_known(write_baseline, report, found)
        return
    report, gone = without_known(report, baseline, places_for(found.baseline)) if baseline else (report, baseline)
    _print(report, output, verbose=verbose)
    if verbose and found.file:
        click.echo(f"configuration: {printable(found.file)}", err=True)
    report_gone(gone, found.baseline, given.files, ignore, verbose=verbose)
    _report_left_out(given, verbose=verbose)
    if report.variants:
        click.echo(_variants(report.variants), err=True)
    if save and cluster:
        _save(save, cluster, version)
    if cluster is None and not rendered:
        _check_read(given, everything)
    failing = _FAILING[fail_level or found.values.fail_level]
    incomplete = cluster is not None and bool(cluster.refusals)
    ctx.exit(1 if incomplete or any(finding.severity in failing for finding in report.findings) else 0)


def _check_usage(
    everything: tuple[str, ...],
    rendered: tuple[str, ...],
    values: tuple[str, ...],
    live: LiveOptions | None,
    namespace: str | None,
) -> None:
    if namespace is not None and live is None:
        raise click.UsageError("-n needs --live, which reads a cluster")
    if not everything and not rendered and live is None:
        raise click.UsageError("name files or folders to check, as in `hypot lint .`, or read the cluster with --live")
    if values and not rendered:
        raise click.UsageError("--values is for --render CHART")


def _check_read(given: GivenFiles, named: tuple[str, ...]) -> None:
    """Files that were named and hold no object at all are a mistake, such as the output of a renderer that failed."""
    if given.objects or given.ignored or given.broken or any(Path(one).is_dir() for one in named):
        return
    where = ", ".join("standard input" if one == "-" else one for one in named)
    raise BadInput(f"nothing was checked: there is no Kubernetes object in {printable(where)}")


def _read_cluster(options: LiveOptions) -> "LiveCluster":
    from hypot.cli.live.for_lint import read_for_lint  # noqa: PLC0415  the network, which files do not need
    from hypot.cli.live.session import read_cluster  # noqa: PLC0415

    return read_cluster(options, read_for_lint)


def _save(file: str, cluster: "LiveCluster", version: Version) -> None:
    from hypot.cli.live.save import save  # noqa: PLC0415  as above

    save(file, cluster.objects, ("hypot", "lint", file, "--kubernetes", show_version(version)))


def _read_rendered(directories: tuple[str, ...], values: tuple[str, ...], version: Version) -> Iterator[GivenFiles]:
    if directories:
        from hypot.cli.rendering.read import read_rendered  # noqa: PLC0415  only if something is rendered

        for directory in directories:
            yield read_rendered(directory, values, version, worth_keeping)


def _known(found: ConfigurationFile, written: str | None) -> Baseline:
    """What is not reported, unless it is written again."""
    if written is not None:
        check_baseline(written)
    return read_baseline(found.baseline) if found.baseline and written is None else Baseline()


def _print(report: LintReport, output: str, *, verbose: bool) -> None:
    text = _rendered(report, output, verbose=verbose)
    if output == "text":
        click.echo(safe_for(sys.stdout, text), nl=False, color=in_colour(sys.stdout))
    else:
        click.echo(text.encode("utf-8", "replace"), nl=False)


def _report_left_out(given: GivenFiles, *, verbose: bool) -> None:
    """On standard error, so that the output stays a report about what was read."""
    if not given.left_out:
        return
    for line in listing(given.left_out) if verbose else ():
        click.echo(printable(line), err=True)
    click.echo(f"not read: {line_of(given.left_out)}{'' if verbose else '; -v lists them'}", err=True)
    if remedy := how_to_render(given.left_out):
        click.echo(printable(remedy), err=True)


def _variants(names: tuple[str, ...]) -> str:
    objects = "1 object has" if len(names) == 1 else f"{len(names)} objects have"
    what = "these are alternatives, and each is checked without the others"
    return printable(f"{objects} definitions in several files or folders, such as {names[0]}: {what}")


def _rendered(report: LintReport, output: str, *, verbose: bool) -> str:
    if output == "json":
        return to_json(report.to_dict())
    if output == "sarif":
        # Only code scanning reads this.
        from importlib.metadata import version as package_version  # noqa: PLC0415

        from hypot.lint.sarif import sarif  # noqa: PLC0415

        return to_json(sarif(report, package_version("hypot")))
    width = min(_WIDEST, columns_of_terminal(_WIDEST))
    return as_text(report, width=max(40, width), colour=in_colour(sys.stdout), verbose=verbose)


def as_text(report: LintReport, *, width: int = _WIDEST, colour: bool = False, verbose: bool = False) -> str:
    """Text for people: the place, then the problem and the fix; a manifest in the fix keeps its lines.

    The same problem in several places is explained once. All of these are named if `verbose`.
    """
    absent = [finding for finding in report.findings if finding.rule == TARGET_NOT_GIVEN]
    absent = absent if len(absent) >= _MANY else []
    most = None if verbose else _MOST_PLACES
    alike = _alike([finding for finding in report.findings if finding not in absent])
    blocks = ["\n".join(_block(found, width, most, colour=colour)) + "\n" for found in alike]
    if absent:
        targets = dict.fromkeys(finding.message.partition(" is not in the input")[0] for finding in absent)
        names = some(list(targets))
        are, their = ("is", "its") if len(targets) == 1 else ("are", "their")
        note = f"{names} {are} not in the input, so nothing that depends on {their} pods was checked: {absent[0].hint}"
        blocks.append("\n".join(_wrapped(note, "", "    ", width)) + "\n")
    return "\n".join([*blocks, _summary(report, colour=colour) + "\n"])


def _alike(findings: list[Finding]) -> Iterable[list[Finding]]:
    """The findings with one message and one fix; those with other messages too, if they are many.

    What makes files unreadable has little in common.
    """
    kinds = Counter((finding.severity, finding.rule, finding.hint) for finding in findings)
    found: dict[tuple[str, ...], list[Finding]] = {}
    for finding in findings:
        kind = (finding.severity, finding.rule, finding.hint)
        key = kind if kinds[kind] >= _MANY_ALIKE and finding.rule != UNREADABLE else (*kind, finding.message)
        found.setdefault(key, []).append(finding)
    return found.values()


def _block(alike: list[Finding], width: int, most: int | None, *, colour: bool) -> Iterator[str]:
    finding, *others = alike
    severity = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True) if colour else finding.severity
    yield _place(finding, severity, finding.rule)
    yield from _wrapped(finding.message, "    ", "    ", width)
    yield from _related(finding, "    ")
    message, _, shown = finding.hint.partition("\n")
    yield from _wrapped(message, "    fix: ", "         ", width)
    yield from (f"    {printable(line)}" for line in shown.split("\n") if shown)
    if others:
        yield f"    the same in {count_of(len(others), 'other place')}:"
        for each in others[:most]:
            yield f"      {_place(each)}"
            yield from _wrapped(each.message, "        ", "        ", width) if each.message != finding.message else ()
            yield from _related(each, "        ")
        if len(others) > len(others[:most]):
            yield f"      and {len(others) - len(others[:most])} more; -v lists them"


def _related(finding: Finding, indent: str) -> Iterator[str]:
    """Where the other objects are that the message names. Without a file, it says all that is known."""
    places = [f"{one.file}{'' if one.line is None else f':{one.line}'}" for one in finding.related if one.file]
    for i, place in enumerate(dict.fromkeys(places)):
        yield f"{indent}{'   ' if i else 'see'} {printable(place)}"


def _place(finding: Finding, *about: str) -> str:
    line = " (rendered)" if finding.rendered else "" if finding.line is None else f":{finding.line}"
    place = f"{printable(finding.file)}{line}"
    return "  ".join(part for part in (place, *about, printable(finding.object), printable(finding.field)) if part)


def _wrapped(message: str, first: str, rest: str, width: int) -> list[str]:
    message = printable(message)
    if len(first) + len(message) <= width:
        return [first + message]
    return textwrap.wrap(
        message,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _summary(report: LintReport, *, colour: bool) -> str:
    files = f"{count_of(report.files, 'file')}, " if report.files else ""
    place = f"{files}{count_of(report.objects, 'object')}"
    message = f"{_counts(report, colour=colour)} in {place}" if report.findings else f"nothing found in {place}"
    if report.silenced:
        message += f"; {report.silenced} silenced"
    if report.known:
        message += f"; {report.known} in the baseline"
    return message if report.autoscalers else f"{message}; there is no autoscaler in the input"


def _counts(report: LintReport, *, colour: bool) -> str:
    parts = []
    for severity, number in report.count().items():
        message = f"{number} advice" if severity == "advice" else count_of(number, severity)
        parts.append(click.style(message, fg=_COLOURS[severity], bold=True) if colour and number else message)
    return ", ".join(parts)
