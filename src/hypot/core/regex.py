"""Regular expressions that are compiled when they are first used: a short command uses few of those that it imports."""

import re
from typing import TYPE_CHECKING, Any

__all__ = ["regex"]

if TYPE_CHECKING:
    from re import compile as regex
else:

    class regex:  # noqa: N801  it stands for a function
        """As `re.compile`, with the methods of what that returns."""

        def __init__(self, text: str, flags: int = 0) -> None:
            self._text, self._flags = text, flags

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            # The next time it is found without this detour.
            method = getattr(re.compile(self._text, self._flags), name)
            setattr(self, name, method)
            return method
