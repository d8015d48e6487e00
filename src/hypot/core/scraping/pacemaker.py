"""When the next scrape may start: spread evenly over the period, and fast but bounded if many are due.

Debt grows at the lowest rate, so that scrapes go on even if nothing is due. Surplus is what was started above the
highest rate; it shrinks at that rate.
"""

from hypot.core.dataclass import dataclass


@dataclass(slots=True)
class Pacemaker:
    """Rates are per second. `now` never goes back; the clock starts at the first call."""

    lowest: float
    highest: float
    most_debt: float
    most_surplus: float
    debt: float = 0.0
    surplus: float = 0.0
    last: float | None = None

    def may_start(self, now: float, *, due: bool) -> bool:
        """Whether one more scrape may start; `due`: whether a whole period has passed since that target's last one."""
        passed = 0.0 if self.last is None else max(now - self.last, 0.0)
        self.last = now
        self.debt = min(self.debt + passed * self.lowest, self.most_debt)
        self.surplus = max(self.surplus - passed * self.highest, 0.0)
        if self.surplus > self.most_surplus - 1 or not (due or self.debt >= 1):
            return False
        self.debt = max(self.debt - 1, 0.0)
        self.surplus += 1
        return True
