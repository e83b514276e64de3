"""The statements of a script, walked without running any: calls come out with their arguments worked out."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from deskhand_sandbox.dialects.fields import MAX_NUMBER
from deskhand_sandbox.errors import InvalidAction

MAX_ROUNDS = 2000
"""Of one loop."""
MAX_STATEMENTS = 20_000
"""Of the whole script, loops unrolled."""
MAX_TEXT = 100_000
MODULES = ("pyautogui", "time")

_NO_MATTER = ("duration", "interval", "tween", "logScreenshot", "_pause")
"""Arguments of pyautogui that change nothing here: the sandbox has its own pace."""
_TWEEN = re.compile(r"linear|ease[A-Za-z]+")
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A call with its arguments worked out."""

    name: str
    positional: list[Any]
    named: dict[str, Any]
    line: int

    def bind(self, *parameters: str) -> dict[str, Any]:
        """Arguments by name.

        Raises:
            InvalidAction: too many, twice, or unknown.
        """
        if len(self.positional) > len(parameters):
            raise InvalidAction(f"line {self.line}: too many arguments for {self.name}")
        found = dict(zip(parameters, self.positional, strict=False))
        for name, value in self.named.items():
            if name in found or name not in (*parameters, *_NO_MATTER):
                raise InvalidAction(f"line {self.line}: {self.name} takes no further argument {name!r}")
            found[name] = value
        return found


class Script:
    """Walks a script; loops are unrolled."""

    def __init__(
        self, on_call: Callable[[Call], None], on_hold: Callable[[Call, Callable[[], None]], None]
    ) -> None:
        """
        Args:
            on_call: takes every call, in order.
            on_hold: takes the call of a `with` and what walks its block.
        """
        self._on_call, self._on_hold = on_call, on_hold
        self._names: dict[str, Any] = {}
        self._modules: dict[str, str] = {name: name for name in MODULES}
        self._functions: dict[str, tuple[str, str]] = {}
        self._walked = 0

    def walk(self, source: str) -> None:
        """Walk the whole.

        Raises:
            InvalidAction: it is no Python, or holds something else than calls, loops and simple values.
        """
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise InvalidAction(f"the script is no Python: {error}") from None
        try:
            self._block(tree.body)
        except RecursionError:
            raise InvalidAction("the script nests too deeply to be read") from None

    # ---- statements

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        self._walked += 1
        if self._walked > MAX_STATEMENTS:
            raise InvalidAction(f"line {node.lineno}: the script does more than {MAX_STATEMENTS} things")
        match node:
            case ast.Import(names=names):
                for each in names:
                    self._import(node, each.name, each.asname)
            case ast.ImportFrom(module=str(module), names=names) if module in MODULES:
                for each in names:
                    self._functions[each.asname or each.name] = (module, each.name)
            case ast.Assign(targets=[target], value=value):
                self._assign(target, value)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as call):
                self._on_call(self._call(call))
            case ast.For(target=ast.Name(id=name), iter=over, body=body, orelse=[]):
                for value in self._items(over):
                    self._names[name] = value
                    self._block(body)
            case ast.With(
                items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=None)], body=body
            ):
                self._on_hold(self._call(call), lambda: self._block(body))
            case _:
                raise self._refused(node, type(node).__name__.lower())

    def _import(self, node: ast.stmt, module: str, alias: str | None) -> None:
        if module not in MODULES:
            raise self._refused(node, f"the module {module}")
        self._modules[alias or module] = module

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self._names[name] = self._value(value)
            case ast.Tuple(elts=parts) if all(isinstance(part, ast.Name) for part in parts):
                values = self._value(value)
                if not isinstance(values, list | tuple) or len(cast("list[Any]", values)) != len(parts):
                    raise self._refused(target, "an assignment of another length")
                for part, each in zip(parts, cast("list[Any]", values), strict=True):
                    self._names[cast("ast.Name", part).id] = each
            case ast.Attribute(value=ast.Name(id=module), attr="PAUSE" | "FAILSAFE") if (
                module in self._modules
            ):
                pass  # how long pyautogui pauses by itself: the sandbox waits for the screen instead
            case _:
                raise self._refused(target, "this assignment")

    def _items(self, node: ast.expr) -> Iterable[Any]:
        match node:
            case ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[]) if 1 <= len(arguments) <= 3:
                bounds = [self._value(each) for each in arguments]
                whole = all(type(each) is int and abs(each) <= MAX_NUMBER for each in bounds)
                if not whole or (len(bounds) == 3 and not bounds[2]):
                    raise self._refused(node, "a range of other than whole numbers")
                items: Sequence[Any] = range(*bounds)
            case _:
                items = self._value(node)
                if not isinstance(items, list | tuple | str):
                    raise self._refused(node, "a loop over this")
        if len(items) > MAX_ROUNDS:
            raise InvalidAction(f"line {node.lineno}: a loop of more than {MAX_ROUNDS} rounds")
        return items

    # ---- expressions

    def _call(self, node: ast.Call) -> Call:
        match node.func:
            case ast.Attribute(value=ast.Name(id=alias), attr=function) if alias in self._modules:
                name = f"{self._modules[alias]}.{function}"
            case ast.Name(id=alias) if alias in self._functions:
                name = ".".join(self._functions[alias])
            case _:
                raise self._refused(node, f"a call of {ast.unparse(node.func)[:60]}")
        positional: list[Any] = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                values = self._value(each.value)
                if not isinstance(values, list | str):
                    raise self._refused(node, "arguments by * of this")
                positional += values
            else:
                positional.append(self._value(each))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._refused(node, "arguments by **")
            named[keyword.arg] = self._value(keyword.value)
        return Call(name=name, positional=positional, named=named, line=node.lineno)

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return value
            case ast.Name(id=name) if name in self._names:
                return self._names[name]
            case ast.Attribute(value=ast.Name(id=module), attr=name) if self._modules.get(
                module
            ) == "pyautogui" and _TWEEN.fullmatch(name):
                return None  # how fast the pointer moves on its way
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                return [self._value(part) for part in parts]
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
                value = self._value(operand)
                if not isinstance(value, int | float):
                    raise self._refused(node, "a sign before this")
                return -value if isinstance(sign, ast.USub) else value
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return self._arithmetic(node, _OPERATORS[type(op)], self._value(left), self._value(right))
            case _:
                raise self._refused(node, ast.unparse(node)[:60])

    def _arithmetic(self, node: ast.expr, how: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        sized = [each for each in (left, right) if isinstance(each, str | list)]
        times = [each for each in (left, right) if isinstance(each, int)]
        long = sum(len(cast("list[Any]", each)) for each in sized) * max(1, *times, 1)
        if long > MAX_TEXT:
            raise self._refused(node, "a text that long")
        if sized and how is operator.mod:
            raise self._refused(node, "formatting by %")
        try:
            value = how(left, right)
        except (TypeError, ZeroDivisionError, OverflowError, ValueError) as error:
            raise InvalidAction(f"line {node.lineno}: {error}") from None
        if isinstance(value, int) and abs(value) > 10**12:
            raise self._refused(node, "a number that large")
        return value

    def _refused(self, node: ast.AST, what: str) -> InvalidAction:
        return InvalidAction(
            f"line {getattr(node, 'lineno', 1)}: cannot read {what}: "
            "a script moves the pointer, presses keys and waits"
        )
