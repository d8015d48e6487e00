"""What holds for every selector."""

from contextlib import suppress
from string import ascii_letters, digits

from hypothesis import given, settings
from hypothesis import strategies as st

from hypot.kinds.selector import SelectorError, parse_selector, read_selector, show_selector

numeric = settings(max_examples=80, deadline=None)

keys = st.sampled_from(["app", "tier", "example.com/role", "in", "notin", "a.b_c-d", "x"])
values = st.one_of(
    st.sampled_from(["", "web", "api", "1", "in", "a.b-c_d"]), st.text(ascii_letters + digits, min_size=1, max_size=8)
)
label_sets = st.dictionaries(keys, values, max_size=4)
expressions = st.one_of(
    st.fixed_dictionaries(
        {"key": keys, "operator": st.sampled_from(["In", "NotIn"]), "values": st.lists(values, min_size=1, max_size=3)}
    ),
    st.fixed_dictionaries({"key": keys, "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
)
selectors = st.fixed_dictionaries(
    {}, optional={"matchLabels": label_sets, "matchExpressions": st.lists(expressions, max_size=3)}
)

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-99, 99), st.text(max_size=5), st.sampled_from(["In", "Exists"])
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["key", "operator", "values", "matchLabels", "matchExpressions"]), inner),
    ),
    max_leaves=10,
)

odd_expressions = st.fixed_dictionaries({"operator": anything}, optional={"key": anything, "values": anything})


def check_text_and_structure_agree(data, labels):
    """The selector as text selects the same as the structure."""
    assert parse_selector(show_selector(data)).matches(labels) is read_selector(data).matches(labels)


def check_text_is_stable(data):
    """Parsing the text gives the same requirements, with the same keys and operators."""
    read, parsed = read_selector(data).requirements, parse_selector(show_selector(data)).requirements
    assert [(r.key, r.operator, set(r.values)) for r in parsed] == [(r.key, r.operator, set(r.values)) for r in read]


@numeric
@given(selectors, label_sets)
def test_whatever_is_selected(data, labels):
    """Each check reads the same selector."""
    check_text_and_structure_agree(data, labels)
    check_text_is_stable(data)


@numeric
@given(st.one_of(st.text(max_size=30), st.text("ab=!,<>()in ot/-.1", max_size=20)), label_sets)
def test_any_text_is_a_selector_or_refused(text, labels):
    """Nothing else is raised, and a parsed selector can be used."""
    with suppress(SelectorError):
        assert parse_selector(text).matches(labels) in {True, False}


@numeric
@given(
    st.one_of(
        st.dictionaries(st.sampled_from(["matchLabels", "matchExpressions"]), anything),
        st.fixed_dictionaries({"matchExpressions": st.lists(odd_expressions, max_size=2)}),
    ),
    label_sets,
)
def test_any_structure_is_a_selector_or_refused(data, labels):
    """Any content of a dump is possible."""
    with suppress(SelectorError):
        assert read_selector(data).matches(labels) in {True, False}


@numeric
@given(label_sets, label_sets)
def test_labels_match_what_has_them(wanted, others):
    """A selector of labels matches every set that has them, and the empty selector matches all."""
    assert read_selector({"matchLabels": wanted}).matches({**others, **wanted})
    assert read_selector(None).matches(others)
    missing = {key: value for key, value in others.items() if key not in wanted}
    assert read_selector({"matchLabels": wanted}).matches(missing) is (not wanted)
