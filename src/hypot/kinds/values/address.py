"""Addresses that objects name: which of them are parsed, and their form for a status, an event or a log."""

from urllib.parse import urlsplit

from hypot.core.regex import regex

UNREADABLE = "an invalid address"
LONGEST_URL = 2048
# The texts around these are the scheme, nothing, the host with credentials, and the rest.
_ENDS = regex("[/?#]")


def url_fault(url: str) -> str:
    """Why this address must not be parsed, as text; empty if it may.

    Parsers normalise hosts that are not ASCII, which takes quadratic time.
    """
    if len(url) > LONGEST_URL:
        return f"it is longer than {LONGEST_URL} characters"
    if not all(part.isascii() for part in _ENDS.split(url, maxsplit=3)[:3]):
        return "its host or its credentials are not ASCII"
    return ""


def shown_address(url: str) -> str:
    """The address without userinfo, query and fragment, which may contain passwords and keys."""
    if url_fault(url):
        return UNREADABLE
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # A password that is not escaped properly looks like a port and cannot be distinguished from one.
        return UNREADABLE
    if not parts.netloc:
        return parts.path.rpartition("@")[2]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
