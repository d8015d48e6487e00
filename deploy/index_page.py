"""README.md as the page of a package index, which has no files of the repository: links to these become text."""  # noqa: INP001

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK_TO_FILE = re.compile(r"!?\[(?P<text>[^\]]*)\]\((?![a-z]+:)[^)]*\)")


def index_page(readme: str) -> str:
    """The same text. A picture is its description."""
    return _LINK_TO_FILE.sub(lambda found: found["text"], readme)


class IndexPage(MetadataHookInterface):
    """What hatchling asks for the field `readme`, which is `dynamic` in pyproject.toml."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": index_page(text)}
