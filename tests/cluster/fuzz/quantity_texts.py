"""Texts and numbers that are quantities, that are not, and that are close to one."""

from hypothesis import strategies as st

# The API server strips some of these, JSON escapes some, and the last is not a space.
SPACES = ("", "", "", "", " ", "  ", "\u00a0", "\u3000", "\u2003", "\x85", "\u2028", "\t", "\n", "\u200b")
SUFFIXES = ("", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
NO_SUFFIXES = ("K", "i", "B", "MB", "ki", "Zi", "%", "mm", "e", "E+", "e1.5", "Kii", "E3i", "\u00b5", "e-", " k", "ee3")
NO_NUMBERS = ("", ".", "+", "-", "-.", "half", "0x10", "1_000", "1,5", "1.5.5", "--1", "+-1", "nan", "inf", "\u0661")
BEYOND_64_BITS = ("9223372036854775808", "18446744073709551615", "18446744073709551616", "-9223372036854775809")
OTHER_BASES = ("0x10", "0o17", "017", "0b11", "0xffffffffffffffff", "0x10000000000000000", "02000000000000000000000")
SIGNED = ("+9223372036854775807", "+9223372036854775808", "+1", "+.5", "-0x8000000000000000", "-0x8000000000000001")

signs = st.sampled_from(["", "", "+", "-"])
zeros = st.sampled_from(["", "", "0", "00", "0" * 20])
digits = st.one_of(
    st.integers(0, 9999).map(str),
    st.text("0123456789", max_size=22),
    st.integers(1, 10**6).map("{}000".format),
    st.sampled_from(["1", "8", "1024", "999999999999999999", "1000000000000000000", "9223372036854775807"]),
)
fractions = st.one_of(
    st.sampled_from(["", "", ".", ".0", ".5", ".500"]), st.text("0123456789", max_size=14).map(".{}".format)
)
exponents = st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "e-", "E-0", "e+0"]), st.integers(0, 22))
suffixes = st.one_of(st.sampled_from(SUFFIXES), st.sampled_from(SUFFIXES), exponents)
spaces = st.sampled_from(SPACES)
well_formed = st.tuples(signs, zeros, digits, fractions, suffixes).map("".join)
malformed = st.one_of(
    st.tuples(signs, digits, st.sampled_from(NO_SUFFIXES)).map("".join),
    st.tuples(st.sampled_from(NO_NUMBERS), suffixes).map("".join),
    st.text("0123456789.+-eEinumkKMGTP ", max_size=8),
)
texts = st.one_of(
    *[well_formed] * 5,
    st.tuples(spaces, well_formed, spaces).map("".join),
    malformed,
)

# As in a YAML file, without quotes.
numerals = st.one_of(
    st.integers(-10, 10**5).map(str),
    st.integers(-(10**25), 10**25).map(str),
    st.builds("{}.{}".format, st.integers(-10, 1000), st.integers(0, 10**6)),
    st.builds("{}e{}".format, st.integers(-10, 999), st.integers(-12, 25)),
    st.builds("{}.{}e{}".format, st.integers(0, 9), st.integers(0, 999), st.integers(-12, 25)),
    st.sampled_from(["0", "-0", "0.0", "1e20", "1e21", "1e-6", "1e-7", *BEYOND_64_BITS]),
    st.sampled_from([*OTHER_BASES, *SIGNED]),
)
