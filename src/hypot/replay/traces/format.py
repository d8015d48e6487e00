"""Detects the format of a file by its first bytes, and unpacks what is compressed or not in UTF-8."""

import gzip
import stat
import zlib
from pathlib import Path
from typing import Literal, NamedTuple

from hypot.replay.traces.trace import TraceError

MAGIC = b"PAR1"
_GZIP = b"\x1f\x8b"
_PACKED = {b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
_PACKED |= {b"x\x01": "zlib", b"x\x5e": "zlib", b"x\x9c": "zlib", b"x\xda": "zlib"}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_BOM = b"\xef\xbb\xbf"
_LOOK = 4096
_BLOCK = 2**20
# What is unpacked is held in memory.
MAX_UNPACKED = 2**28


class Inspected(NamedTuple):
    """A file of which the first bytes were read."""

    size: int
    form: Literal["csv", "json", "parquet"]
    # What the file holds, if it had to be unpacked.
    content: bytes | None = None


def begin_of(path: str) -> tuple[int, bytes]:
    """The size and the first bytes of a file. Raises if it is not a file."""
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
        return about.st_size, stream.read(_LOOK)


def inspected(path: str) -> Inspected:
    """What a file is. Raises if it is not a file, or cannot be unpacked."""
    size, begin = begin_of(path)
    if not begin.startswith((_GZIP, *_UTF_16)):
        return Inspected(size, _form(path, begin))
    content = _inflated(path) if begin.startswith(_GZIP) else _whole(path, size)
    if content.startswith(_UTF_16):
        content = _from_utf_16(path, content)
    if not content:
        raise TraceError(f"{path}: is empty")
    form = _form(path, content[:_LOOK])
    if form == "parquet":
        raise TraceError(f"{path}: is Parquet in gzip: decompress it first")
    return Inspected(len(content), form, content)


def _form(path: str, begin: bytes) -> Literal["csv", "json", "parquet"]:
    if begin.startswith(MAGIC):
        return "parquet"
    packed = next((name for magic, name in _PACKED.items() if begin.startswith(magic)), None)
    if begin.startswith(_GZIP):
        packed = "gzip, twice"
    if packed:
        raise TraceError(f"{path}: is compressed ({packed}): decompress it first; only gzip is read as it is")
    if path.lower().endswith((".parquet", ".pq")):
        raise TraceError(f"{path}: is not Parquet, despite its name")
    return "json" if begin.removeprefix(_BOM).lstrip().startswith((b"{", b"[")) else "csv"


def _inflated(path: str) -> bytes:
    """The content of a gzip file; never more than fits."""
    content = bytearray()
    try:
        with gzip.open(path) as stream:
            while block := stream.read(_BLOCK):
                content += block
                if len(content) > MAX_UNPACKED:
                    raise _too_large(path)
    except EOFError as error:
        raise TraceError(f"{path}: is a gzip file that was cut off: copy it again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise TraceError(f"{path}: is a damaged gzip file: {error}") from error
    return bytes(content)


def _too_large(path: str) -> TraceError:
    return TraceError(
        f"{path}: unpacks to more than {MAX_UNPACKED / 2**20:.0f} MiB: decompress it first, or write it as Parquet"
    )


def _whole(path: str, size: int) -> bytes:
    if size > MAX_UNPACKED:
        raise TraceError(f"{path}: {size / 2**20:.0f} MiB of UTF-16 is too much: save the file as UTF-8")
    return Path(path).read_bytes()


def _from_utf_16(path: str, content: bytes) -> bytes:
    try:
        return content.decode("utf-16").encode()
    except UnicodeError as error:
        raise TraceError(f"{path}: is not valid UTF-16: save the file as UTF-8") from error
