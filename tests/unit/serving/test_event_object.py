"""Events as they are written: what the API server accepts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hypot.kinds.values.names import dns_subdomain
from hypot.serving.event_object import LONGEST_MESSAGE, cut, event_name


@given(st.text(max_size=600))
def test_messages_are_cut_at_whole_characters(text):
    """The length is in bytes, as the API server counts."""
    kept = cut(text * 5, LONGEST_MESSAGE)
    assert len(kept.encode()) <= LONGEST_MESSAGE
    if len((text * 5).encode(errors="replace")) <= LONGEST_MESSAGE:
        assert kept == (text * 5).encode(errors="replace").decode()
    else:
        assert kept.endswith("…")


@pytest.mark.parametrize("subject", ["web", "a" * 253, f"{'a' * 199}-b", f"{'a' * 199}.b", "web.v1"])
def test_names_are_valid(subject):
    """They are valid for any name of the subject."""
    assert list(dns_subdomain(event_name(subject, 2**60))) == []
