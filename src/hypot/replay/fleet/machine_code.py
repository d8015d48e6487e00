"""The machine code of loops: compiled once, kept on disk, and loaded without numba, whose import would take longer.

The folder is named by a hash of all that is compiled, see `sources`. A file for each loop and form of its arguments
names the object file that has its code.
"""

import atexit
import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from ctypes import CFUNCTYPE, byref, c_int32, c_int64, c_void_p
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import llvmlite.binding as llvm

from hypot.replay.fleet.forms import Form, c_type_of, flat, form_of
from hypot.replay.fleet.sources import source_hash

# The module that compiles, and what precedes the machine code in its output.
COMPILER, RESULT = "hypot.replay.fleet.compiling", b"machine code\n"
# The environment variable that names the folder of compiled code for child processes.
COPY = "HYPOT_FLEET_COPY"
# Compiled code of other versions is deleted after this many seconds without use.
UNUSED = 30 * 86400.0
# What a compiled function returns if no error occurred: with a result, and without.
_FINE = (0, -2)
Progress: TypeAlias = Callable[[int, int], None]


def call(loop: str, *arguments: Any) -> bool:
    """Run a loop; it is compiled if there is no code for such arguments."""
    form, numbers = form_of(arguments), tuple(flat(arguments))
    run = _LOADED.get((loop, form))
    if run is None:
        make({loop: form})
        run = _LOADED[loop, form] = _loaded(loop, form, numbers)
    made, error = c_int64(), c_void_p()
    status = run(byref(made), byref(error), *numbers)
    if status not in _FINE:
        raise RuntimeError(f"the compiled {loop} ended with status {status}")
    return bool(made.value & 1)


def make(wanted: Mapping[str, Form], progress: Progress | None = None) -> None:
    """Compile what is not there. If several processes need the same at once, one compiles and the others wait."""
    if all(is_there(*one) for one in wanted.items()):
        return
    with _alone(_writable(cache_folder())):
        missing = {loop: form for loop, form in wanted.items() if not is_there(loop, form)}
        if missing:
            _keep(missing, _compiled(missing, progress))


def is_there(loop: str, form: Form) -> bool:
    """Whether an earlier run has left the code of this loop."""
    return (_folder() / _name(loop, form)).exists()


def _name(loop: str, form: Form) -> str:
    return f"{loop}-{_hashed(repr(form).encode())}"


def _hashed(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def _keep(made: Mapping[str, Form], code: bytes) -> None:
    folder, name = _folder(), f"{_hashed(code)}.o"
    _write(folder / name, code)
    for loop, form in made.items():
        _write(folder / _name(loop, form), name.encode())


def _write(file: Path, content: bytes) -> None:
    """Another process that finds the file finds all of it."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _compiled(wanted: Mapping[str, Form], progress: Progress | None) -> bytes:
    """Compiled by another process, which neither Ctrl-C nor a file in the working directory disturbs."""
    command = [sys.executable, "-P", "-m", COMPILER]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(  # noqa: S603  this Python, with our own module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as compiler:
        try:
            return _answer(compiler.stdin, compiler.stdout, wanted, progress)
        finally:
            compiler.kill()


def _answer(to: Any, of: Any, wanted: Mapping[str, Form], progress: Progress | None) -> bytes:
    with to:
        pickle.dump(wanted, to)
    for line in iter(of.readline, RESULT):
        if not line:
            raise RuntimeError("the engine could not be compiled; see the error above")
        if progress is not None:
            progress(*map(int, line.split()))
    code: bytes = of.read()
    return code


# The loops that this process has loaded.
_LOADED: dict[tuple[str, Form], Any] = {}


def _loaded(loop: str, form: Form, numbers: tuple[float, ...]) -> Any:
    folder = _folder()
    with suppress(OSError):
        os.utime(folder)
    address = _engine(folder / (folder / _name(loop, form)).read_text()).get_function_address(loop)
    return CFUNCTYPE(c_int32, c_void_p, c_void_p, *map(c_type_of, numbers))(address)


@cache
def _engine(code: Path) -> Any:
    """An object file in memory, ready to be called."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.read_bytes()))
    engine.finalize_object()
    return engine


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hypot" / f"fleet-{source_hash()}"


def _folder() -> Path:
    return Path(os.environ.get(COPY) or cache_folder())


def _writable(folder: Path) -> Path:
    """The folder for compiled code: this one, or if it is not writable a temporary copy for this process."""
    if os.environ.get(COPY):
        return Path(os.environ[COPY])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)
    except OSError:
        return _copied(folder)
    for other in folder.parent.glob("fleet-*"):
        if time.time() - other.stat().st_mtime > UNUSED:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def _copied(folder: Path) -> Path:
    """A temporary copy; child processes find it through the environment."""
    copy = Path(tempfile.mkdtemp(prefix="hypot-fleet-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    if folder.is_dir():
        shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
        for one in (copy, *copy.rglob("*/")):
            one.chmod(0o700)
    os.environ[COPY] = str(copy)
    return copy


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Excludes other processes; where locking is not possible, each process compiles for itself."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            fcntl = import_module("fcntl")
            lock = stack.enter_context((folder / "lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
