"""The calculator that an agent is given: Python's arithmetic, without running Python.

The original evaluates the text it is sent. Here Python's parser reads it, which gives the same
syntax errors, and a walk over the tree computes, which gives the same numbers and error texts. Only
what would take long differs: it is refused at once, in the words of a number too large for a float.

After tau2-bench v0.2.0, src/tau2/domains/*/tools.py (MIT, Sierra Research).
"""

import ast
import operator
import re
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, cast

ALLOWED_CHARACTERS = "0123456789+-*/(). "

# Multiplying or dividing whole numbers takes about one step for each pair of their 30-bit digits.
# Ten million steps are some twenty milliseconds, and allow for results of 28,000 decimal places.
MAX_STEPS = 10_000_000
BITS_PER_DIGIT = 30

# Python gives up on a chain of some three thousand operations, but needs a second to find that out
# for a megabyte of them. Signs and powers are left out, as too many of those are found out at once.
MAX_OPERATIONS = 5_000
_OPERATION = re.compile(r"[0-9.)] *(?:[-+/(]|\*(?!\*))")

Operation = Callable[..., Any]

_UNARY: dict[type[ast.unaryop], Operation] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_BINARY: dict[type[ast.operator], Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def calculate(expression: object) -> str:
    """The value of an arithmetic expression, rounded to two places.

    Whatever is wrong with it is raised as Python would: ``SyntaxError``, ``ZeroDivisionError``, ...
    """
    # The result is always a float, as in the original: ``2 + 2`` gives ``4.0``.
    return str(round(float(cast(float, _evaluate(_parse(_check_characters(expression))))), 2))


def _check_characters(expression: object) -> str:
    if isinstance(expression, str):
        valid = not expression.strip(ALLOWED_CHARACTERS)
    else:
        # As in the original each element is looked up in one text: a longer piece of that text is
        # found as well, and what is no text is Python's own TypeError.
        valid = all(item in ALLOWED_CHARACTERS for item in cast(Iterable[Any], expression))
    if not valid:
        raise ValueError("Invalid characters in expression")
    if not isinstance(expression, str):
        raise TypeError("eval() arg 1 must be a string, bytes or code object")
    return expression


def _parse(expression: str) -> ast.expr:
    if _has_too_many_operations(expression):
        raise _too_deep()
    try:
        # ``eval`` skips leading blanks, but ``ast.parse`` takes them for a wrong indentation.
        return ast.parse(expression.lstrip(" "), "<string>", "eval").body
    except RecursionError:
        raise _too_deep() from None


def _has_too_many_operations(expression: str) -> bool:
    # This cheap upper bound spares nearly all expressions the search.
    at_most = sum(map(expression.count, "+-*/(")) - 2 * expression.count("**")
    if at_most <= MAX_OPERATIONS:
        return False
    found = islice(_OPERATION.finditer(expression), MAX_OPERATIONS + 1)
    return sum(1 for _ in found) > MAX_OPERATIONS


def _too_deep() -> RecursionError:
    return RecursionError("maximum recursion depth exceeded during compilation")


# With an explicit stack, as a long chain is a deep tree.
def _evaluate(expression: ast.expr) -> object:
    values: list[Any] = []
    pending: list[ast.expr | tuple[Operation, int]] = [expression]
    steps = 0
    while pending:
        match pending.pop():
            case ast.Constant(value=value):
                values.append(value)
            case ast.BinOp(left=left, op=op, right=right):
                # The left operand ends up on top, so that its error is raised first, as in Python.
                pending += [(_BINARY[type(op)], 2), right, left]
            case ast.UnaryOp(op=sign, operand=operand):
                pending += [(_UNARY[type(sign)], 1), operand]
            case ast.Call() as call:
                pending += _call(call)
            case (operation, arity):
                operands = values[-arity:]
                steps += _steps(operation, *operands)
                if steps > MAX_STEPS:
                    raise OverflowError("int too large to convert to float")
                values[-arity:] = [operation(*operands)]
            case _:  # a pair of parentheses with nothing in them; no comma can be written
                values.append(())
    return values.pop()


# Python's own words for ``5(3)`` are made by doing it: a number cannot be called.
def _call(call: ast.Call) -> list[ast.expr | tuple[Operation, int]]:
    match call:
        case ast.Call(args=[ast.Starred(value=argument)]):
            return [(lambda function, value: function(*value), 2), argument, call.func]
        case ast.Call(args=[argument]):
            return [(lambda function, value: function(value), 2), argument, call.func]
        case ast.Call(keywords=[ast.keyword(value=argument)]):
            return [(lambda function, value: function(**value), 2), argument, call.func]
        case _:
            return [(lambda function: function(), 1), call.func]


# Only whole numbers get large enough to take long.
def _steps(operation: Operation, left: object, right: object = None) -> int:
    if not (isinstance(left, int) and isinstance(right, int)):
        return 0
    if operation is operator.pow:
        # Powers of 0, 1 and -1 stay small, and a negative power is a float.
        if abs(left) <= 1 or right <= 0:
            return right.bit_length()
        # This is an upper bound: no factor of the last multiplication is longer than the result.
        return _digits(left.bit_length() * right) ** 2
    return _digits(left.bit_length()) * _digits(right.bit_length())


def _digits(bits: int) -> int:
    return bits // BITS_PER_DIGIT + 1
