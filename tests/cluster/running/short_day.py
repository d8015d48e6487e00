"""hypot with days of ten minutes: the times that an Autoscaler neither learns nor counts in reconciles are shorter."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

from hypot.core.bank import rule

Object = dict[str, Any]
FACTOR = 144.0
DAY = 600.0
SCALED = ("DAY_LENGTH", "STOP", "USUAL_START", "USUAL_RESIZE")
_SHORTEN = "from cluster.running.short_day import shorten; shorten(); from {} import main; main()"
# The command `hypot`.
HYPOT = [sys.executable, "-c", _SHORTEN.format("hypot.cli.main")]
_PAST = [sys.executable, "-c", _SHORTEN.format("cluster.running.past_days")]


def shorten() -> None:
    """Before any other module of hypot is imported, so only in a process of its own."""
    for name in SCALED:
        setattr(rule, name, getattr(rule, name) / FACTOR)


def learned(autoscaler: Object, demand: Iterable[float], until: float) -> Object:
    """The state that is saved of an Autoscaler that has seen this demand, one value in each second until this time."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    given = json.dumps([autoscaler, list(demand), until])
    done = subprocess.run(_PAST, input=given, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    entry: Object = json.loads(done.stdout)
    return entry
