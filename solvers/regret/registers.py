"""Vector registers as values in compiled code: several numbers of one type.

numba does not vectorise straight-line code, and vectorises short loops only with tests for overlap that take longer
than the loops. Here each operation is one of LLVM's vector operations, in the order in which it is written.

Arrays of 16 bits (uint16) are read and written as 32-bit numbers: ``load`` and ``store`` treat them as upper halves,
``load_whole`` and ``store_whole`` as integers. Written numbers are rounded up with a probability given by the lost
bits, so that errors have no bias. A hash of all bits decides, so that equal numbers are always rounded the same way.
"""

from __future__ import annotations

import operator
from typing import Any

from ..compilation import extending, intrinsic, ir, models, register_model, types
from .placement import REGISTER


class Register(types.Type):
    """The type of a register of numbers of one type."""

    def __init__(self, number: Any) -> None:
        self.number, self.width = number, REGISTER // (number.bitwidth // 8)
        super().__init__(name=f"Register({number}, {self.width})")


@register_model(Register)
class _RegisterModel(models.PrimitiveModel):
    def __init__(self, manager: Any, register: Any) -> None:
        number = manager.lookup(register.number).get_value_type()
        super().__init__(manager, register, ir.VectorType(number, register.width))  # type: ignore[no-untyped-call]


class Registers(types.Type):
    """The type of several registers; every operation applies to each of them."""

    def __init__(self, number: Any, count: int) -> None:
        self.register, self.count = Register(number), count
        super().__init__(name=f"Registers({number}, {self.register.width}, {count})")


@register_model(Registers)
class _RegistersModel(models.PrimitiveModel):
    def __init__(self, manager: Any, registers: Any) -> None:
        one = manager.lookup(registers.register).get_value_type()
        super().__init__(manager, registers, ir.ArrayType(one, registers.count))  # type: ignore[no-untyped-call]


def _parts(builder: Any, registers: Any) -> list[Any]:
    return [builder.extract_value(registers, i) for i in range(registers.type.count)]


def _joined(builder: Any, parts: list[Any]) -> Any:
    joined = ir.Constant(ir.ArrayType(parts[0].type, len(parts)), ir.Undefined)
    for i, part in enumerate(parts):
        joined = builder.insert_value(joined, part, i)
    return joined


def _arithmetic(operation: Any, instruction: str) -> None:
    @extending.type_callable(operation)
    def type_of(typing_context: Any) -> Any:
        def typed(left: Any, right: Any) -> Any:
            return left if isinstance(left, Register | Registers) and left == right else None

        return typed

    @extending.lower_builtin(operation, Register, Register)
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return getattr(builder, instruction)(*arguments)

    @extending.lower_builtin(operation, Registers, Registers)
    def generate_each(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pairs = zip(*(_parts(builder, one) for one in arguments), strict=True)
        return _joined(builder, [getattr(builder, instruction)(*pair) for pair in pairs])


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")


def _width(typing_context: Any, array: Any) -> Any:
    """Return the number of an array's entries that a register holds."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.uint64, Register(array.dtype).width)

    return types.uint64(array), generate


def _of(array: Any) -> Register:
    """Return the type of the registers that hold an array's numbers."""
    return Register(types.float32 if array.dtype == types.uint16 else array.dtype)


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    vector = ir.VectorType(context.get_value_type(array_type.dtype), _of(array_type).width)
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _load(typing_context: Any, array: Any, place: Any) -> Any:
    """Return a register with the numbers of an array, starting at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = _pointer(context, builder, signature.args[0], *arguments)
        found = builder.load(pointer, align=array.dtype.bitwidth // 8)
        if array.dtype == types.uint16:
            bits = builder.shl(_widened(builder, found), _constants(found.type.count, 16))
            found = builder.bitcast(bits, context.get_value_type(signature.return_type))
        return found

    return _of(array)(array, place), generate


def _store(typing_context: Any, array: Any, place: Any, register: Any) -> Any:
    """Write a register into an array, starting at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer, written = _pointer(context, builder, signature.args[0], *arguments[:2]), arguments[2]
        if array.dtype == types.uint16:
            written = _shortened(builder, builder.bitcast(written, ir.VectorType(_INTEGER, written.type.count)), 16)
        builder.store(written, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, place, register), generate


def _none_of(count: int) -> Any:
    """Return the function that creates a given number of zero registers for an array's type."""

    def of(typing_context: Any, array: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return ir.Constant(context.get_value_type(signature.return_type), None)

        return Registers(array.dtype, count)(array), generate

    return intrinsic(of)


def _length(typing_context: Any, registers: Any) -> Any:
    """Return the number of entries that registers hold."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return context.get_constant(types.uint64, registers.count * registers.register.width)

    return types.uint64(registers), generate


def _each_pointer(context: Any, builder: Any, registers: Any, array_type: Any, array: Any, place: Any) -> Any:
    """Yield the pointers from which each register is loaded, or to which it is stored."""
    for i in range(registers.count):
        at = builder.add(place, context.get_constant(types.uint64, i * registers.register.width))
        yield _pointer(context, builder, array_type, array, at)


def _load_each(typing_context: Any, array: Any, place: Any, like: Any) -> Any:
    """Return registers of the same type as others, with the numbers of an array, starting at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = _each_pointer(context, builder, like, signature.args[0], *arguments[:2])
        return _joined(builder, [builder.load(one, align=array.dtype.bitwidth // 8) for one in pointers])

    return like(array, place, like), generate


def _store_each(typing_context: Any, array: Any, place: Any, registers: Any) -> Any:
    """Write registers into an array, starting at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointers = _each_pointer(context, builder, registers, signature.args[0], *arguments[:2])
        for part, pointer in zip(_parts(builder, arguments[2]), pointers, strict=True):
            builder.store(part, pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, place, registers), generate


def _spread_each(typing_context: Any, number: Any, like: Any) -> Any:
    """Return registers of the same type as others, filled with one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = _everywhere(context.get_value_type(like.register), builder, arguments[0])
        return _joined(builder, [one] * like.count)

    return like(number, like), generate


def _load_whole(typing_context: Any, array: Any, place: Any) -> Any:
    """Return a register with the 16-bit integers of an array, starting at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found = builder.load(_pointer(context, builder, signature.args[0], *arguments), align=2)
        return builder.sitofp(_widened(builder, found), context.get_value_type(signature.return_type))

    return _of(array)(array, place), generate


def _store_whole(typing_context: Any, array: Any, place: Any, register: Any, scale: Any) -> Any:
    """Write a register times a scale into an array as integers in units of 2 ** -WHOLE, starting at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        numbers, factors = arguments[2:]
        integers = ir.VectorType(_INTEGER, numbers.type.count)
        units = builder.fptosi(builder.fmul(numbers, factors), integers)
        written = _shortened(builder, units, WHOLE, builder.bitcast(factors, integers))
        builder.store(written, _pointer(context, builder, signature.args[0], *arguments[:2]), align=2)
        return context.get_dummy_value()

    return types.void(array, place, register, scale), generate


#: The power of two by which numbers are multiplied before they become integers.
WHOLE = 15
_INTEGER = ir.IntType(32)


def _constants(count: int, number: int) -> Any:
    return ir.Constant(ir.VectorType(_INTEGER, count), [number] * count)


def _widened(builder: Any, shorts: Any) -> Any:
    return builder.zext(shorts, ir.VectorType(_INTEGER, shorts.type.count))


def _shortened(builder: Any, integers: Any, lost: int, salt: Any = None) -> Any:
    """Return integers without their lowest bits, as 16 bits; the lost bits give the probability of rounding up."""
    count = integers.type.count
    mixed = integers if salt is None else builder.xor(integers, salt)
    mixed = builder.mul(mixed, _constants(count, 0x85EBCA6B))
    mixed = builder.mul(builder.xor(mixed, builder.lshr(mixed, _constants(count, 15))), _constants(count, 0xC2B2AE35))
    raised = builder.add(integers, builder.lshr(mixed, _constants(count, 32 - lost)))
    return builder.trunc(builder.lshr(raised, _constants(count, lost)), ir.VectorType(ir.IntType(16), count))


def _spread(typing_context: Any, number: Any) -> Any:
    """Return a register filled with one number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _everywhere(context.get_value_type(signature.return_type), builder, arguments[0])

    return Register(number)(number), generate


def _everywhere(vector: Any, builder: Any, number: Any) -> Any:
    blank = ir.Constant(vector, ir.Undefined)
    first = builder.insert_element(blank, number, ir.Constant(_INTEGER, 0))
    return builder.shuffle_vector(first, blank, _constants(vector.count, 0))


def _largest(typing_context: Any, register: Any) -> Any:
    """Return the largest number of a register."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        found, *others = (
            builder.extract_element(arguments[0], ir.Constant(_INTEGER, lane))
            for lane in range(arguments[0].type.count)
        )
        for other in others:
            found = builder.select(builder.fcmp_ordered(">", found, other), found, other)
        return found

    return register.number(register), generate


def _larger(typing_context: Any, left: Any, right: Any) -> Any:
    """Return the larger of two numbers in each lane."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return left(left, right), generate


def _where_positive(typing_context: Any, tested: Any, those: Any, others: Any) -> Any:
    """Return ``those`` in the lanes where ``tested`` is above zero, and ``others`` elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = ir.Constant(arguments[0].type, [0.0] * arguments[0].type.count)
        return builder.select(builder.fcmp_ordered(">", arguments[0], zeros), *arguments[1:])

    return those(tested, those, others), generate


def _at_least(typing_context: Any, tested: Any, bound: Any, those: Any, others: Any) -> Any:
    """Return ``those`` in the lanes where ``tested`` is not below ``bound``, and ``others`` elsewhere."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">=", *arguments[:2]), *arguments[2:])

    return those(tested, bound, those, others), generate


def _any_nonzero(typing_context: Any, register: Any) -> Any:
    """Return whether any number of a register is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = arguments[0].type.count
        zeros = ir.Constant(arguments[0].type, [0.0] * count)
        bits = builder.bitcast(builder.fcmp_unordered("!=", arguments[0], zeros), ir.IntType(count))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(register), generate


def _lanes(
    context: Any,
    builder: Any,
    array_type: Any,
    array: Any,
    index_type: Any,
    indices: Any,
    place: Any,
    shift: Any = None,
) -> Any:
    """Yield the number of each lane, and a pointer to the array's entry at its shifted index."""
    data = context.make_array(array_type)(context, builder, array).data
    if shift is not None:
        data = builder.gep(data, [shift])
    index_data = context.make_array(index_type)(context, builder, indices).data
    for lane in range(Register(array_type.dtype).width):
        at = builder.add(place, context.get_constant(types.uint64, lane))
        index = builder.zext(builder.load(builder.gep(index_data, [at])), ir.IntType(64))
        yield ir.Constant(ir.IntType(32), lane), builder.gep(data, [index])


def _gather(typing_context: Any, array: Any, indices: Any, place: Any) -> Any:
    """Return a register with an array's entries at the indices (unsigned, 32 bits) that start at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        register = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
        types_of = signature.args
        for lane, pointer in _lanes(context, builder, types_of[0], arguments[0], types_of[1], *arguments[1:]):
            register = builder.insert_element(register, builder.load(pointer), lane)
        return register

    return Register(array.dtype)(array, indices, place), generate


def _add_at(typing_context: Any, array: Any, shift: Any, indices: Any, place: Any, register: Any) -> Any:
    """Add the numbers of a register to an array one by one, at the shifted indices that start at a position."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        types_of = signature.args
        where = types_of[2], *arguments[2:4], arguments[1]
        for lane, pointer in _lanes(context, builder, types_of[0], arguments[0], *where):
            total = builder.fadd(builder.load(pointer), builder.extract_element(arguments[4], lane))
            builder.store(total, pointer)
        return context.get_dummy_value()

    return types.void(array, shift, indices, place, register), generate


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the columns of a square whose rows are registers, by recursively swapping halves."""
    count, index = len(rows), ir.IntType(32)
    half = 1
    while half < count:
        low = [lane if not lane & half else count + (lane ^ half) for lane in range(count)]
        high = [lane | half if not lane & half else count + lane for lane in range(count)]
        masks = [ir.Constant(ir.VectorType(index, count), lanes) for lanes in (low, high)]
        swapped = list(rows)
        for place in range(count):
            if not place & half:
                pair = rows[place], rows[place | half]
                swapped[place], swapped[place | half] = (builder.shuffle_vector(*pair, mask) for mask in masks)
        rows, half = swapped, 2 * half
    return rows


def _element(context: Any, builder: Any, array_type: Any, array: Any, place: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.load(builder.gep(data, [place]))


def _side_by_side(
    typing_context: Any, rows: Any, starts: Any, first: Any, column: Any, columns: Any, place: Any, stride: Any
) -> Any:
    """Write a square of numbers, one row per lane of a register, into columns, starting at a given column.

    Row ``i`` begins in ``rows`` at ``starts[first + i]``; column ``j`` is written to ``columns`` at ``place`` plus
    ``j`` strides.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count, kinds = Register(rows.dtype).width, signature.args
        taken = []
        for i in range(count):
            at = builder.add(arguments[2], context.get_constant(types.uint64, i))
            start = builder.add(_element(context, builder, kinds[1], arguments[1], at), arguments[3])
            pointer = _pointer(context, builder, kinds[0], arguments[0], start)
            taken.append(builder.load(pointer, align=rows.dtype.bitwidth // 8))
        target = arguments[5]
        for column_ in _transposed(builder, taken):
            pointer = _pointer(context, builder, kinds[4], arguments[4], target)
            builder.store(column_, pointer, align=rows.dtype.bitwidth // 8)
            target = builder.add(target, arguments[6])
        return context.get_dummy_value()

    return types.void(rows, starts, first, column, columns, place, stride), generate


def _in_rows(
    typing_context: Any, columns: Any, place: Any, stride: Any, scales: Any, rows: Any, starts: Any, first: Any,
    column: Any,
) -> Any:  # fmt: skip
    """Write a square of numbers back in rows, each multiplied by its entry of ``scales`` from ``first`` on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count, kinds, bytes_each = Register(rows.dtype).width, signature.args, rows.dtype.bitwidth // 8
        scale = builder.load(_pointer(context, builder, kinds[3], arguments[3], arguments[6]), align=bytes_each)
        source, taken = arguments[1], []
        for _ in range(count):
            pointer = _pointer(context, builder, kinds[0], arguments[0], source)
            taken.append(builder.fmul(builder.load(pointer, align=bytes_each), scale))
            source = builder.add(source, arguments[2])
        for i, row in enumerate(_transposed(builder, taken)):
            at = builder.add(arguments[6], context.get_constant(types.uint64, i))
            start = builder.add(_element(context, builder, kinds[5], arguments[5], at), arguments[7])
            builder.store(row, _pointer(context, builder, kinds[4], arguments[4], start), align=bytes_each)
        return context.get_dummy_value()

    return types.void(columns, place, stride, scales, rows, starts, first, column), generate


def _number_in(kind: Any, conversion: str | None) -> Any:
    """Return the function that reads a number of a kind from the bytes of an array, as a double."""

    def of(typing_context: Any, data: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            start = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            number = builder.load(builder.gep(builder.bitcast(start, kind.as_pointer()), [arguments[1]]))
            return number if conversion is None else getattr(builder, conversion)(number, ir.DoubleType())

        return types.float64(data, place), generate

    return intrinsic(of)


width: Any = intrinsic(_width)
double_in, single_in, whole_in = (
    _number_in(kind, conversion)
    for kind, conversion in ((ir.DoubleType(), None), (ir.FloatType(), "fpext"), (ir.IntType(16), "uitofp"))
)
side_by_side: Any = intrinsic(_side_by_side)
in_rows: Any = intrinsic(_in_rows)
load: Any = intrinsic(_load)
gather: Any = intrinsic(_gather)
add_at: Any = intrinsic(_add_at)
store: Any = intrinsic(_store)
load_whole: Any = intrinsic(_load_whole)
store_whole: Any = intrinsic(_store_whole)
largest: Any = intrinsic(_largest)
spread: Any = intrinsic(_spread)
larger: Any = intrinsic(_larger)
where_positive: Any = intrinsic(_where_positive)
at_least: Any = intrinsic(_at_least)
any_nonzero: Any = intrinsic(_any_nonzero)
none_of_one, none_of_two, none_of_three = (_none_of(count) for count in (1, 2, 3))
length: Any = intrinsic(_length)
load_each: Any = intrinsic(_load_each)
store_each: Any = intrinsic(_store_each)
spread_each: Any = intrinsic(_spread_each)
