"""Integers whose intermediate results are too large for a machine integer."""


def times_over(amount: int, times: int, over: int) -> int:
    """An amount times one number, divided by another, rounded down, without overflow in between."""
    return amount * times // over
