"""hypot metrics suggest: weights for the rules, from what the metrics server learned."""

import sys
from http.client import HTTPException
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen

import click

from hypot.cli.files import BadInput
from hypot.metricsapi.body.exposition import ExpositionError
from hypot.metricsapi.costs.suggestion import Suggestion, lines_of, suggestions_in

_LARGEST = 20 * 2**20
_WITHIN = 10.0


@click.command("suggest")
@click.option(
    "--from", "source", required=True, metavar="URL|FILE|-", help="The page /metrics of the replica that leads."
)
@click.option("--rule", help="Only the rule with this name.")
def command(source: str, rule: str | None) -> int:
    """Print the weights that the metrics server learned, to paste into its rules.

    Rules with learnCost learn what a request of each class costs. Weights are only suggested, never applied.

    Exit status: 0 success, 1 nothing is known yet, 2 bad usage or input.
    """
    try:
        found = suggestions_in(_page(source))
    except ExpositionError as error:
        raise BadInput(f"{source}: {error}") from error
    if not found:
        raise BadInput(f"{source}: no rule learns costs here: write learnCost into a rule, and ask the leader")
    chosen = _chosen(found, rule, source)
    click.echo("\n---\n".join("\n".join(lines_of(each)) for each in chosen))
    return 0 if any(each.weighted for each in chosen) else 1


def _chosen(found: list[Suggestion], rule: str | None, source: str) -> list[Suggestion]:
    chosen = [each for each in found if rule in {None, each.rule}]
    if not chosen:
        names = ", ".join(each.rule for each in found)
        raise BadInput(f"{source}: the rule {rule} learns no costs; these do: {names}")
    return chosen


def _fetched(source: str) -> bytes:
    """The page, within a time for all of it: a timeout of `urlopen` is one for each single byte."""
    answers: Queue[bytes | OSError | ValueError] = Queue()

    def fetch() -> None:
        try:
            with urlopen(source, timeout=_WITHIN) as opened:  # noqa: S310  only http and https
                answers.put(opened.read(_LARGEST + 1))
        except (OSError, ValueError, HTTPException) as error:
            answers.put(error if isinstance(error, OSError | ValueError) else OSError(str(error)))

    Thread(target=fetch, daemon=True).start()
    try:
        answer = answers.get(timeout=_WITHIN)
    except Empty:
        raise TimeoutError(f"no complete answer within {_WITHIN:g} s") from None
    if isinstance(answer, bytes):
        return answer
    raise answer


def _page(source: str) -> bytes:
    try:
        if urlsplit(source).scheme in {"http", "https"}:
            page = _fetched(source)
        elif source == "-":
            page = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with Path(source).open("rb") as file:
                page = file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else getattr(error, "strerror", None) or error
        raise BadInput(f"{source}: cannot be read: {reason}") from error
    if len(page) > _LARGEST:
        raise BadInput(f"{source}: has more than {_LARGEST:,} bytes")
    return page
