"""A verdict from what an Android device knows: rows of its content providers, and settings."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from deskhand_sandbox.base import Sandbox, Verifier
from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.terminal.verdict import COMMAND_S
from deskhand_sandbox.types import Outcome

NAMESPACES = ("system", "secure", "global")


@dataclass(frozen=True, kw_only=True, slots=True)
class RowCheck:
    """How many rows of a content address a condition holds for."""

    uri: str
    where: str
    """SQL, as `content query --where` takes it; empty: all rows."""
    count: int


class AndroidVerifier:
    """Success when every row and every setting is as it should be; the detail names those that are not."""

    def __init__(self, rows: Sequence[RowCheck], settings: Mapping[str, str]) -> None:
        self._rows = rows
        self._settings = settings

    @property
    def asked_s(self) -> float:
        """See `PatientVerifier`."""
        return COMMAND_S * (len(self._rows) + len(self._settings) - 1)

    async def score(self, sandbox: Sandbox, *, answer: str | None) -> Outcome:
        """The verdict on the device's state now; what the agent said plays no part."""
        wrong = [f"{row.uri}: {found} rows where {row.where or 'any'}, not {row.count}"
                 for row in self._rows if (found := await _count(sandbox, row)) != row.count]  # fmt: skip
        for name, wanted in self._settings.items():
            found = await _setting(sandbox, name)
            if found != wanted:
                wrong.append(f"{name} is {found}, not {wanted}")
        if wrong:
            return Outcome(score=0.0, success=False, detail="; ".join(wrong))
        checks = len(self._rows) + len(self._settings)
        return Outcome(score=1.0, success=True, detail=f"all {checks} checks hold")


async def _count(sandbox: Sandbox, row: RowCheck) -> int:
    words = ["content", "query", "--uri", row.uri, "--projection", "_id"]
    told = await sandbox.evaluate(shlex.join([*words, *(["--where", row.where] if row.where else [])]))
    lines = told.splitlines() if isinstance(told, str) else []
    found = [line for line in lines if line.startswith("Row: ")]
    if not found and lines != ["No result found."]:
        raise VerifierError(f"the device answered {told!r} where rows of {row.uri} were asked for")
    return len(found)


async def _setting(sandbox: Sandbox, name: str) -> str:
    namespace, _, key = name.partition("/")
    # the quotes keep what looks like a number or nothing as it is written
    told = await sandbox.evaluate(f'printf \'"%s"\' "$(settings get {namespace} {shlex.quote(key)})"')
    if not isinstance(told, str):
        raise VerifierError(f"the device answered {told!r} where the setting {name} was asked for")
    return told


def create(*, rows: object = (), settings: object = None) -> Verifier:
    """The verifier `android`.

    Args:
        rows: records of `uri`, `where` (may be left out) and `count`.
        settings: "namespace/name" -> value as text.

    Raises:
        InvalidTask: neither is given, or one is not so.
    """
    listed = cast("Sequence[object]", rows) if isinstance(rows, list | tuple) else None
    if listed is None:
        raise InvalidTask(f"rows must be a list of records, not {rows!r}")
    wanted = settings or {}
    if not isinstance(wanted, Mapping) or not all(
        isinstance(name, str) and name.partition("/")[0] in NAMESPACES and isinstance(value, str)
        for name, value in cast("Mapping[object, object]", wanted).items()
    ):
        raise InvalidTask(f"settings must map names like global/wifi_on to texts, not {settings!r}")
    checks = [_row(each) for each in listed]
    if not checks and not wanted:
        raise InvalidTask("the android verifier needs rows or settings to look at")
    return AndroidVerifier(checks, cast("Mapping[str, str]", wanted))


def _row(value: object) -> RowCheck:
    fields = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    uri, where, count = fields.get("uri"), fields.get("where", ""), fields.get("count")
    known = set(fields) <= {"uri", "where", "count"}
    if not (known and isinstance(uri, str) and isinstance(where, str) and type(count) is int and count >= 0):
        raise InvalidTask(f"a row check has uri, where and count, a whole number, not {value!r}")
    return RowCheck(uri=uri, where=where, count=count)
