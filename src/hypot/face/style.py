"""The colours of pages and pictures, and text that is safe to show.

The tints can be distinguished by people with any colour blindness; each has a contrast of at least 3:1.
"""

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "ink": "#1d232b",
    "faint": "#5b6673",
    "line": "#dde2e8",
    "shade": "#eef1f4",
    "tint-1": "#3b35cc",
    "tint-2": "#d48208",
    "tint-3": "#128383",
    "tint-4": "#7a1072",
    "tint-5": "#4d8fff",
    "tint-6": "#7e630b",
    "tint-7": "#5e0119",
}
DARK: Mapping[str, str] = {
    "paper": "#14181d",
    "ink": "#e4e8ed",
    "faint": "#9aa5b1",
    "line": "#323a44",
    "shade": "#20262d",
    "tint-1": "#4887fc",
    "tint-2": "#ffac2b",
    "tint-3": "#00ccbf",
    "tint-4": "#c75fa6",
    "tint-5": "#9fe8ff",
    "tint-6": "#fff639",
    "tint-7": "#ff5246",
}
TINTS = tuple([name for name in LIGHT if name.startswith("tint-")])
DASHES = ("solid", "dash", "dot")
# How many lines can be distinguished.
LOOKS = len(TINTS) * len(DASHES)


def tint_of(index: int) -> str:
    return TINTS[index % len(TINTS)]


def dash_of(index: int) -> str:
    """The dash pattern; each time the tints repeat, the pattern changes."""
    return DASHES[index // len(TINTS) % len(DASHES)]


def variables(tones: Mapping[str, str]) -> str:
    """The tones as declarations of CSS variables."""
    return " ".join(f"--{name}: {tone};" for name, tone in tones.items())


def printable(label: str) -> str:
    """Names come from files: characters that control a terminal or break a line are shown as escapes."""
    if label.isprintable():
        return label
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in label)
