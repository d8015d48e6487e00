"""All commands, and the text of `hypot --help`. It is printed without click, whose import takes longest."""

import os
import sys
from collections.abc import Iterable, Iterator
from textwrap import wrap

from hypot.cli.terminal import columns_of_terminal

# Command -> its module, and its line in the help.
COMMANDS = {
    "adopt": ("hypot.cli.adopt", "Print Python source that makes the same autoscalers as manifests."),
    "completion": ("hypot.cli.completion", "Print a script that completes commands and options in your shell."),
    "convert": ("hypot.cli.convert", "Print the nearest equivalent of an autoscaler as another kind."),
    "crds": ("hypot.cli.run.crds", "Print the CustomResourceDefinitions of the kinds hypot serves."),
    "decide": ("hypot.cli.decide", "Show what each autoscaler would do now, and why."),
    "history": ("hypot.cli.history.command", "Show what Tortoises learned, or let them learn from recorded usage."),
    "intervals": ("hypot.cli.intervals", "Show replica count and pod size for each level of total demand."),
    "metrics": ("hypot.cli.metrics.command", "Run the metrics server: scrape pods and serve custom metrics."),
    "manifests": ("hypot.cli.run.manifests", "Print the manifests that install hypot in a cluster."),
    "new": ("hypot.cli.new.command", "Print a checked manifest from a few words."),
    "pair": ("hypot.cli.pair.command", "Print an HPA by request rate and a VPA by usage for one workload."),
    "recommend": (
        "hypot.cli.recommend.command",
        "Show what would be cheaper for each workload than what it has today.",
    ),
    "replay": ("hypot.cli.replay.command", "Show what each policy would have done with recorded demand, and its cost."),
    "run": ("hypot.cli.run.command", "Run the controller: watch the autoscalers of a cluster and scale workloads."),
    "scenarios": ("hypot.cli.scenarios", "Reproduce common problems: a bad policy, and a good one for comparison."),
    "lint": ("hypot.cli.lint", "Check manifests for errors, alone and together."),
}
ABOUT = "Explained autoscaling decisions for Kubernetes, on both axes."
_OPTIONS = {"--version": "Show the version and exit.", "-h, --help": "Show this message and exit."}
# As click has it.
_NARROWEST, _WIDEST = 50, 78


def own_name() -> str:
    """What the user typed: as a plug-in, kubectl runs kubectl-hypot."""
    return "kubectl hypot" if os.path.basename(sys.argv[0]) == "kubectl-hypot" else "hypot"  # noqa: PTH119


def overview(name: str, width: int) -> str:
    """The help of the whole command."""
    about = [f"  {line}" for line in wrap(ABOUT, width - 2)]
    head = [f"Usage: {name} [OPTIONS] COMMAND [ARGS]...", "", *about, "", "Options:", *_rows(_OPTIONS.items(), width)]
    commands = [(command, message) for command, (_, message) in sorted(COMMANDS.items())]
    return "\n".join([*head, "", "Commands:", *_rows(commands, width)])


def _rows(pairs: Iterable[tuple[str, str]], width: int) -> Iterator[str]:
    pairs = list(pairs)
    column = max(len(first) for first, _ in pairs) + 2
    for first, second in pairs:
        for i, part in enumerate(wrap(second, width - column - 2)):
            yield f"  {'' if i else first:<{column}}{part}"


def width_of_help() -> int:
    """How wide a page of help is."""
    return max(min(columns_of_terminal() - 2, _WIDEST), _NARROWEST)
