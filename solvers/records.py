"""Named tuples of arrays that compiled functions take as one pointer.

numba passes a tuple by value: each call copies at least seven numbers for every array in it, and the compiler has to
handle each of them. A game and the state of a loop have a hundred arrays. A record is passed as one address, of the
array descriptions that the Python wrapper has put on its stack. Compiled code reads a field from there. It cannot
create a record or replace a field, but it can write into the arrays.

A field may be an array, a number, a tuple, ``None``, another record, or an item of a numpy array with named fields,
whose numbers compiled code can replace. Branches on a field that is ``None`` are not compiled.
"""

import functools
import hashlib
import itertools
from typing import Any

from .compilation import AttributeTemplate, Fielded, alloca_once, extending, ir, models, register_model, types


class Record(Fielded):
    """The type of a record: its class, and the types of its fields."""

    def __init__(self, named: Any, members: tuple[Any, ...]) -> None:
        self.named, self.members = named, members
        told = repr((named._fields, members))
        super().__init__(f"{named.__name__}.{hashlib.sha256(told.encode()).hexdigest()[:16]}")

    @property
    def key(self) -> Any:
        """The key that distinguishes records."""
        return self.named, self.members

    def __hash__(self) -> int:
        return hash(self.name)  # Python caches the hash of a string, but not of a tuple of members

    def __eq__(self, other: object) -> bool:
        return self is other or super().__eq__(other)

    def field(self, name: str) -> Any:
        """Return the type of a field; ``None`` if there is no such field."""
        fields = self.named._fields
        return self.members[fields.index(name)] if name in fields else None


@register_model(Record)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, record: Any) -> None:
        super().__init__(manager, record, ir.IntType(8).as_pointer())  # type: ignore[no-untyped-call]


def record(named: Any) -> Any:
    """Let compiled functions take a class of named tuples as records."""

    @extending.typeof_impl.register(named)
    def type_of(value: Any, purpose: Any) -> Record | None:
        members = tuple(extending.typeof_impl(each, purpose) for each in value)
        return None if any(member is None for member in members) else _type_of(named, members)

    return named


@functools.cache
def _type_of(named: Any, members: tuple[Any, ...]) -> Record:
    """Return the type of records of a class; cached, because creating it is slow."""
    return Record(named, members)


def _words(kind: Any) -> int:
    """Return the number of 8-byte words that an LLVM value needs."""
    if isinstance(kind, ir.ArrayType):
        return int(kind.count) * _words(kind.element)
    return sum(map(_words, kind.elements)) if isinstance(kind, ir.LiteralStructType) else 1


@functools.cache
def _places(manager: Any, record: Record) -> list[int]:
    """Return the first word of each field of a record, followed by the total number of words."""
    return list(itertools.accumulate((_words(manager[each].get_value_type()) for each in record.members), initial=0))


def _field(context: Any, builder: Any, record: Record, address: Any, number: int) -> Any:
    """Return the pointer to a field."""
    place = ir.Constant(ir.IntType(64), 8 * _places(context.data_model_manager, record)[number])
    kind = context.get_value_type(record.members[number])
    return builder.bitcast(builder.gep(address, [place]), kind.as_pointer())


@extending.infer_getattr
class _Fields(AttributeTemplate):
    key = Record

    def generic_resolve(self, record: Any, name: str) -> Any:  # type: ignore[override]
        """Return the type of a field."""
        return record.field(name)


@extending.lower_getattr_generic(Record)
def _read(context: Any, builder: Any, record: Any, address: Any, name: str) -> Any:
    return builder.load(_field(context, builder, record, address, record.named._fields.index(name)))


@extending.unbox(Record)
def _unbox(record: Any, value: Any, c: Any) -> Any:
    """Write the descriptions of a record's arrays on the stack."""
    if c.context.enable_nrt:
        raise NotImplementedError("use compiled(…) for functions that take records: it does not count references")
    size = _places(c.context.data_model_manager, record)[-1]
    address = c.builder.bitcast(alloca_once(c.builder, ir.ArrayType(ir.IntType(64), size)), ir.IntType(8).as_pointer())
    failed, cleanups = c.context.get_constant(types.boolean, False), []
    for number, member in enumerate(record.members):
        item, field = c.pyapi.tuple_getitem(value, number), _field(c.context, c.builder, record, address, number)
        if type(member) is types.Array:
            # In place, and without inspecting the type again, because numba chose this code by the type.
            code = c.pyapi.numba_array_adaptor(item, c.builder.bitcast(field, address.type))
            failed = c.builder.or_(failed, c.builder.icmp_signed("!=", code, code.type(0)))
            continue
        native = c.unbox(member, item)
        c.builder.store(native.value, field)
        failed = c.builder.or_(failed, native.is_error)
        if native.cleanup is not None:
            cleanups.append(native.cleanup)

    def clean_up() -> None:
        for each in reversed(cleanups):
            each()

    return extending.NativeValue(address, is_error=failed, cleanup=clean_up if cleanups else None)
