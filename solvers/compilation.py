"""Compilation by numba, with a cache on disk that notices damage."""

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

#: The settings of numba that change the code that it makes of a function, and that its cache does not look at.
_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML")


def number_functions_anew() -> None:
    """Let numba number the functions that it compiles from now on from a number that no other process begins at.

    The numbers are part of the names in compiled code. Two processes count alike, so that code that one of them has
    kept in the cache may have the names of other code that the second one has kept; where both are loaded, one calls
    what belongs to the other.
    """
    FunctionIdentity._unique_ids = itertools.count(int.from_bytes(os.urandom(5)) << 16)


number_functions_anew()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=number_functions_anew)


def why_not_compiled() -> str:
    """Return why no loop is compiled, and what to do; an empty text if loops are compiled."""
    config: Any = numba.config
    if not config.DISABLE_JIT:
        return ""
    return "NUMBA_DISABLE_JIT is set, but this loop needs compilation: unset it, or use another method, such as highs"


def compiled(function: Any, cache: bool = False, inline: bool = False) -> Any:
    """Compile, with a cache on disk if asked for one and a place for it is writable.

    Only the one function that Python calls needs a cache: the others are compiled into it. Where compiling is off, that
    function raises :class:`~treeplex.SolverError`: loops use instructions and integers that Python does not have.
    """
    refusal = why_not_compiled()
    if refusal:
        return _refusing(function, refusal) if cache else function
    # No fast mathematics: neither reassociated sums nor fused multiply-adds, so that the same game gives the same
    # iterates on every machine. It costs a few percent.
    njit: Any = numba.njit
    # Nor references to arrays counted, at every call and each look at one: nothing here makes any.
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
    """The budget of this process for work without compiled code, in updates times the length of a vector."""

    left: int = 50_000  # about a third of the time that compiling takes


PATIENCE = Patience()


@contextlib.contextmanager
def compiled_at_once() -> Iterator[None]:
    """Use compiled code from the start, also where it must be compiled first."""
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
    """Compile into the functions that call it, so that what is the same in all calls stays in registers there."""
    return compiled(function, inline=True)


class _PartLibrary(JITCodeLibrary):
    """The code of a function that only compiled functions call.

    numba would generate machine code for it, and optimise it anew in each function on the way to the one that Python
    calls. This library optimises code once before the last function does, and generates none. Without that one time
    compiling is faster still, but some loops run up to a tenth slower.
    """

    is_optimised = False  # the code, or what it calls

    @property
    def codegen(self) -> Any:
        """A stand-in: numba asks it to record the function's environment, and without machine code there is none."""
        return _NOWHERE

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0, as the function has no machine code."""
        return 0

    def _optimize_functions(self, module: Any) -> None:
        if _is_next(self, module):
            module.data_layout = self._codegen._data_layout  # numba sets it with the first passes, which are not needed
        else:
            super()._optimize_functions(module)  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        self.is_optimised = any(isinstance(one, _PartLibrary) and one.is_optimised for one in self._linking_libraries)
        if _is_next(self, self._final_module):
            made = self._codegen._module_pass_manager()  # in older numba without a builder
            manager, *builder = made if isinstance(made, tuple) else (made,)
            manager.run(self._final_module, *builder)
            self.is_optimised = True

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True


def _is_next(library: _PartLibrary, module: Any) -> bool:
    """Whether a library optimises this code: it is not short, and nothing that it calls was optimised."""
    if any(isinstance(one, _PartLibrary) and one.is_optimised for one in library._linking_libraries):
        return False
    return sum(1 for function in module.functions for _ in function.blocks) >= _SHORT


#: Functions of fewer basic blocks than this are optimised with those that call them.
_SHORT = 8


class _Nowhere:
    """Accepts the environments of functions and forgets them."""

    def set_env(self, name: str, environment: Any) -> None:
        """Forget an environment."""


_NOWHERE = _Nowhere()


class Fielded(types.Type):
    """A type whose values have fields, each of a type of its own."""

    def field(self, name: str) -> Any:
        """Return the type of a field; ``None`` if there is no such field."""
        raise NotImplementedError


@register_pass(mutates_CFG=False, analysis_only=False)
class _FieldsOfNone(FunctionPass):
    """Write ``None`` in the place of fields that are ``None``, and what ``is None`` says of arguments and other fields.

    numba leaves out the branch that does not apply where an argument is ``None``. After this it does so for fields, and
    where something is not ``None``.
    """

    _name = "fields_of_none"

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def run_pass(self, state: Any) -> bool:
        """Replace such fields and comparisons; return whether there were any."""
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
    """Return the constant for a field that is ``None``, or a comparison with ``None``; ``None`` for anything else."""
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
    """Return the type of an argument, or of a field of an argument's field; ``None`` for anything else."""
    if isinstance(value, numba_ir.Var):
        value = ir_utils.guard(ir_utils.get_definition, state.func_ir, value)
    if isinstance(value, numba_ir.Arg):
        return state.args[value.index]
    if isinstance(value, numba_ir.Expr) and value.op == "getattr":
        holder = _known_type(state, value.value)
        return holder.field(value.attr) if isinstance(holder, Fielded) else None
    return None


class _Remembering:
    """numba's typing context, which remembers what each built-in function returns for which arguments.

    numba would try all that was ever declared for a function again at each of its calls.
    """

    _found: ClassVar[dict[Any, Any]] = {}  # with the function, so that no other can have its identity

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, arguments: Any, named: Any) -> Any:
        """Return the signature of a call."""
        if not isinstance(function, types.Function | types.NumberClass) and function is not operator.getitem:
            return self._context.resolve_function_type(function, arguments, named)
        inlines = ConfigStack.top_or_none().forceinline  # an option that what implements the function inherits
        call = id(function), tuple(arguments), tuple(named.items()), inlines
        if call not in self._found:
            self._found[call] = self._context.resolve_function_type(function, arguments, named), function
        return self._found[call][0]

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """Return the signature of the replacement of an item."""
        replace = self._context.resolve_value_type(operator.setitem)
        return self.resolve_function_type(replace, (target, index, value), {})

    def resolve_value_type(self, value: Any) -> Any:
        """Return the type of a constant; for a built-in function, one that asks this context for its signatures."""
        found = self._context.resolve_value_type(value)
        return _Remembered(found) if type(found) is types.Function else found


class _Remembered(types.Function):
    """The type of a built-in function that asks the typing context for its signatures.

    numba's code generator would otherwise ask the function itself, which remembers nothing.
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
    """numba's options for one function, which do not change any more: they are compared by what is set.

    numba looks at all of them, with their defaults, whenever it looks something up for a call.
    """

    __slots__ = ("_hash",)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Flags) and bool(self._values == other._values))

    def __hash__(self) -> int:
        if not hasattr(self, "_hash"):
            self._hash = int(super().__hash__())  # type: ignore[no-untyped-call]
        return self._hash


class _LeanContext(CPUContext):
    """numba's context for generating code, which remembers what generates the code of a call."""

    _found: ClassVar[dict[Any, Any]] = {}

    def get_function(self, fn: Any, sig: Any, _firstcall: bool = True) -> Any:
        """Return what generates the code of a call with a signature."""
        if fn == "__array__":  # numba asks for it whenever code touches an array; only other libraries' have it
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

    Those passes handle closures, comprehensions, contexts, array expressions and explicit inlining. Nor are variables
    looked for anew after each pass: the passes that are left do that themselves where they must.
    """

    is_part = False  # whether only compiled functions call the function

    def __init__(self, typing_context: Any, target_context: Any, *rest: Any) -> None:
        if "get_abi_sizeof" not in vars(target_context):  # each time it would have LLVM read a program to tell a size
            target_context.get_abi_sizeof = functools.cache(target_context.get_abi_sizeof)
        typing_context, target_context = _Remembering(typing_context), copy.copy(target_context)
        target_context.__class__, target_context.typing_context = _LeanContext, typing_context
        if self.is_part:  # what calls the function has just asked both contexts to look for new declarations
            typing_context.refresh = target_context.refresh = _do_nothing
        super().__init__(typing_context, target_context, *rest)  # type: ignore[no-untyped-call]
        if self.is_part:
            del self.state.targetctx.refresh
        self.state.flags = _SettledFlags(self.state.flags)  # type: ignore[no-untyped-call]

    def define_pipelines(self) -> list[Any]:
        """Return the one pipeline, with the passes that are needed."""
        [whole] = super().define_pipelines()  # type: ignore[no-untyped-call]
        lean = PassManager(whole.pipeline_name)
        lean._ENFORCING = False
        for each in whole.passes:
            if each[0].name() == "rewrite_semantic_constants":  # what comes next leaves out branches
                lean.passes.append((_FieldsOfNone, "fields that are None"))
            if each[0].name() not in _NEEDLESS:
                lean.passes.append(each)
        lean.finalize()
        return [lean]


#: The passes that are left out, by the names that numba gives them.
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
    """Return what stands for a loop that is not compiled."""

    @functools.wraps(function)
    def refuse(*arguments: Any) -> Any:
        raise SolverError(refusal)

    return refuse


def _call_address(typing_context: Any, address: Any, term: Any, exactly: Any) -> Any:
    """Call the function at an address, which takes two integers and returns nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [integer, integer])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


call_address: Any = intrinsic(_call_address)


def _announce(dispatcher: Any, kept: Any) -> None:
    """Let a function say that it is compiled, and one process compile a signature while others wait for its code."""
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
            # With NUMBA_OPT=0 addresses stay in the code, which is then compiled in each process: nothing to act on.
            warnings.filterwarnings("ignore", message="Cannot cache compiled function")
            try:
                return compile_now(signature)
            except RuntimeError:  # numba keeps the code last, and may not have it: what LLVM's callback raises is lost
                if signature not in dispatcher.overloads:
                    raise
                return dispatcher.overloads[signature].entry_point

    dispatcher.compile = compile_once


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Let Python look for no cycles of garbage: a tenth of the time of compiling would go into that.

    Afterwards all that was made counts as old at once, so that no collection of what is young has to go through it.
    Objects that a program has frozen stay so.
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
    """Keep numba from timing each of the thousands of calls of LLVM."""
    callbacks = getattr(llvm_library._lock, "_cblist", [])
    removed = [callbacks.pop() for _ in list(callbacks)]
    try:
        yield
    finally:
        callbacks += reversed(removed)


def _sources(function: Any) -> Iterator[tuple[Any, ...]]:
    """Yield what the code of a function follows from: the files that it and what it calls are in, and constants."""
    found, waiting = {function}, [function]
    files = {function.__code__.co_filename, __file__, str(Path(__file__).with_name("records.py"))}
    while waiting:
        one = waiting.pop()
        variables = inspect.getclosurevars(one)
        for name, named in sorted({**variables.globals, **variables.nonlocals}.items()):
            value = getattr(named, "py_func", getattr(named, "_defn", named))  # of what is compiled, of intrinsics
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
    """Yield the names of the fields of all named tuples among a signature's types, which stand for places there."""
    for one in signature:
        if isinstance(one, types.NamedTuple):
            yield one.fields
        if isinstance(one, types.BaseTuple):
            yield from _fields(one)


class _CheckedCacheFile(IndexDataCacheFile):
    """numba's cache on disk, with checksums: what is damaged, or another version's, is compiled again.

    numba would raise what pickle does, at every run, and run what it can still read; and it would not see a change in
    any file but the function's own. It also numbers the files of a function's signatures: two processes that compile
    two of them at once may take one number, and run the one's code for the other. Here files are named by signature,
    and say of which sources they are.
    """

    function: Any

    @functools.cached_property
    def _stamp(self) -> Any:
        """The sources of the code, read by the first compilation, when everything that the function calls exists."""
        settings = tuple(str(getattr(numba.config, name, None)) for name in _SETTINGS)
        return (self._source_stamp, settings, *_sources(self.function))

    def save(self, key: Any, data: Any) -> None:
        """Save the compiled code of a signature, and then that it is there."""
        self._save_data(self._named(key), (self._stamp, data))
        self._save_index(self._load_index() | {key: self._named(key)})

    def load(self, key: Any) -> Any:
        """Return the compiled code of a signature; ``None`` if it is not there, or of another source."""
        if not self.has(key):
            return None
        try:
            stamp, data = self._load_data(self._named(key))
        except OSError:
            return None
        return data if stamp == self._stamp else None

    @contextlib.contextmanager
    def alone(self, key: Any) -> Iterator[None]:
        """Wait until no other process compiles a signature; then, if it is not there, keep others from doing so."""
        with contextlib.ExitStack() as stack:
            if not self.has(key):
                lock = FileLock(f"{self._data_path(self._named(key))}.lock")  # type: ignore[no-untyped-call]
                with contextlib.suppress(OSError):  # where nothing can be locked, both compile
                    try:
                        stack.enter_context(lock.acquire(blocking=False))
                    except Timeout:
                        with waiting_for("waiting for another process that compiles, first time only"):
                            stack.enter_context(lock.acquire())
                if not self.has(key):
                    stack.enter_context(waiting_for("compiling, first time only"))
            yield

    def has(self, key: Any) -> bool:
        """Whether the compiled code of a signature is there, undamaged or not."""
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
            raise OSError(f"{name} is damaged")  # to numba as if it were not there
        try:
            return pickle.loads(content[32:])  # noqa: S301  # the folder is as trusted as the library; see docs
        except Exception as error:  # by another version of numba
            raise OSError(str(error)) from None
