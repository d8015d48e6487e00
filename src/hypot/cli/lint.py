"""hypot lint: checks manifests, alone and together."""

import shutil
import sys
import textwrap
from collections.abc import Iterator
from importlib.metadata import version as package_version

import click
from click.core import ParameterSource

from hypot.cli.files import GivenFiles, read_given
from hypot.cli.left_out import has_templates, line_of, listing
from hypot.cli.live.options import LiveOptions, given_live, live_options
from hypot.cli.output import to_json
from hypot.cli.verdict import in_colour, safe_for
from hypot.face.style import printable
from hypot.kinds.base import count_of
from hypot.kinds.problem import some
from hypot.kinds.values.version import NEWEST, Version, parse_version, show_version
from hypot.lint.input.world import worth_keeping
from hypot.lint.report import Finding, LintReport, check
from hypot.lint.rule_list import UnknownRule, known_ids
from hypot.lint.rules.target import TARGET_NOT_GIVEN
from hypot.lint.sarif import sarif

_WIDEST = 110
# So many workloads that are not in the input are named in one line.
_MANY = 2
_COLOURS = {"error": "red", "warning": "yellow", "advice": "cyan"}


def _version(_: click.Context, __: click.Parameter, value: str) -> Version:
    try:
        return parse_version(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _ids(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    try:
        return known_ids(word.strip() for value in values for word in value.split(",") if word.strip())
    except UnknownRule as error:
        raise click.BadParameter(str(error)) from error


@click.command("lint")
@click.argument("named", nargs=-1, metavar="[FILE|DIR|-]...")
@click.option("-f", "--filename", "paths", multiple=True, metavar="FILE|DIR|-", help="The same, as with kubectl.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave files out, as a line of a .gitignore does.")
@click.option(
    "--kubernetes",
    callback=_version,
    default=show_version(NEWEST),
    show_default=True,
    metavar="VERSION",
    help="The Kubernetes version of the cluster.",
)
@click.option(
    "--ignore", callback=_ids, multiple=True, metavar="RULE", help="Silence a rule. May be given more than once."
)
@click.option("-o", "--output", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True)
@click.option("-v", "--verbose", is_flag=True, help="List what was not read, and why.")
@live_options
@click.option("-n", "--namespace", metavar="NS", help="With --live: this namespace instead of the kubeconfig's own.")
@click.pass_context
def command(
    ctx: click.Context,
    named: tuple[str, ...],
    paths: tuple[str, ...],
    exclude: tuple[str, ...],
    kubernetes: Version,
    ignore: frozenset[str],
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
    Exit status 0 means no error, 1 at least one error,
    2 that there was nothing to read. To silence rules for one object, give it the annotation hypot.dev/lint-ignore:
    RULE,RULE.
    """
    everything = (*named, *paths)
    cluster = given_live(
        live=live, context=context, namespace=namespace, everywhere=everywhere, save=save, files=everything
    )
    if cluster is not None:
        _lint_cluster(ctx, cluster, None if is_default(ctx, "kubernetes") else kubernetes, ignore, output)
        return
    if namespace is not None:
        raise click.UsageError("-n needs --live, which reads a cluster")
    if not everything:
        raise click.UsageError("name files or folders to check, as in `hypot lint .`, or read the cluster with --live")
    given = read_given(everything, worth_keeping, exclude)
    report = check(*given.objects, kubernetes=kubernetes, ignore=ignore, unread=given.broken)
    _print(report, output)
    _report_left_out(given, verbose=verbose)
    ctx.exit(1 if report.errors else 0)


def is_default(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is ParameterSource.DEFAULT


def _lint_cluster(
    ctx: click.Context, options: LiveOptions, kubernetes: Version | None, ignore: frozenset[str], output: str
) -> None:
    from hypot.cli.live.for_lint import read_for_lint  # noqa: PLC0415  the network, which files do not need
    from hypot.cli.live.save import save  # noqa: PLC0415
    from hypot.cli.live.session import read_cluster  # noqa: PLC0415

    cluster = read_cluster(options, read_for_lint)
    version = kubernetes or cluster.version or NEWEST
    report = check(*cluster.objects, kubernetes=version, ignore=ignore, complete=not cluster.refusals)
    _print(report, output)
    if options.save:
        save(options.save, cluster.objects, ("hypot", "lint", options.save, "--kubernetes", show_version(version)))
    ctx.exit(1 if report.errors or cluster.refusals else 0)


def _print(report: LintReport, output: str) -> None:
    rendered = _rendered(report, output)
    if output == "text":
        click.echo(safe_for(sys.stdout, rendered), nl=False, color=in_colour(sys.stdout))
    else:
        click.echo(rendered.encode("utf-8", "replace"), nl=False)


def _report_left_out(given: GivenFiles, *, verbose: bool) -> None:
    """On standard error, so that the output stays a report about what was read."""
    if not given.left_out:
        return
    for line in listing(given.left_out) if verbose else ():
        click.echo(printable(line), err=True)
    click.echo(f"not read: {line_of(given.left_out)}{'' if verbose else '; -v lists them'}", err=True)
    if has_templates(given.left_out):
        click.echo("to check templates, render them: `helm template CHART | hypot lint -`", err=True)


def _rendered(report: LintReport, output: str) -> str:
    if output == "json":
        return to_json(report.to_dict())
    if output == "sarif":
        return to_json(sarif(report, package_version("hypot")))
    width = min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns)
    return as_text(report, width=max(40, width), colour=in_colour(sys.stdout))


def as_text(report: LintReport, *, width: int = _WIDEST, colour: bool = False) -> str:
    """Text for people: the place, then the problem and the fix; a manifest in the fix keeps its lines."""
    absent = [finding for finding in report.findings if finding.rule == TARGET_NOT_GIVEN]
    shown = report.findings if len(absent) < _MANY else [each for each in report.findings if each not in absent]
    blocks = ["\n".join(_block(finding, width, colour=colour)) + "\n" for finding in shown]
    if len(absent) >= _MANY:
        names = some([finding.message.partition(" is not in the input")[0] for finding in absent])
        note = f"{names} are not in the input, so nothing that depends on their pods was checked: {absent[0].hint}"
        blocks.append("\n".join(_wrapped(note, "", "    ", width)) + "\n")
    return "\n".join([*blocks, _summary(report, colour=colour) + "\n"])


def _block(finding: Finding, width: int, *, colour: bool) -> Iterator[str]:
    severity = click.style(finding.severity, fg=_COLOURS[finding.severity], bold=True) if colour else finding.severity
    place = f"{printable(finding.file)}:{finding.line}" if finding.file else ""
    parts = (place, severity, finding.rule, printable(finding.object), printable(finding.field))
    yield "  ".join(part for part in parts if part)
    yield from _wrapped(finding.message, "    ", "    ", width)
    message, _, shown = finding.hint.partition("\n")
    yield from _wrapped(message, "    fix: ", "         ", width)
    yield from (f"    {printable(line)}" for line in shown.split("\n") if shown)


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
    return message if report.autoscalers else f"{message}; there is no autoscaler in the input"


def _counts(report: LintReport, *, colour: bool) -> str:
    parts = []
    for severity, number in report.count().items():
        message = f"{number} advice" if severity == "advice" else count_of(number, severity)
        parts.append(click.style(message, fg=_COLOURS[severity], bold=True) if colour and number else message)
    return ", ".join(parts)
