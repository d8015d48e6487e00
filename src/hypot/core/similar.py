"""Known words that are similar to a mistyped one."""

from collections.abc import Iterable


def similar(word: str, known: Iterable[str], most: int = 1, alike: float = 0.6) -> list[str]:
    """The most similar of the known words, the best first; `alike` is 1 for equal words.

    >>> similar("maxReplica", ["minReplicas", "maxReplicas"])
    ['maxReplicas']
    """
    from difflib import get_close_matches  # noqa: PLC0415  only for mistakes

    return get_close_matches(word, list(known), most, alike)
