"""Compiles loops into machine code. This runs as a process of its own, and only here numba is imported.

A compiled function cannot call a plain one, so every module is rebuilt with compiled functions instead of plain ones.
No rule is written twice.

By itself numba optimises each function alone, and again within each of its callers. Here numba only translates;
the functions of all loops are then optimised once, together. The changes of numba that this needs would disturb other
users of numba, hence the process.
"""
# mypy: allow-untyped-calls
# ruff: noqa: SLF001  numba has no public way to translate without optimising

import gc
import math
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from types import FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.registry import cpu_target
from numba.core.targetconfig import TargetConfig

from hypot.replay.fleet.forms import ColumnForm, Form, TupleForm
from hypot.replay.fleet.machine_code import RESULT
from hypot.replay.fleet.sources import INLINED, INSTEAD, MODULES, PLAIN_ONLY

# The time to optimise and emit, relative to that of translating.
_REST = 0.4
# Passes of numba for what these functions do not use: closures, with, raise, literals, array expressions.
_SKIPPED = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteSemanticConstants",
    "DeadBranchPrune",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "InlineOverloads",
    "NopythonRewrites",
    "NoPythonSupportedFeatureValidation",
    "AnnotateTypes",
    "DumpParforDiagnostics",
}


class _Passes(CompilerBase):
    """The compiler of numba, with fewer passes."""

    def define_pipelines(self) -> list[Any]:
        passes: Any = PassManager("numbers")
        every = DefaultPassBuilder.define_nopython_pipeline(self.state).passes
        passes.passes.extend(one for one in every if one[0].__name__ not in _SKIPPED)
        passes.finalize()
        return [passes]


class _Translated(JITCodeLibrary):
    """The code of one function, neither optimised nor linked with the code that it calls."""

    report: Callable[[], None]

    def add_ir_module(self, ir_module: Any) -> None:
        self.__dict__.setdefault("texts", []).append(str(ir_module))

    def finalize(self) -> None:
        self._finalized = True
        self.report()

    def get_pointer_to_function(self, _: str) -> int:
        return 0


class _Translating(JITCPUCodegen):
    _library_class = _Translated

    def set_env(self, *_: Any) -> None:
        """Only code with a Python wrapper needs an environment."""


def _same(one: Any, other: Any) -> bool:
    if one is other or type(one) is not type(other):
        return one is other
    return bool(one._values == other._values or one.values() == other.values())


def compiled(wanted: Mapping[str, Form], report: Callable[[int, int], None]) -> bytes:
    """An object file with a function for each of these loops, for arguments of these forms."""
    # The process is short, and looking for garbage would take a seventh of its time.
    gc.disable()
    # numba looks up almost everything by its flags, and compares all of them each time.
    flags: Any = TargetConfig
    flags.__hash__, flags.__eq__ = (lambda self: hash(type(self))), _same
    made = built()
    loops = {plain: wanted[plain.__name__] for plain in made if plain.__name__ in wanted}
    functions = len(set(_reachable(loops, made)))
    total, ready = round(functions * (1 + _REST)), count(1)
    # Some functions of numba are translated too, but they are few.
    _Translated.report = staticmethod(lambda: report(min(next(ready), functions), total))
    context = cpu_target.target_context
    context.refresh()
    context._internal_codegen = codegen = _Translating("hypot")
    entries = {plain.__name__: _translated(made[plain], form) for plain, form in loops.items()}
    return _emitted(entries, codegen)


def _translated(dispatcher: Any, form: Form) -> Any:
    given = tuple(_type(form).types)
    dispatcher.compile(given)
    return dispatcher.overloads[given]


def _reachable(plain: Iterable[Any], made: Mapping[Any, Any]) -> Iterator[Any]:
    """These functions and all that they call, to know how much there is to do."""
    known = {id(dispatcher): function for function, dispatcher in made.items()}
    seen, coming = set(), list(plain)
    while coming:
        function = coming.pop()
        if function in seen:
            continue
        seen.add(function)
        names = made[function].py_func.__globals__
        coming += [known[id(names[name])] for name in function.__code__.co_names if id(names.get(name)) in known]
        yield function


def _type(form: Form) -> Any:
    types: Any = numba.types
    if isinstance(form, np.dtype):
        return numba.from_dtype(form)
    if isinstance(form, ColumnForm):
        return types.Array(numba.from_dtype(form.of), form.dimensions, "C")
    if isinstance(form, TupleForm):
        named = form.kind if hasattr(form.kind, "_fields") else None
        return types.BaseTuple.from_types([_type(part) for part in form.parts], named)
    return {bool: types.boolean, int: types.int64, float: types.float64}[form]


def _emitted(entries: Mapping[str, Any], codegen: Any) -> bytes:
    together = _linked(list(_libraries(one.library for one in entries.values())))
    together.data_layout = codegen._data_layout
    names = {one.fndesc.llvm_func_name: loop for loop, one in entries.items()}
    for function in together.functions:
        if function.name in names:
            function.name = names[function.name]
        elif not function.is_declaration:
            function.linkage = "internal"
        elif hasattr(math, function.name.removeprefix("numba_")):
            # What numba calls by a name of its own is in the C library.
            function.name = function.name.removeprefix("numba_")
    together.verify()
    builder = codegen._pass_builder()
    builder.getModulePassManager().run(together, builder)
    for function in together.functions:
        if function.is_declaration and not function.name.startswith("llvm.") and not hasattr(math, function.name):
            raise RuntimeError(f"the compiled engine needs {function.name}, which only numba has")
    made: bytes = codegen._tm.emit_object(together)
    return made


def _libraries(first: Iterable[Any]) -> Iterator[Any]:
    seen, coming = set(), list(first)
    while coming:
        library = coming.pop()
        if library not in seen:
            seen.add(library)
            coming += library._linking_libraries
            yield library


def _linked(libraries: Iterable[Any]) -> Any:
    """All code as one module, joined in pairs: a link takes time for all that is in the module already."""
    modules = [llvm.parse_assembly(text) for library in libraries for text in getattr(library, "texts", ())]
    while len(modules) > 1:
        for into, module in zip(modules[::2], modules[1::2], strict=False):
            into.link_in(module)
        modules = modules[::2]
    return modules[0]


def built(modules: Iterable[ModuleType] = MODULES) -> dict[Any, Any]:
    """The compiled form of every function of these modules; each is compiled when it is first called."""
    made: dict[Any, Any] = {}
    for module in modules:
        names = dict(vars(module))
        for name, value in list(names.items()):
            if not isinstance(value, FunctionType) or value in PLAIN_ONLY:
                continue
            chosen = INSTEAD.get(value, value)
            if chosen not in made and (chosen is not value or value.__module__ == module.__name__):
                made[chosen] = _compiled(chosen, names if chosen is value else {})
            names[name] = made.get(chosen, value)
    return made


def _compiled(plain: FunctionType, names: dict[str, Any]) -> Any:
    """Without reference counting: the compiled code allocates nothing, and the caller owns all memory.

    Python calls only loops, by their address, so no function gets a wrapper.
    """
    twin = FunctionType(plain.__code__, names or plain.__globals__, plain.__name__, plain.__defaults__)
    twin.__module__ = plain.__module__
    compiling: Any = numba.njit
    made = compiling(
        twin,
        nogil=True,
        error_model="numpy",
        _nrt=False,
        forceinline=plain in INLINED,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        pipeline_class=_Passes,
    )
    made.get_call_template = partial(_call_of_any_number, made.get_call_template)
    return made


def _call_of_any_number(template: Any, given: Iterable[Any], named: dict[str, Any]) -> Any:
    """Ignores literal types; otherwise each literal number, such as an initial 0, would compile another version."""
    plain: Any = numba.types.unliteral
    return template(tuple(plain(one) for one in given), {name: plain(one) for name, one in named.items()})


def main() -> None:
    """Reads what is wanted from the standard input; writes progress and machine code to the standard output."""
    wanted, out = pickle.load(sys.stdin.buffer), sys.stdout.buffer  # noqa: S301  from the process that started us

    def report(done: int, total: int) -> None:
        out.write(b"%d %d\n" % (done, total))
        out.flush()

    out.write(RESULT + compiled(wanted, report))


if __name__ == "__main__":
    main()
