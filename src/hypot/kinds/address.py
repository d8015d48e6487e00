"""Addresses, as they may be told where many people read: in a status, an event or a log."""

from urllib.parse import urlsplit

UNREADABLE = "an address that cannot be read"


def shown_address(url: str) -> str:
    """Without userinfo, query and fragment, where people put passwords and keys."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # A password that is not written as it should be looks like a port, and cannot be told apart from one.
        return UNREADABLE
    if not parts.netloc:
        return parts.path.rpartition("@")[2]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
