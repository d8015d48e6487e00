"""Detects the format of a file by its first bytes."""

import stat
from pathlib import Path

from hypot.replay.traces.trace import TraceError

MAGIC = b"PAR1"
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_PACKED |= {b"x\x01": "zlib", b"x\x5e": "zlib", b"x\x9c": "zlib", b"x\xda": "zlib"}
_LOOK = 4096


def inspected(path: str) -> tuple[int, bool]:
    """The size of a file and whether it is Parquet. Raises if it is not a file, or is compressed."""
    if path == "-":
        raise TraceError("-: standard input cannot be read: name a file")
    try:
        path.encode()
        about = Path(path).stat()
    except FileNotFoundError:
        raise TraceError(f"{path}: no such file") from None
    except ValueError as error:
        raise TraceError(f"{path!r}: is not a valid file name") from error
    if stat.S_ISDIR(about.st_mode):
        raise TraceError(f"{path}: is a directory: name the files in it")
    if not stat.S_ISREG(about.st_mode):
        raise TraceError(f"{path}: is not a regular file")
    if not about.st_size:
        raise TraceError(f"{path}: is empty")
    with Path(path).open("rb") as stream:
        begin = stream.read(_LOOK)
    return about.st_size, _is_parquet(path, begin)


def _is_parquet(path: str, begin: bytes) -> bool:
    if begin.startswith(MAGIC):
        return True
    packed = next((name for magic, name in _PACKED.items() if begin.startswith(magic)), None)
    if packed:
        raise TraceError(f"{path}: is compressed ({packed}): decompress it first, or write it as Parquet")
    if path.lower().endswith((".parquet", ".pq")):
        raise TraceError(f"{path}: is not Parquet, despite its name")
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TraceError(f"{path}: is UTF-16: save the file as UTF-8")
    return False
