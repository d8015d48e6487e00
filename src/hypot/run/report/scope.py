"""The first lines of the log: on which cluster hypot runs, which kinds it decides for, and which it ignores."""

from typing import Final

import structlog

from hypot.cluster.config import Access
from hypot.kinds.catalogue import Mode, controlled
from hypot.kinds.hpa import HPA
from hypot.run.config import OPT_IN_LABEL, OPT_IN_VALUE, RunConfig

log = structlog.get_logger()
_DOES: Final[dict[Mode, str]] = {
    "act": "acting on",
    "observe": "observing only",
    "recommend": "only recommending for",
    "off": "ignoring",
}
WHY_NO_HPAS: Final = "HPAs stay with kube-controller-manager by default"
SEE_HPAS: Final = (
    "to see what hypot would do for HPAs, write `kinds: {HorizontalPodAutoscaler: observe}` to a file for --config, or "
    "run `hypot decide --live`"
)


def log_scope(config: RunConfig, access: Access) -> None:
    """Log what hypot looks at and what not, so that an empty cluster is not taken for a broken hypot."""
    log.info("cluster", server=access.server, credentials=access.source)
    for mode, does in _DOES.items():
        kinds = [info.name for info in controlled() if config.mode(info.name) == mode]
        if not kinds:
            continue
        more = {"namespaces": _where(config, mode)} if mode != "off" else {}
        if mode == "off" and HPA.KIND in kinds:
            more = {"why": WHY_NO_HPAS, "todo": SEE_HPAS}
        log.info(_does(config, mode, does), kinds=", ".join(kinds), **more)


def _does(config: RunConfig, mode: Mode, does: str) -> str:
    return "deciding for, without writing" if config.dry_run and mode == "act" else does


def _where(config: RunConfig, mode: Mode) -> str:
    watched = ", ".join(config.watch_namespaces)
    if config.opt_in == "all" or mode == "observe" or config.dry_run:
        return watched or "all"
    return f"{watched or 'those'} with the label {OPT_IN_LABEL}={OPT_IN_VALUE}; the others are only observed"
