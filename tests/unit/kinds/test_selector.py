"""Label selectors, as text and as structure."""

import pytest

from hypot.kinds.selector import SelectorError, parse_selector, read_selector, show_selector

WEB = {"app": "web", "tier": "front", "shard": "7"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("  ", True),
        ("app=web", True),
        ("app==web", True),
        (" app = web , tier=front ", True),
        ("app=api", False),
        ("app=web,tier=back", False),
        ("app!=api", True),
        ("app!=web", False),
        ("other!=web", True),
        ("app in (web,api)", True),
        ("app in ( web , api )", True),
        ("app in(web)", True),
        ("app in (api)", False),
        ("app notin (api)", True),
        ("app notin (api, web)", False),
        ("other notin (web)", True),
        ("other in (web)", False),
        ("app", True),
        ("other", False),
        ("!other", True),
        ("! other", True),
        ("!app", False),
        ("app=", False),
        ("app in ()", False),
        ("shard>6", True),
        ("shard>7", False),
        ("shard<8,app", True),
        ("shard<7", False),
        ("app>1", False),
        ("other<1", False),
        ("in=x", False),
        ("notin", False),
        ("example.com/in notin (x),app", True),
    ],
)
def test_text(text, matches):
    """The form in a Scale."""
    assert parse_selector(text).matches(WEB) is matches


@pytest.mark.parametrize(
    "text",
    [
        ",",
        "app=web,,tier",
        ",app",
        "app=web tier=front",
        "app in web",
        "app in (web",
        "app in",
        "x==a==b",
        "!x=a",
        "x=a||y=b",
        "shard>many",
        "shard<",
        "/x=a",
        "a/b/c=d",
        "-x=a",
        "a" * 64,
        "app=(web)",
    ],
)
def test_text_that_is_not_a_selector(text):
    """Each is refused with one error type."""
    with pytest.raises(SelectorError):
        parse_selector(text)


@pytest.mark.parametrize("text", ["app=web,", "!app,"])
def test_a_trailing_comma_is_refused(text):
    """Kubernetes expects another requirement there."""
    with pytest.raises(SelectorError):
        parse_selector(text)


@pytest.mark.parametrize("text", ["appin (web)", "appnotin(web)"])
def test_a_key_ends_before_its_operator(text):
    """`appin` is one word to Kubernetes, not a key and an operator."""
    with pytest.raises(SelectorError):
        parse_selector(text)


@pytest.mark.parametrize(
    ("data", "matches"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"app": "web"}}, True),
        ({"matchLabels": {"app": "web", "tier": "back"}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["api"]}]}, True),
        ({"matchExpressions": [{"key": "other", "operator": "NotIn", "values": ["api"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist", "values": []}]}, False),
        ({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "other", "operator": "Exists"}]}, False),
    ],
)
def test_structure(data, matches):
    """The form in all other objects."""
    assert read_selector(data).matches(WEB) is matches


@pytest.mark.parametrize(
    "data",
    [
        {"matchLabels": ["app"]},
        {"matchExpressions": {"key": "app"}},
        {"matchExpressions": ["app"]},
        {"matchExpressions": [{"key": "app"}]},
        {"matchExpressions": [{"key": "app", "operator": "Near", "values": ["x"]}]},
        {"matchExpressions": [{"key": "app", "operator": "In"}]},
        {"matchExpressions": [{"key": "app", "operator": "Exists", "values": ["x"]}]},
        {"matchExpressions": [{"operator": "Exists"}]},
        {"matchLabels": {"a b": "x"}},
    ],
)
def test_structure_that_is_not_a_selector(data):
    """Each is refused with the same error type."""
    with pytest.raises(SelectorError):
        read_selector(data)


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "app", "operator": "In", "values": 5},
        {"key": "app", "operator": ["In"], "values": ["x"]},
        {"key": "app", "operator": "In", "values": "web"},
    ],
)
def test_a_dump_may_hold_anything(expression):
    """A value of the wrong type is refused without a crash; a text is not a list of its letters."""
    with pytest.raises(SelectorError):
        read_selector({"matchExpressions": [expression]})


@pytest.mark.parametrize("value", ["a,b", "-a"])
def test_a_value_that_no_label_can_have_is_refused(value):
    """Kubernetes refuses it too; written as text, `a,b` would mean something else."""
    with pytest.raises(SelectorError):
        read_selector({"matchLabels": {"app": value}})


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, ""),
        ({"matchLabels": {"app": "web", "tier": "front"}}, "app=web,tier=front"),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "api"]}]}, "app in (api,web)"),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, "app=web"),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}, "app notin (web)"),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, "app"),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, "!app"),
    ],
)
def test_structure_as_text(data, text):
    """The text that a Scale would have."""
    assert show_selector(data) == text


def test_a_selector_that_is_too_long_is_refused():
    """Each decision reads it; one that is only padded is read in one pass."""
    with pytest.raises(SelectorError, match="the selector has 20002 characters, and at most 16384 are read"):
        parse_selector("a," * 10_000 + "a ")
    assert len(parse_selector("a," * 5000 + "a ").requirements) == 5001
