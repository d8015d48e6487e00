"""One file: what it is, by its first bytes, and its traces."""

import stat
from pathlib import Path

import polars as pl

from hypot.replay.traces_csv import open_csv
from hypot.replay.traces_parquet import MAGIC, open_parquet
from hypot.replay.traces_rows import traces_of
from hypot.replay.traces_table import read_table
from hypot.replay.traces_value import Trace, TraceError, Window

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_PACKED |= {b"x\x01": "zlib", b"x\x5e": "zlib", b"x\x9c": "zlib", b"x\xda": "zlib"}
_LOOK = 4096


def read_file(path: str, window: Window) -> list[Trace]:
    size, parquet = _looked_at(path)
    opened = open_parquet(path) if parquet else open_csv(path, size)
    try:
        return traces_of(read_table(path, opened), window)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise TraceError(opened.broken(str(error))) from error


def _looked_at(path: str) -> tuple[int, bool]:
    """The size of a file and whether it is Parquet. What is no file, or is packed, is refused."""
    if path == "-":
        raise TraceError("-: standard input cannot be read: name a file")
    try:
        path.encode()
        about = Path(path).stat()
    except FileNotFoundError:
        raise TraceError(f"{path}: there is no such file") from None
    except ValueError as error:
        raise TraceError(f"{path!r}: is not the name of a file") from error
    if stat.S_ISDIR(about.st_mode):
        raise TraceError(f"{path}: is a directory: name the files in it")
    if not stat.S_ISREG(about.st_mode):
        raise TraceError(f"{path}: is not an ordinary file")
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
        raise TraceError(f"{path}: is packed ({packed}): unpack it first, or write it as Parquet")
    if path.lower().endswith((".parquet", ".pq")):
        raise TraceError(f"{path}: is not Parquet, though it is named so")
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TraceError(f"{path}: is UTF-16: save the file as UTF-8")
    return False
