"""Compilation by numba, with a disk cache that detects damage."""

import contextlib
import copy
import functools
import gc
import hashlib
import inspect
import itertools
import operator
import os
import pickle
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numpy as np
from filelock import FileLock, Timeout
from llvmlite import ir  # type: ignore[import-untyped]
from llvmlite.binding.ffi import lib as llvm_library  # type: ignore[import-untyped]

from ..seqform.errors import SolverError, one_line
from ..seqform.limits import compiling
from .progress import waiting_for

try:
    import numba
    from numba import extending, types
    from numba.core import ir as numba_ir
    from numba.core import ir_utils
    from numba.core.bytecode import FunctionIdentity
    from numba.core.caching import IndexDataCacheFile
    from numba.core.cgutils import alloca_once
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, Flags
    from numba.core.compiler_machinery import FunctionPass, PassManager, register_pass
    from numba.core.cpu import CPUContext
    from numba.core.targetconfig import ConfigStack
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import intrinsic, models, overload, register_model
except ValueError as error:  # a setting such as NUMBA_NUM_THREADS=0, which numba reads when it is imported
    raise SolverError(
        f"numba rejects its settings; check the environment variables NUMBA_…: {one_line(str(error))}"
    ) from None

# All other modules import numba's names from here, so that its settings are checked in one place.
__all__ = [
    "PATIENCE", "AttributeTemplate", "Fielded", "alloca_once", "call_address", "compiled", "compiled_at_once",
    "extending", "inlined", "intrinsic", "ir", "is_ready", "models", "overload", "register_model", "types",
    "why_not_compiled",
]  # fmt: skip

#: The settings of numba that change the code of a function but are not part of its cache key.
_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML")


def number_functions_anew() -> None:
    """Make numba number newly compiled functions from a starting number that is unique to this process.

    The numbers are part of the names in compiled code. By default two processes use the same numbers, so that code
    which one process cached may have the same names as other code from a second process. If both are loaded, each may
    call functions of the other.
    """
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(5)) << 16)


number_functions_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=number_functions_anew)


def why_not_compiled() -> str:
    """Return why loops are not compiled, and what to do; an empty string if they are."""
    config: Any = numba.config
    if not config.DISABLE_JIT:
        return ""
    return "NUMBA_DISABLE_JIT is set, but this loop needs compilation: unset it, or use another method, such as highs"


def compiled(function: Any, cache: bool = False, inline: bool = False) -> Any:
    """Compile a function, with a cache on disk if requested and if a writable place for it exists.

    Only functions that Python calls need a cache; other functions are compiled into them. If compilation is disabled, a
    cached function raises :class:`~treeplex.SolverError`: loops use instructions and integers that Python does not
    have.
    """
    refusal = why_not_compiled()
    if refusal:
        return _refusing(function, refusal) if cache else function
    # No fast mathematics: neither reassociated sums nor fused multiply-adds, so that the same game gives the same
    # iterates on every machine. It costs a few percent.
    njit: Any = numba.njit
    # No reference counts of arrays either, which would cost time at every call and access.
    options = {"error_model": "numpy", "boundscheck": False, "no_cfunc_wrapper": True, "_nrt": False}
    options |= {"forceinline": True} if inline else {}
    if cache:
        try:
            found = njit(cache=True, nogil=True, pipeline_class=_LeanCompiler, **options)(function)
        except RuntimeError:  # numba: no locator available
            found = njit(nogil=True, pipeline_class=_LeanCompiler, **options)(function)
        kept = getattr(found._cache, "_cache_file", None)
        if kept is not None:
            kept.__class__, kept.function = _CheckedCacheFile, function
        _announce(found, kept)
        return found
    return njit(no_cpython_wrapper=True, pipeline_class=_PartCompiler, **options)(function)


@dataclass
class Patience:
    """The work that this process may do without compiled code: the number of updates times the vector length."""

    left: int = 50_000  # about a third of the compilation time


PATIENCE = Patience()


@contextlib.contextmanager
def compiled_at_once() -> Iterator[None]:
    """Use compiled code from the start, even if it must be compiled first."""
    left, PATIENCE.left = PATIENCE.left, 0
    try:
        yield
    finally:
        PATIENCE.left = left


def is_ready(function: Any, *arguments: Any) -> bool:
    """Return whether code for these argument types exists, in this process or in the cache."""
    if why_not_compiled():
        return True
    signature = tuple(map(function.typeof_pyval, arguments))
    if signature in function.overloads:
        return True
    kept = getattr(function._cache, "_cache_file", None)
    return kept is not None and kept.has(function._cache._index_key(signature, function.targetctx.codegen()))


def inlined(function: Any) -> Any:
    """Compile a function into its callers, so that values that are the same in all calls stay in registers."""
    return compiled(function, inline=True)


class _PartLibrary(JITCodeLibrary):
    """The code of a function that only compiled functions call.

    numba would generate machine code for it, and optimise it again in every caller up to the function that Python
    calls. This library optimises the code once before the last function does, and generates no machine code. Without
    this pass, compilation would be even faster, but some loops would run up to 10 % slower.
    """

    is_optimised = False  # the code, or a function that it calls

    @property
    def codegen(self) -> Any:
        """A substitute for numba's code generator, which would need machine code to record the environment."""
        return _NOWHERE

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, because the function has no machine code."""
        return 0

    def _optimize_functions(self, module: Any) -> None:
        if _is_next(self, module):
            module.data_layout = self._codegen._data_layout  # numba sets it in its first passes, which are skipped
        else:
            super()._optimize_functions(module)  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        self.is_optimised = any(isinstance(one, _PartLibrary) and one.is_optimised for one in self._linking_libraries)
        if _is_next(self, self._final_module):
            made = self._codegen._module_pass_manager()  # older versions of numba return no builder
            manager, *builder = made if isinstance(made, tuple) else (made,)
            manager.run(self._final_module, *builder)
            self.is_optimised = True

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


def _is_next(library: _PartLibrary, module: Any) -> bool:
    """Whether to optimise this code now: only if it is not short, and no function that it calls was optimised."""
    if any(isinstance(one, _PartLibrary) and one.is_optimised for one in library._linking_libraries):
        return False
    return sum(1 for function in module.functions for _ in function.blocks) >= _SHORT


#: Functions with fewer basic blocks than this are optimised together with their callers.
_SHORT = 8


class _Nowhere:
    """A substitute code generator that discards the environments of functions."""

    def set_env(self, name: str, environment: Any) -> None:
        """Discard an environment."""


_NOWHERE = _Nowhere()


class Fielded(types.Type):
    """A type whose values have fields, each with its own type."""

    def field(self, name: str) -> Any:
        """Return the type of a field; ``None`` if there is no such field."""
        raise NotImplementedError


@register_pass(mutates_CFG=False, analysis_only=False)
class _FieldsOfNone(FunctionPass):
    """A pass that replaces fields that are ``None``, and ``is None`` tests of arguments and other fields, by constants.

    numba removes branches that depend on whether an argument is ``None``. With this pass it also does so for fields.
    """

    _name = "fields_of_none"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> bool:
        """Replace ``None`` fields and tests for ``None`` by constants; return whether there were any."""
        found = False
        for block in state.func_ir.blocks.values():
            for one in block.find_insts(numba_ir.Assign):
                if isinstance(one.value, numba_ir.Expr):
                    constant = _constant_of(state, one.value)
                    if constant is not None:
                        definitions = state.func_ir._definitions[one.target.name]
                        definitions[definitions.index(one.value)] = one.value = constant
                        found = True
        return found


def _constant_of(state: Any, expression: Any) -> Any:
    """Return the constant for a field that is ``None``, or for a comparison with ``None``; otherwise ``None``."""
    if expression.op == "getattr" and isinstance(_known_type(state, expression), types.NoneType):
        return numba_ir.Const(None, expression.loc)
    if expression.op == "binop" and expression.fn in (operator.is_, operator.is_not):
        right = ir_utils.guard(ir_utils.get_definition, state.func_ir, expression.rhs)
        left = _known_type(state, expression.lhs)
        if isinstance(right, numba_ir.Const) and right.value is None and isinstance(left, _NEVER_NONE):
            return numba_ir.Const(expression.fn is operator.is_not, expression.loc)
    return None


#: Types of arguments and fields whose values are never ``None``.
_NEVER_NONE = types.Number, types.Boolean, types.Array, types.BaseTuple, Fielded


def _known_type(state: Any, value: Any) -> Any:
    """Return the type of an argument, or of a field of an argument's field; ``None`` for other values."""
    if isinstance(value, numba_ir.Var):
        value = ir_utils.guard(ir_utils.get_definition, state.func_ir, value)
    if isinstance(value, numba_ir.Arg):
        return state.args[value.index]
    if isinstance(value, numba_ir.Expr) and value.op == "getattr":
        holder = _known_type(state, value.value)
        return holder.field(value.attr) if isinstance(holder, Fielded) else None
    return None


class _Remembering:
    """numba's typing context with a cache of the result types of built-in functions.

    Without the cache, numba tries all declarations of a function again at each call.
    """

    _found: ClassVar[dict[Any, Any]] = {}  # keeps a reference to the function, so that its identity is not reused

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of a call."""
        if not isinstance(function, types.Function | types.NumberClass) and function is not operator.getitem:
            return self._context.resolve_function_type(function, arguments, named)
        inlines = ConfigStack.top_or_none().forceinline  # an option that the implementation inherits
        call = id(function), tuple(arguments), tuple(named.items()), inlines
        if call not in self._found:
            self._found[call] = self._context.resolve_function_type(function, arguments, named), function
        return self._found[call][0]

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of an item assignment."""
        replace = self._context.resolve_value_type(operator.setitem)
        return self.resolve_function_type(replace, (target, index, value), {})

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a constant; for a built-in function, one that asks this context for its signatures."""
        found = self._context.resolve_value_type(value)
        return _Remembered(found) if type(found) is types.Function else found


class _Remembered(types.Function):
    """The type of a built-in function; it gets the signatures from the typing context.

    numba's code generator would otherwise ask the function itself, which has no cache.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function.templates)
        self._function = function

    def get_call_type(self, context: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of a call."""
        return context.resolve_function_type(self._function, arguments, named)

    def get_impl_key(self, signature: Any) -> Any:
        """Return the key of the implementation for a signature."""
        return self._function.get_impl_key(signature)


register_model(_Remembered)(models.OpaqueModel)


class _SettledFlags(Flags):
    """The fixed numba options of one function; comparisons consider only the options that are set.

    numba compares all options, with their defaults, at every look-up for a call.
    """

    __slots__ = ("_hash",)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Flags) and bool(self._values == other._values))

    def __hash__(self) -> int:
        if not hasattr(self, "_hash"):
            self._hash = int(super().__hash__())  # type: ignore[no-untyped-call]
        return self._hash


class _LeanContext(CPUContext):
    """numba's code generation context, with a cache of the implementations of calls."""

    _found: ClassVar[dict[Any, Any]] = {}

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return the function that generates the code of a call with a signature."""
        if fn == "__array__":  # numba asks for it at every use of an array; only other libraries' arrays have it
            raise NotImplementedError("no arrays but numpy's")
        signature = sig.as_function()
        call = (fn.get_impl_key(signature) if isinstance(fn, types.Callable) else fn), signature
        if call not in self._found:
            self._found[call] = super().get_function(fn, sig, _firstcall)  # type: ignore[no-untyped-call]
        found = self._found[call]
        here = object.__new__(type(found))
        vars(here).update(vars(found), _context=self)
        return here


class _LeanCompiler(Compiler):
    """numba's compiler without the passes that compiled functions of this library do not need.

    Those passes handle closures, comprehensions, contexts, array expressions and explicit inlining, reject unsupported
    features, and delete variables, which only matters where references are counted. This compiler also does not
    collect variables again after each pass: the remaining passes do so themselves if needed.
    """

    is_part = False  # whether only compiled functions call the function

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        if "get_abi_sizeof" not in vars(target_context):  # otherwise LLVM parses a program for each size
            target_context.get_abi_sizeof = functools.cache(target_context.get_abi_sizeof)
        typing_context, target_context = _Remembering(typing_context), copy.copy(target_context)
        target_context.__class__, target_context.typing_context = _LeanContext, typing_context
        if self.is_part:  # the caller has just made both contexts look for new declarations
            typing_context.refresh = target_context.refresh = _do_nothing
        super().__init__(typing_context, target_context, *rest)  # type: ignore[no-untyped-call]
        if self.is_part:
            del self.state.targetctx.refresh
        self.state.flags = _SettledFlags(self.state.flags)  # type: ignore[no-untyped-call]

    def define_pipelines(self) -> list[Any]:
        """Return the only pipeline, with the required passes."""
        [whole] = super().define_pipelines()  # type: ignore[no-untyped-call]
        lean = PassManager(whole.pipeline_name)
        lean._ENFORCING = False
        for each in whole.passes:
            if each[0].name() == "rewrite_semantic_constants":  # the next pass removes branches
                lean.passes.append((_FieldsOfNone, "fields that are None"))
            if each[0].name() not in _NEEDLESS:
                lean.passes.append(each)
        lean.finalize()
        return [lean]


#: The skipped passes, by numba's names.
_NEEDLESS = {
    "with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function", "inline_inlinables",
    "find_literally", "literal_unroll", "LiteralPropagation", "inline_overloads", "nopython_rewrites",
    "dump_parfor_diagnostics", "annotate_types", "nopython_supported_feature_validation", "ir_legalization",
}  # fmt: skip


class _PartCompiler(_LeanCompiler):
    """The compiler of functions that only compiled functions call."""

    is_part = True

    def compile_extra(self, func: Any) -> Any:
        """Compile a function into a :class:`_PartLibrary`."""
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


def _do_nothing() -> None:
    """Do nothing."""


def _refusing(function: Any, refusal: str) -> Any:
    """Return a function that raises an error in place of a loop that is not compiled."""

    @functools.wraps(function)
    def refuse(*arguments: Any) -> Any:
        raise SolverError(refusal)

    return refuse


def _call_address(typing_context: Any, address: Any, term: Any, exactly: Any) -> Any:
    """Call the function at an address; the function takes two integers and returns nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [integer, integer])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


call_address: Any = intrinsic(_call_address)


def _announce(dispatcher: Any, kept: Any) -> None:
    """Make a function announce its compilation, and let only one process compile a signature while others wait."""
    compile_now = dispatcher.compile

    def compile_once(signature: Any) -> Any:
        with contextlib.ExitStack() as stack:
            stack.enter_context(compiling())
            if kept is None:
                stack.enter_context(waiting_for("compiling; set NUMBA_CACHE_DIR to keep the result"))
            else:
                key = dispatcher._cache._index_key(signature, dispatcher.targetctx.codegen())
                stack.enter_context(kept.alone(key))
            stack.enter_context(_without_collecting())
            stack.enter_context(_untimed())
            stack.enter_context(warnings.catch_warnings())
            # With NUMBA_OPT=0 the code contains addresses, so each process must compile it, and the warning is useless.
            warnings.filterwarnings("ignore", message="Cannot cache compiled function")
            try:
                return compile_now(signature)
            except RuntimeError:  # numba saves the code last, which may fail: errors in LLVM's callback are lost
                if signature not in dispatcher.overloads:
                    raise
                return dispatcher.overloads[signature].entry_point

    dispatcher.compile = compile_once


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Disable Python's search for reference cycles, which would take a tenth of the compilation time.

    Afterwards all new objects count as old at once, so that collections of young objects skip them. Objects that a
    program has frozen stay frozen.
    """
    collects, froze = gc.isenabled(), gc.get_freeze_count() > 0
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.freeze()
            if not froze:
                gc.unfreeze()
            gc.enable()


@contextlib.contextmanager
def _untimed() -> Iterator[None]:
    """Keep numba from timing each of its thousands of LLVM calls."""
    callbacks = getattr(llvm_library._lock, "_cblist", [])
    removed = [callbacks.pop() for _ in list(callbacks)]
    try:
        yield
    finally:
        callbacks += reversed(removed)


def _sources(function: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the sources of a function's code: the files of the function and of its callees, and constants."""
    found, waiting = {function}, [function]
    files = {function.__code__.co_filename, __file__, str(Path(__file__).with_name("records.py"))}
    while waiting:
        one = waiting.pop()
        variables = inspect.getclosurevars(one)
        for name, named in sorted({**variables.globals, **variables.nonlocals}.items()):
            value = getattr(named, "py_func", getattr(named, "_defn", named))  # compiled functions and intrinsics
            if isinstance(value, FunctionType):
                files.add(value.__code__.co_filename)
                if value not in found:
                    found.add(value)
                    waiting.append(value)
            elif isinstance(value, int | float | np.generic):
                yield name, repr(value)
    for file in sorted(files):
        status = Path(file).stat()
        yield file, status.st_mtime, status.st_size


def _fields(signature: Any) -> Iterator[Any]:
    """Yield the field names of all named tuples among a signature's types; a key contains only their positions."""
    for one in signature:
        if isinstance(one, types.NamedTuple):
            yield one.fields
        if isinstance(one, types.BaseTuple):
            yield from _fields(one)


class _CheckedCacheFile(IndexDataCacheFile):
    """numba's cache on disk, with checksums: damaged or outdated entries are compiled again.

    numba itself would raise pickle's errors at every run, would run any code that it can read, and would not notice a
    change in a file other than the function's own. It also numbers the files of a function's signatures, so that two
    processes that compile two signatures at once may use the same number and run the wrong code. Here files are named
    by signature and record their sources.
    """

    function: Any

    @functools.cached_property
    def _stamp(self) -> Any:
        """The sources of the code, read at the first compilation, when all callees exist."""
        settings = tuple(str(getattr(numba.config, name, None)) for name in _SETTINGS)
        return (self._source_stamp, settings, *_sources(self.function))

    def save(self, key: Any, data: Any) -> None:
        """Save the compiled code of a signature, and then its index entry."""
        self._save_data(self._named(key), (self._stamp, data))
        self._save_index(self._load_index() | {key: self._named(key)})

    def load(self, key: Any) -> Any:
        """Return the compiled code of a signature; ``None`` if it does not exist or its sources have changed."""
        if not self.has(key):
            return None
        try:
            stamp, data = self._load_data(self._named(key))
        except OSError:
            return None
        return data if stamp == self._stamp else None

    @contextlib.contextmanager
    def alone(self, key: Any) -> Iterator[None]:
        """Wait until no other process compiles a signature; then, if it is not cached, lock it for the block."""
        with contextlib.ExitStack() as stack:
            if not self.has(key):
                lock = FileLock(f"{self._data_path(self._named(key))}.lock")  # type: ignore[no-untyped-call]
                with contextlib.suppress(OSError):  # without locks, both processes compile
                    try:
                        stack.enter_context(lock.acquire(blocking=False))
                    except Timeout:
                        with waiting_for("waiting for another process that compiles, first time only"):
                            stack.enter_context(lock.acquire())
                if not self.has(key):
                    stack.enter_context(waiting_for("compiling, first time only"))
            yield

    def has(self, key: Any) -> bool:
        """Whether a file for the signature exists, damaged or not."""
        return bool(self._load_index().get(key) == self._named(key))

    def _named(self, key: Any) -> str:
        """Return the name of a signature's file."""
        pattern: str = self._data_name_pattern
        told = repr((key, tuple(_fields(key[0]))))
        return pattern.replace("{number:d}", hashlib.sha256(told.encode()).hexdigest()[:16])

    def _save_index(self, overloads: Any) -> None:
        self._save_data(self._index_name, (self._version, self._stamp, overloads))

    def _load_index(self) -> Any:
        try:
            *written_by, overloads = self._load_data(self._index_name)
        except OSError:
            return {}
        return overloads if written_by == [self._version, self._stamp] else {}

    def _save_data(self, name: str, data: Any) -> None:
        content: bytes = self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(self._data_path(name)) as file:  # type: ignore[no-untyped-call]
            file.write(hashlib.sha256(content).digest() + content)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()  # type: ignore[no-untyped-call]
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            raise OSError(f"{name} is damaged")  # numba treats this like a missing file
        try:
            return pickle.loads(content[32:])  # noqa: S301  # the folder is as trusted as the library; see docs
        except Exception as error:  # written by another version of numba
            raise OSError(str(error)) from None
