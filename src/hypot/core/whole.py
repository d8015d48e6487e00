"""Whole numbers that are too large for a machine's integer on their way to a result that is not."""


def times_over(amount: int, times: int, over: int) -> int:
    """An amount times one number and over another, rounded down; nothing is lost in between."""
    return amount * times // over
