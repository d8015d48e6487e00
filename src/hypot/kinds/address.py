"""Addresses in a form that is safe to show in a status, an event or a log."""

from urllib.parse import urlsplit

UNREADABLE = "an invalid address"


def shown_address(url: str) -> str:
    """The address without userinfo, query and fragment, which may contain passwords and keys."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # A password that is not escaped properly looks like a port and cannot be distinguished from one.
        return UNREADABLE
    if not parts.netloc:
        return parts.path.rpartition("@")[2]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
