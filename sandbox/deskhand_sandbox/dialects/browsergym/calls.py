"""Python calls with literal arguments, taken apart without running any."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import cast

from deskhand_sandbox.errors import InvalidAction, UnknownName

MAX_CALLS = 1000


def read_script(source: str, signatures: Mapping[str, Sequence[str]]) -> list[tuple[str, dict[str, object]]]:
    """The calls of a script with their arguments by name.

    Args:
        signatures: function -> its parameters in order.

    Raises:
        InvalidAction: it is no Python, or anything but calls of these functions with literal arguments.
    """
    try:
        with warnings.catch_warnings():
            # of escapes Python does not know, as in Windows paths
            warnings.simplefilter("ignore")
            tree = ast.parse(source.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidAction(f"the action is no Python: {error}") from None
    if not 1 <= len(tree.body) <= MAX_CALLS:
        raise InvalidAction(f"an action has 1 to {MAX_CALLS} calls, not {len(tree.body)}")
    return [_read_call(statement, signatures) for statement in tree.body]


def _read_call(statement: ast.stmt, signatures: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, object]]:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call):
            pass
        case _:
            raise InvalidAction(
                f"line {statement.lineno}: an action is a call such as click('a51'), and nothing else"
            )
    if name not in signatures:
        raise InvalidAction(f"line {statement.lineno}: {UnknownName('action', name[:40], signatures)}")
    return name, _bind(name, call, signatures[name])


def _bind(name: str, call: ast.Call, parameters: Sequence[str]) -> dict[str, object]:
    if len(call.args) > len(parameters):
        raise InvalidAction(f"line {call.lineno}: {name} takes {len(parameters)} arguments at most")
    bound = dict(zip(parameters, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in bound or keyword.arg not in parameters:
            raise InvalidAction(
                f"line {call.lineno}: {name} takes {', '.join(parameters) or 'nothing'}, "
                f"each once, not {keyword.arg or '**'}"
            )
        bound[keyword.arg] = keyword.value
    return {parameter: _literal(name, parameter, value) for parameter, value in bound.items()}


def _literal(name: str, parameter: str, node: ast.expr) -> object:
    try:
        return cast("object", ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise InvalidAction(
            f"line {node.lineno}: {parameter} of {name} must be a plain value, not an expression"
        ) from None
