"""What an Autoscaler learned in at most 4 KiB of text, as the controller saves it.

Prices are codes of their ratio to the cheapest, the slots of a week codes of their ratio to the largest, both on a
logarithmic scale. The minutes of the last day follow from the slots of the week. What the last steps showed is left
out: after a restart an Autoscaler continues as after a time without decisions, so it releases nothing until the longest
hold has passed, and grows at once.
"""

import base64
import struct
from collections.abc import Iterable, Sequence
from math import exp, floor, inf, isfinite, log
from typing import Any

from hypot.core.bank.bank import PRICED, RULES, RuleBank
from hypot.core.bank.rule import DAY_LENGTH, AutoscalerPast, LearnedLoad, nothing_learned
from hypot.core.bank.season import DAY, MORE, UNKNOWN, WEEK, Season, demand_at

FORMAT = 1
LARGEST = 4096
# Steps of 0.01 % tell prices apart up to 700 times the cheapest, steps of 0.2 % demands down to a 3,500th of the
# largest. The code 0 is unknown.
PRICE_STEP, PRICE_CODES = log(1.0001), 1 << 16
SLOT_STEP, SLOT_CODES = log(1.002), 1 << 12
SLOTS = WEEK + MORE
MINUTE, TEN_MINUTES = DAY_LENGTH / DAY, 7.0 * DAY_LENGTH / WEEK

# Of each bank the least price, since when its rule decides, the rule, and the steps priced.
_BANK = struct.Struct("<ddHI")
# The newest minute; the newest slot of the week, its observations and their sum, and the mean of the code 1.
_SEASON = struct.Struct("<iiIdd")
_SCALARS = struct.Struct("<14d")
_PRICES = struct.Struct(f"<{PRICED}H")
_SLOT_BYTES = 3 * (SLOTS // 2)
SIZE = 1 + 2 * (_BANK.size + _PRICES.size) + _SEASON.size + _SLOT_BYTES + _SCALARS.size
_MOST_COUNT = (1 << 32) - 1
_MOST_SLOT = (1 << 31) - 1


def checkpoint(past: AutoscalerPast) -> str:
    """What is kept of it; always of the same length."""
    learned = past.learned
    parts = [bytes([FORMAT]), *_packed_bank(past.counts), *_packed_bank(past.sizes), *_packed_season(learned)]
    return base64.b64encode(b"".join([*parts, _SCALARS.pack(*_scalars(learned))])).decode("ascii")


def restored(text: str) -> AutoscalerPast:
    """What it learned, with nothing in the last steps. Raises ValueError if it cannot be read."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        raise ValueError("what an Autoscaler learned cannot be read") from error
    if len(data) != SIZE or data[0] != FORMAT:
        raise ValueError("what an Autoscaler learned has another form")
    past, at = nothing_learned(), 1
    for bank in (past.counts, past.sizes):
        _read_bank(bank, data, at)
        at += _BANK.size + _PRICES.size
    _read_season(past.learned, data, at)
    at += _SEASON.size + _SLOT_BYTES
    _read_scalars(past.learned, _SCALARS.unpack_from(data, at))
    return past


def _packed_bank(bank: RuleBank) -> tuple[bytes, bytes]:
    least = min([price for price in bank.prices if price > 0.0], default=0.0)
    head = _BANK.pack(least, bank.since[0], bank.rule[0], min(bank.priced[0], _MOST_COUNT))
    return head, _PRICES.pack(*_codes(bank.prices, least, PRICE_STEP, PRICE_CODES))


def _read_bank(bank: RuleBank, data: bytes, at: int) -> None:
    least, since, rule, priced = _BANK.unpack_from(data, at)
    if rule >= RULES or not isfinite(since):
        raise ValueError("what an Autoscaler learned names a rule that does not exist")
    codes = _PRICES.unpack_from(data, at + _BANK.size)
    bank.prices[:] = _amounts(codes, _finite(least), PRICE_STEP, 0.0)
    bank.rule[0], bank.since[0], bank.priced[0] = rule, since, priced


def _packed_season(learned: LearnedLoad) -> tuple[bytes, bytes]:
    week = learned.week
    most = max(week.means)
    least = most / _growth(SLOT_STEP, SLOT_CODES - 2)
    codes = _codes(week.means, least, SLOT_STEP, SLOT_CODES)
    newest = [min(max(season.slot[0], -1), _MOST_SLOT) for season in (learned.day, week)]
    head = _SEASON.pack(*newest, min(week.count[0], _MOST_COUNT), week.total[0], least)
    return head, bytes(_in_threes(codes))


def _read_season(learned: LearnedLoad, data: bytes, at: int) -> None:
    minute, slot, count, total, least = _SEASON.unpack_from(data, at)
    codes = _from_threes(data[at + _SEASON.size : at + _SEASON.size + _SLOT_BYTES])
    week = learned.week
    week.means[:] = _amounts(codes, max(0.0, _finite(least)), SLOT_STEP, UNKNOWN)
    week.slot[0], week.total[0], week.count[0] = max(-1, slot), _finite(total), count
    learned.day.slot[0] = max(-1, minute)
    fill_minutes(learned.day, week)


def fill_minutes(day: Season, week: Season) -> None:
    """The minutes that are not known follow from the slots of the week."""
    newest = day.slot[0]
    for minute in range(max(0, newest - DAY - MORE + 1), newest + 1):
        if day.means[minute % (DAY + MORE)] < 0.0:
            day.means[minute % (DAY + MORE)] = _minute(week, minute)


def _minute(week: Season, minute: int) -> float:
    """The demand in a minute: between the middles of two slots; at the edge of what is known, that of its own slot."""
    between = demand_at(week, TEN_MINUTES, (minute + 0.5) * MINUTE)
    slot = floor((minute + 0.5) * MINUTE / TEN_MINUTES)
    if between >= 0.0 or not week.slot[0] - SLOTS < slot <= week.slot[0]:
        return between
    return float(week.means[slot % SLOTS])


def _scalars(learned: LearnedLoad) -> Iterable[float]:
    return [*[column[0] for column in _singles(learned)], *learned.means, *learned.jumps]


def _singles(learned: LearnedLoad) -> tuple[Any, ...]:
    """The columns of one number; the last may be unknown."""
    return (
        *(learned.kappa, learned.work, learned.base, learned.start, learned.peak),
        *(learned.most_used, learned.reach, learned.first),
    )


def _read_scalars(learned: LearnedLoad, numbers: Sequence[float]) -> None:
    columns = _singles(learned)
    *known, first = numbers[: len(columns)]
    rest = numbers[len(columns) :]
    if not all(map(isfinite, (*known, *rest))) or not (isfinite(first) or first == -inf):
        raise ValueError("what an Autoscaler learned has a number that is none")
    for column, number in zip(columns, numbers, strict=False):
        column[0] = number
    learned.means[:], learned.jumps[:] = rest[:4], rest[4:]


def _codes(amounts: Iterable[float], least: float, step: float, codes: int) -> list[int]:
    """1 for the least amount, one more for each step above it; 0 for what is not above zero."""
    if least <= 0.0 or not isfinite(least):
        return [0 for _ in amounts]
    lowest, most = log(least), codes - 2
    return [1 + min(most, max(0, round((log(one) - lowest) / step))) if 0.0 < one < inf else 0 for one in amounts]


def _amounts(codes: Iterable[int], least: float, step: float, unknown: float) -> list[float]:
    return [least * _growth(step, code - 1) if code else unknown for code in codes]


def _growth(step: float, steps: int) -> float:
    return exp(step * steps)


def _in_threes(codes: Sequence[int]) -> Iterable[int]:
    """Two codes of twelve bits in three bytes."""
    for first, second in zip(codes[::2], codes[1::2], strict=True):
        yield first & 255
        yield first >> 8 | (second & 15) << 4
        yield second >> 4


def _from_threes(data: bytes) -> list[int]:
    pairs = zip(data[::3], data[1::3], data[2::3], strict=True)
    return [code for low, both, high in pairs for code in (low | (both & 15) << 8, both >> 4 | high << 4)]


def _finite(number: Any) -> float:
    if not isfinite(number):
        raise ValueError("what an Autoscaler learned has a number that is none")
    return float(number)
