"""Records of arrays in compiled functions, and what the library asks of numba beyond its public interface."""

import inspect
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import typeinfer
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import _pass_registry
from numba.core.lowering import Lower

import treeplex
from treeplex.solvers import compilation
from treeplex.solvers.compilation import compiled, types
from treeplex.solvers.records import Record, record


@record
class Inner(NamedTuple):
    values: Any
    count: Any


@record
class Outer(NamedTuple):
    first: Any
    inner: Any
    pair: Any
    maybe: Any
    number: Any


@compiled
def _add(target: Any, amounts: Any) -> None:
    for i in range(len(amounts)):
        target[i] += amounts[i]


@compiled
def _maybe(maybe: Any) -> Any:
    if maybe is not None:
        return maybe[0]
    return -1.0


def total(outer: Any) -> Any:
    _add(outer.inner.values, outer.pair[1])
    found = outer.inner.count + outer.number + _maybe(outer.maybe)
    for i in range(len(outer.inner.values)):
        found += outer.inner.values[i] + outer.first[0, i] + outer.first[1, i]
    return found


def made(maybe=None, number=0.5, kind=np.float64):
    pair = (np.zeros(3, dtype=kind), np.array([10, 20, 30], dtype=kind))
    inner = Inner(np.array([1, 2, 3], dtype=kind), 7)
    return Outer(np.arange(6, dtype=np.uint32).reshape(2, 3), inner, pair, maybe, number)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("maybe", [None, np.array([4.0])])
def test_fields_are_what_python_gave_and_arrays_are_its_own(kind, maybe):
    run = compiled(total, cache=True)
    given = made(maybe, kind=kind)
    expected = 15 + 66 + 7 + 0.5 + (-1.0 if maybe is None else 4.0)
    assert run(given) == expected
    assert given.inner.values.tolist() == [11, 22, 33]
    assert run(given) == expected + 60
    assert run(made(maybe, 100, kind)) == expected + 99.5


def test_branches_on_fields_that_are_none_are_not_compiled():
    def asks(outer):
        maybe = outer.inner.count
        if outer.maybe is not None:
            return outer.maybe[0]
        if maybe is None:
            return -1.0
        return -2.0

    run = compiled(asks, cache=True)
    assert run(made(np.array([4.0]))) == 4.0
    assert run(made()) == -2.0
    assert run(made()._replace(inner=Inner(np.zeros(3), None))) == -1.0


def test_named_fields_of_a_numpy_item_can_be_replaced():
    def counts(outer):
        outer.maybe.step += 1
        outer.maybe.share = outer.maybe.step / 2.0
        return outer.maybe.share

    room = np.zeros(2, dtype=[("step", np.int64), ("share", np.float64)])
    run = compiled(counts, cache=True)
    assert [run(made(room[1])) for _ in range(3)] == [0.5, 1.0, 1.5]
    assert room.tolist() == [(0, 0.0), (3, 1.5)]


def test_records_of_other_fields_are_other_types():
    found = {numba.typeof(made(maybe)) for maybe in (None, np.zeros(1), np.zeros(1, dtype=np.float32))}
    assert len(found) == len({str(one) for one in found}) == 3
    one = numba.typeof(made())
    assert isinstance(one, Record)
    assert one == numba.typeof(made()) == pickle.loads(pickle.dumps(one))  # noqa: S301
    assert isinstance(one.members[1], Record)
    assert one.members[2] == types.UniTuple(types.float64[::1], 2)


def test_a_field_that_is_none_of_the_record_is_refused():
    def asks(outer):
        return outer.second

    with pytest.raises(numba.TypingError, match="second"):
        compiled(asks, cache=True)(made())


def test_what_numba_refuses_in_a_field_it_refuses_in_the_record():
    with pytest.raises(numba.TypingError):
        compiled(total, cache=True)(made(maybe=object()))


def test_functions_that_count_references_are_refused():
    with pytest.raises(NotImplementedError, match="use compiled"):
        numba.njit(total)(made())


# --- what numba must have, tried with its versions 0.61 to 0.68 -------------------------------------------------------


def test_one_file_imports_numba():
    root = Path(treeplex.__file__).parent
    importing = {
        path.relative_to(root).as_posix()
        for folder in ("seqform", "models", "solvers", "validation", "cli")
        for path in (root / folder).rglob("*.py")
        if "import numba" in (text := path.read_text(encoding="utf-8")) or "from numba" in text
    }
    assert importing == {"solvers/compilation.py"}


def test_the_passes_that_are_left_out_are_numbas():
    known = {each.pass_inst.name() for each in _pass_registry._registry.values()}
    assert known >= compilation._NEEDLESS
    assert "define_nopython_pipeline" in vars(DefaultPassBuilder)
    assert "define_pipelines" in vars(Compiler)


def test_what_a_library_overrides_is_what_numba_calls():
    part, base = compilation._PartLibrary, compilation._PartLibrary.__mro__[1]
    overridden = [name for name, each in vars(part).items() if inspect.isfunction(each) or isinstance(each, property)]
    assert all(hasattr(base, name) for name in overridden)
    for name in ("_optimize_final_module", "_finalize_final_module"):
        assert f"self.{name}()" in inspect.getsource(base.finalize)
    assert "self._optimize_functions(" in inspect.getsource(base.add_llvm_module)
    assert "_ENFORCING" in inspect.getsource(compilation.PassManager._runPass)
    assert "context.resolve_function_type(" in inspect.getsource(typeinfer.TypeInferer.resolve_call)
    assert "typing_context.resolve_value_type(" in inspect.getsource(Lower.lower_getitem)
    assert "self.context.get_function(" in inspect.getsource(Lower.lower_getitem)
    assert hasattr(base, "_finalize_dynamic_globals")
    assert next(FunctionIdentity._unique_ids) < next(FunctionIdentity._unique_ids)
