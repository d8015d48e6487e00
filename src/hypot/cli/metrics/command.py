"""hypot metrics: the metrics server."""

import click

from hypot.cli.files import BadInput
from hypot.cli.metrics import suggest
from hypot.cli.metrics.config import read_config
from hypot.cli.options import Word, server_options
from hypot.kinds.metric_rules import PRESETS
from hypot.kinds.metric_rules.read import RulesError


@click.group("metrics", invoke_without_command=True, subcommand_metavar="[suggest ...]")
@click.option("-f", "--rules", "file", metavar="FILE", help="The rules: which pods are measured, and what is served.")
@click.option("--preset", type=Word(sorted(PRESETS)), help="Use these rules instead of a file.")
@click.option(
    "--config", "config_file", metavar="FILE", help="Periods, ages, ports, Prometheus; see docs/metrics-api.md."
)
@click.option("-n", "--namespace", help="The namespace of hypot's Lease and certificate.")
@click.option("--warm", is_flag=True, help="Scrape also while another replica leads.")
@server_options
@click.pass_context
def command(
    click_context: click.Context,
    file: str | None,
    preset: str | None,
    config_file: str | None,
    namespace: str | None,
    *,
    warm: bool,
    kubeconfig: str | None,
    context: str | None,
    log_format: str | None,
) -> int:
    """Scrape pods, or ask a Prometheus, and serve what the rules say as custom and external metrics for autoscalers.

    One replica leads: it scrapes and is ready. Ends on Ctrl-C or SIGTERM, and releases its Lease.

    `hypot metrics suggest` prints weights that a running server learned.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 after an internal error, 2 bad usage or input, 130 for Ctrl-C during the
    start.
    """
    if click_context.invoked_subcommand is not None:
        if file or preset or config_file or namespace or warm or kubeconfig or context or log_format:
            raise click.UsageError(f"options of {click_context.invoked_subcommand} belong after it")
        return 0
    if bool(file) == bool(preset):
        raise BadInput("write either -f FILE with the rules or --preset NAME")
    from hypot.cli.run.process import read_cluster, served  # noqa: PLC0415 - only servers need a network
    from hypot.metricsapi.app import MetricsServer  # noqa: PLC0415
    from hypot.metricsapi.rules_file import RulesFile  # noqa: PLC0415

    flags = {"namespace": namespace, "warm": warm or None}
    config = read_config(config_file, {name: value for name, value in flags.items() if value is not None})
    rules = RulesFile(file or "", preset or "", config)
    try:
        plan = rules.read()
    except RulesError as error:
        raise BadInput(str(error)) from error
    access = read_cluster(kubeconfig, context)
    return served(lambda: MetricsServer(config, access, rules, plan), log_format, "the metrics server")


command.add_command(suggest.command)
