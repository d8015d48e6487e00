"""Secrets for libraries that read files only."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def secret_file(secret: bytes) -> Iterator[str]:
    """A temporary path with this content: in memory if the system supports it, else a file only this user can read."""
    memory = hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir()
    with os.fdopen(os.memfd_create("hypot"), "wb") if memory else tempfile.NamedTemporaryFile() as file:
        file.write(secret)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}" if memory else file.name
