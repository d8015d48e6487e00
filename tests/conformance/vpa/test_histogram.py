"""Buckets, weights, percentiles, decay, merging and checkpoints of the upstream recommender's histograms."""

import math
from contextlib import nullcontext

import pytest

from conformance.harness import each_case
from hypot.core.instant import read_time
from hypot.core.usage.histogram import YEAR_ONE, Bank, Saved
from hypot.core.usage.layout import Layout

LINEAR = {"max_value": "largest", "bucket_size": "size", "epsilon": "epsilon"}
EXPONENTIAL = {"max_value": "largest", "first_bucket_size": "first", "ratio": "ratio", "epsilon": "epsilon"}


@each_case("vpa_histogram.json")
def test_vpa_histogram(case):
    """A bank of one row in place of each histogram gives the expected results."""
    given, expect = case["given"], case["expect"]
    facts = [key for key in expect if key not in {"relative_tolerance", "note"}]
    unknown = [key for key in facts if key not in CHECKS]
    if unknown or not facts:
        pytest.fail(f"{given['function']} expects what nobody checks: {unknown}")
    for key in facts:
        CHECKS[key](given, expect)


def layout_of(options):
    make, names = (Layout.linear, LINEAR) if options["kind"] == "linear" else (Layout.exponential, EXPONENTIAL)
    return make(**{names[key]: value for key, value in options.items() if key != "kind"})


def bank_after(given, steps=(), layout=None):
    bank = Bank(layout or layout_of(given["options"]))
    row = bank.new(given.get("half_life_seconds") or math.inf)
    assert row == 0
    for step in steps:
        take(bank, step)
    return bank


def take(bank, step):
    work = {"add_sample": bank.add, "subtract_sample": bank.subtract}[step["op"]]
    work(0, step["value"], step["weight"], step.get("time_unix_seconds", YEAR_ONE))


def saved(checkpoint):
    if checkpoint is None:
        return None
    weights = {int(bucket): weight for bucket, weight in checkpoint["bucket_weights"].items()}
    at = read_time(checkpoint.get("reference_timestamp"))
    return Saved(checkpoint["total_weight"], weights, YEAR_ONE if at is None else at)


def bank_of(given):
    """After everything that happens to it: samples, another histogram, a checkpoint."""
    bank = bank_after(given, given.get("steps", ()))
    if "merge_with_steps" in given:
        bank.merge(0, 0, bank_after(given, given["merge_with_steps"], bank.layout))
    if "load_checkpoint" in given:
        bank.load(0, saved(given["load_checkpoint"]))
    return bank


def assert_percentiles(bank, wanted, tolerance):
    for each in wanted:
        near = pytest.approx(each["value"], rel=tolerance or 1e-12, abs=0)
        assert bank.percentile(0, each["percentile"]).item() == near, each
        assert bank.percentiles(0, [each["percentile"]]) == [near], each


def layout_epsilon(given, expect):
    assert layout_of(given["options"]).epsilon == expect["epsilon"]


def bucket_count(given, expect):
    assert len(layout_of(given["options"])) == expect["num_buckets"]


def starts(given, expect):
    layout = layout_of(given["options"])
    for each in expect["bucket_starts"]:
        assert layout.starts[each["bucket"]] == pytest.approx(each["start"], rel=1e-12)


def found(given, expect):
    layout = layout_of(given["options"])
    values = [each["value"] for each in expect["find_bucket"]]
    assert layout.buckets(values).tolist() == [each["bucket"] for each in expect["find_bucket"]]


def percentiles(given, expect):
    assert_percentiles(bank_of(given), expect["percentiles"], expect.get("relative_tolerance"))


def empty_at_first(given, expect):
    assert bank_after(given).is_empty(0).item() == expect["initially_empty"]


def after_steps(given, expect):
    for each in expect["after_step"]:
        bank = bank_after(given, given["steps"][: each["step_index"] + 1])
        if "is_empty" in each:
            assert bank.is_empty(0).item() == each["is_empty"]
        assert_percentiles(bank, each.get("percentiles", ()), expect.get("relative_tolerance"))


def equals_others(given, expect):
    bank = bank_of(given)
    assert_same(bank, bank_after(given, expect["equal_to_steps"]))


def assert_same(bank, other):
    """Compare as upstream does."""
    assert bank.weights[0].tolist() == pytest.approx(other.weights[0].tolist(), rel=0, abs=1e-15)
    assert (bank.first[0], bank.last[0]) == (other.first[0], other.last[0])
    assert (bank.reference[0], bank.half_life[0]) == (other.reference[0], other.half_life[0])


def checkpoint(given, expect):
    result = bank_of(given).save(0)
    assert result.total == expect["checkpoint"]["total_weight"]
    assert {str(bucket): weight for bucket, weight in result.weights.items()} == expect["checkpoint"]["bucket_weights"]


def refused(given, expect):
    bank = bank_after(given, given.get("steps", ()))
    with pytest.raises(ValueError, match=r"\w") if expect["error"] else nullcontext():
        bank.load(0, saved(given["load_checkpoint"]))


def total(given, expect):
    assert bank_of(given).total[0] == expect["total_weight"]


def bucket_weights(given, expect):
    weights = bank_of(given).weights[0]
    assert {str(b): weights[b] for b in weights.nonzero()[0]} == pytest.approx(expect["bucket_weights"])


def is_empty(given, expect):
    assert bank_of(given).is_empty(0).item() == expect["is_empty"]


def empty_after_a_round_trip(given, expect):
    result = bank_of(given).save(0)
    other = bank_after(given)
    other.load(0, result)
    assert other.is_empty(0).item() == expect["is_empty_after_save_and_load_into_new_histogram"]


def reference(given, expect):
    assert bank_of(given).reference[0] == read_time(expect["reference_timestamp"])


def reference_moved(given, expect):
    assert (bank_of(given).reference[0] != YEAR_ONE) == expect["reference_timestamp_differs_from_go_zero_time"]


def reference_saved(given, expect):
    bank = bank_of(given)
    same = bank.save(0).reference == bank.reference[0]
    assert same == expect["checkpoint_reference_timestamp_equals_histogram"]


def weights_saved(given, expect):
    assert bool(bank_of(given).save(0).weights) == expect["checkpoint_bucket_weights_non_empty"]


def total_saved(given, expect):
    assert (bank_of(given).save(0).total != 0) == expect["checkpoint_total_weight_non_zero"]


CHECKS = {
    "epsilon": layout_epsilon,
    "num_buckets": bucket_count,
    "bucket_starts": starts,
    "find_bucket": found,
    "percentiles": percentiles,
    "initially_empty": empty_at_first,
    "after_step": after_steps,
    "equal_to_steps": equals_others,
    "checkpoint": checkpoint,
    "error": refused,
    "total_weight": total,
    "bucket_weights": bucket_weights,
    "is_empty": is_empty,
    "is_empty_after_save_and_load_into_new_histogram": empty_after_a_round_trip,
    "reference_timestamp": reference,
    "reference_timestamp_differs_from_go_zero_time": reference_moved,
    "checkpoint_reference_timestamp_equals_histogram": reference_saved,
    "checkpoint_bucket_weights_non_empty": weights_saved,
    "checkpoint_total_weight_non_zero": total_saved,
}
