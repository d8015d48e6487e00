"""How old and how far apart samples may be."""

from typing import NamedTuple


class Ages(NamedTuple):
    """Seconds: how close two samples may be, how far apart, and how old the last one."""

    least_gap: float = 10.0
    longest_gap: float = 600.0
    oldest: float = 90.0
