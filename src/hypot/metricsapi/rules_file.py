"""The rules that a server applies: a preset, or a file that may change."""

from pathlib import Path

from hypot.kinds.metric_rules import PRESETS
from hypot.kinds.metric_rules.read import RulesError, read_rules, rules_of
from hypot.metricsapi.config import MetricsConfig
from hypot.metricsapi.conflicts import conflicts
from hypot.metricsapi.plan import ScrapePlan, plan_of

LARGEST = 2**20


class RulesFile:
    """Reads the rules again whenever the file has changed."""

    def __init__(self, file: str = "", preset: str = "", config: MetricsConfig | None = None) -> None:
        self._file, self._preset, self._config = file, preset, config or MetricsConfig()
        self._seen: bytes | None = None

    def changed(self) -> bool:
        """Whether there is something new to read. A file that cannot be read counts as new until it can."""
        if not self._file:
            return self._seen is None
        try:
            return self._bytes() != self._seen
        except OSError:
            return True

    def read(self) -> ScrapePlan:
        """Raises RulesError with everything that is wrong."""
        if not self._file:
            self._seen = b""
            return plan_of([rules_of(PRESETS[self._preset])])
        try:
            self._seen = self._bytes()
        except OSError as error:
            raise RulesError(f"{self._file}: cannot be read: {error.strerror}") from error
        if len(self._seen) > LARGEST:
            raise RulesError(f"{self._file}: has more than {LARGEST:,} bytes")
        rules = read_rules(self._file)
        if wrong := list(conflicts(rules, self._config)):
            raise RulesError("\n".join(f"{self._file}: {each}" for each in wrong))
        return plan_of([rules])

    def _bytes(self) -> bytes:
        with Path(self._file).open("rb") as opened:
            return opened.read(LARGEST + 1)
