"""Logs on standard error: readable lines, or one JSON object per line."""

import logging
import sys
from typing import Literal

import structlog

from hypot.cluster.clock import Clock, boot

# Seconds between two lines that any client of hypot can cause.
RARE = 10.0


def configure(form: Literal["text", "json"] | str) -> None:  # noqa: PYI051 - click hands over text
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer() if form == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=True,
    )


class RareLine:
    """A line that any client can cause: logged once in RARE seconds, with the number of those left out before it."""

    def __init__(self, event: str, clock: Clock = boot) -> None:
        self._event, self._clock = event, clock
        self._next, self._left_out = float("-inf"), 0

    def log(self, **fields: str) -> None:
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        more = {"left_out": self._left_out} if self._left_out else {}
        structlog.get_logger().warning(self._event, **fields, **more)
        self._next, self._left_out = now + RARE, 0
