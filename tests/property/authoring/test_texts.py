"""What is written is read back, and a difference leads from one manifest to the other."""

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from hypot import diff, from_yaml, to_yaml
from hypot.kinds.authored.written import written_part
from hypot.kinds.text.load import load_text
from hypot.kinds.text.write import to_yaml as write
from property.authoring.objects import manifests

# Anything that JSON can hold, with the words that YAML readers take for something else.
texts = st.text(max_size=12) | st.sampled_from(["Off", "on", "y", "1e3", "0x1", "12:30", "~", "", "null", " a", "a\nb"])
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300)
@given(values)
def test_any_value_is_read_back_by_pyyaml(value):
    """Whatever JSON can hold."""
    assert yaml.safe_load(write(value)) == value


def fits_the_api_server(value):
    """There whole numbers beyond 64 bits are floats, large floats are whole numbers, and NUL is refused."""
    if isinstance(value, dict):
        return all(fits_the_api_server(one) for pair in value.items() for one in pair)
    if isinstance(value, list):
        return all(map(fits_the_api_server, value))
    if isinstance(value, str):
        return "\0" not in value
    return value is None or abs(value) < (2**63 if isinstance(value, int) else 2**53)


@settings(max_examples=300)
@given(values.filter(fits_the_api_server))
def test_any_value_is_read_back_as_the_api_server_reads(value):
    """By the reader that follows sigs.k8s.io/yaml, with its words of YAML 1.1."""
    (found,) = load_text(write({"apiVersion": "v1", "kind": "Any", "value": value}))
    assert found.data["value"] == value


@given(st.lists(manifests, min_size=1, max_size=3))
def test_objects_of_all_kinds_are_read_back(some):
    """By PyYAML and by hypot, several in one text, in their order."""
    objects = [one for data in some for one in from_yaml(to_yaml(data))]
    text = to_yaml(*objects)
    assert list(from_yaml(text)) == objects
    assert list(yaml.safe_load_all(text)) == [one.to_dict() for one in objects]


def applied(patch, target):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    made = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = applied(value, made.get(key))
    return made


@settings(max_examples=200)
@given(manifests, manifests)
def test_the_patch_leads_from_one_to_the_other(a, b):
    """Words and patch are empty together, and only if nothing differs."""
    found = diff(a, b)
    assert not diff(applied(found.patch, written_part(a)), b)
    assert bool(found) == bool(found.words) == bool(found.patch)
    assert not diff(a, a)


@given(manifests)
def test_defaults_are_filled_in_once(data):
    """An object with its defaults has no other defaults."""
    (one,) = from_yaml(to_yaml(data))
    effective = one.effective("1.34")
    assert effective.effective("1.34") == effective
