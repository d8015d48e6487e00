"""hypot run: the controller."""

import click

from hypot.cli.options import server_options
from hypot.cli.run.config import read_config


@click.command("run")
@click.option("-n", "--namespace", help="The namespace of hypot's Lease and state.")
@click.option("--config", "config_file", metavar="FILE", help="What to watch, and what hypot may do; see docs/run.md.")
@click.option("--dry-run", is_flag=True, help="Decide and report, but change nothing except the Lease and the state.")
@server_options
def command(
    kubeconfig: str | None,
    context: str | None,
    namespace: str | None,
    config_file: str | None,
    dry_run: bool,
    log_format: str | None,
) -> int:
    """Watch the autoscalers of a cluster, decide for all of them every 15 s, and scale workloads.

    Acts only in namespaces with the label hypot.dev/scaling=enabled, unless the configuration says otherwise. Ends on
    Ctrl-C or SIGTERM, and releases its Lease.

    Exit status: 0 after Ctrl-C or SIGTERM, 1 after an internal error, 2 bad usage or input, 130 for Ctrl-C during the
    start.
    """
    from hypot.cli.run.process import read_cluster, served  # noqa: PLC0415 - only servers need a network
    from hypot.run.app import App  # noqa: PLC0415

    flags = {"namespace": namespace, "dryRun": dry_run or None}
    config = read_config(config_file, {name: value for name, value in flags.items() if value is not None})
    access = read_cluster(kubeconfig, context)
    return served(lambda: App(config, access), log_format, "the controller")
