"""Values around every rule, some valid and some not; they are not marked as such."""

from hypothesis import strategies as st

MAX_INT32, MAX_INT64 = 2**31 - 1, 2**63 - 1

odd_whole = st.sampled_from(
    (
        *(-(2**31) - 1, -(2**31), -1, 0, 1, 2, 3, 5, 99, 100, 101, MAX_INT32, MAX_INT32 + 1, MAX_INT64, MAX_INT64 + 1),
        *(0.0, -0.0, 1.0, 1.5, 1e3, 1e300, "1", ""),
    )
)
_SIGNS = ("", "", "", "+", "-", "--", "+-", " ")
_DIGITS = (
    *("", "0", "1", "00", "12", "007", "100", "999", "1000", "1001", "9" * 18, "9" * 19, "9" * 30),
    *("\N{ARABIC-INDIC DIGIT ONE}", "0x1", "1_0"),
)
_FRACTIONS = ("", "", "", ".", ".0", ".5", ".999", ".000000001", ".0000000001", ".1.1", ",5")
_SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENTS = ("e0", "e3", "E3", "e-3", "E+3", "e+03", "e-9", "e-10", "e18", "e99", "E-99", "e100", "e003", "e", "e+")
_WRONG_SUFFIXES = ("K", "mi", "ki", "Ki ", "kk", "mm", "%", "s", "e1.5", "e.5", " ", "\n", "\x00", "µ", "i", "Eix")
spelled = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(_SIGNS),
    st.sampled_from(_DIGITS),
    st.sampled_from(_FRACTIONS),
    st.one_of(st.sampled_from(_SUFFIXES), st.sampled_from(_EXPONENTS), st.sampled_from(_WRONG_SUFFIXES)),
)
long_texts = st.builds(
    lambda head, digit, length, tail: head + digit * (length - len(head + tail)) + tail,
    st.sampled_from(["", "-", "0.", "1."]),
    st.sampled_from(["0", "1", "9"]),
    st.integers(63, 65),
    st.sampled_from(["", "1", "m", "Ei", "e3"]),
)
odd_numbers = st.sampled_from(
    (
        *(0, 1, -1, 50, 99, 100, 101, MAX_INT64, MAX_INT64 + 1, -(2**63), -(2**63) - 1, 10**30),
        *(-0.0, 0.0, 0.5, 1.0, 1e3, 1e-320, -1e-9, 1.0000000000000002, 1e300),
    )
)
odd_amounts = st.one_of(spelled, long_texts, odd_numbers, st.text("0123456789.eE+-numkKMGTPEi", max_size=6))
junk = st.sampled_from(
    [None, True, False, 0, 1, -1, 1.5, "", "x", "1", [], ["x"], [None], [{}], {}, {"x": 1}, {"": None}, [[]], {"x": {}}]
)
odd_lists = st.lists(st.sampled_from(["", "a", "é", None, 1, True, [], {}]), max_size=2)
odd_texts = st.dictionaries(
    st.sampled_from(["", "a", "a b", "é", "x/y/z"]), st.sampled_from(["", "é", None, 1, True, [], {}])
)
