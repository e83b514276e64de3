"""`compare_table`: workbooks, sheet by sheet, as a list of rules says."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from deskhand_sandbox.errors import BackendMissing, InvalidTask, UnknownName, VerifierError
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.metrics.documents import DAMAGED
from deskhand_sandbox.verifiers.osworld.metrics.likeness import ratio
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options
from deskhand_sandbox.verifiers.osworld.metrics.records import holds
from deskhand_sandbox.verifiers.osworld.values import (
    File,
    Unusable,
    Value,
    files_of,
    gold,
    mapping_of,
    number_of,
)

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

PRECISION = 4
"""Decimals to which numbers of cells are the same, unless a rule says otherwise."""
_NO_WORKBOOK = (*DAMAGED, ArithmeticError, AttributeError, SyntaxError, TypeError)
"""What openpyxl raises where parts are missing, or their XML is broken (a SyntaxError) or wrong."""

Rule: TypeAlias = Mapping[str, JsonValue]


class Book:
    """A workbook, and its sheets as they are shown, where they lie beside it as CSV."""

    def __init__(self, files: list[File]) -> None:
        """
        Raises:
            Unusable: it is no workbook.
        """
        try:
            from openpyxl import load_workbook
            from openpyxl.utils.exceptions import InvalidFileException
        except ModuleNotFoundError as error:
            raise BackendMissing(
                "tables need the module 'openpyxl': pip install 'deskhand[desktop]'"
            ) from error
        self.name = files[0].name
        self._shown = {file.name: file for file in files[1:]}
        try:
            self._book: Any = load_workbook(io.BytesIO(files[0].data), data_only=True)
        except (*_NO_WORKBOOK, InvalidFileException) as error:
            raise Unusable(f"{self.name} is no workbook") from error

    @property
    def names(self) -> list[str]:
        """Of the sheets."""
        return list(self._book.sheetnames)

    def sheet(self, which: str) -> Worksheet:
        """
        Raises:
            Unusable: there is no such sheet, or it is a chart.
        """
        if which not in [sheet.title for sheet in self._book.worksheets]:
            raise Unusable(f"{self.name} has no sheet of cells {which!r}")
        return self._book[which]

    def shown(self, which: str) -> list[str]:
        """The lines of a sheet as it is shown.

        Raises:
            Unusable: they are not there.
        """
        stem = self.name.rpartition(".")[0]
        file = self._shown.get(f"{stem}-{which}.csv") or self._shown.get(f"{stem}.csv")
        if file is None:
            raise Unusable(f"{stem}-{which}.csv is not there")
        return file.data.decode(errors="replace").splitlines()


class Books:
    """The two workbooks a rule speaks of."""

    def __init__(self, result: Book, expected: Book | None) -> None:
        self.result = result
        self.expected = expected

    def find(self, which: JsonValue) -> tuple[Book, str]:
        """The book and sheet of an index: 0, "RI0", "RNSheet1", "EI0", "ENSheet1".

        Raises:
            Unusable: there is no such sheet.
            VerifierError: it is none of these.
        """
        text = f"RI{which}" if isinstance(which, int) else str(which)
        book = self.result if text.startswith("R") else self.expected
        if book is None or text[:2] not in ("RI", "RN", "EI", "EN"):
            raise VerifierError(f"{which!r} names no sheet")
        if text[1] == "N":
            return book, text[2:]
        number = int(text[2:])
        if not 0 <= number < len(book.names):
            raise Unusable(f"{book.name} has no sheet number {number}")
        return book, book.names[number]


def compare_table(result: Value, expected: Value, options: Options) -> float:
    """Every rule holds."""
    books = Books(
        Book(files_of(result)),
        None if expected is None else gold(lambda value: Book(files_of(value)), expected),
    )
    rules = cast("list[Rule]", options["rules"])
    return float(all(RULES[str(rule["type"])](books, rule) for rule in rules))


def last_row(file: File) -> list[JsonValue]:
    """The last row of a workbook's first sheet, as texts."""
    book = Book([file])
    rows = list(book.sheet(book.names[0]).iter_rows(values_only=True))
    return [str(value) for value in rows[-1]] if rows else []


# ---- rules ------------------------------------------------------------------------------------------


def _sheet_name(books: Books, rule: Rule) -> bool:
    return books.expected is not None and books.result.names == books.expected.names


def _sheet_data(books: Books, rule: Rule) -> bool:
    digits = int(number_of(rule.get("precision", PRECISION), "a rule's precision"))

    def cells(which: JsonValue) -> list[list[object]]:
        book, name = books.find(which)
        rows = [
            [_rounded(value, digits) for value in row] for row in book.sheet(name).iter_rows(values_only=True)
        ]
        return _trimmed(rows)

    return cells(rule["sheet_idx0"]) == cells(rule["sheet_idx1"])


def _sheet_print(books: Books, rule: Rule) -> bool:
    def lines(which: JsonValue) -> list[str]:
        book, name = books.find(which)
        shown = book.shown(name)
        return [line.lower() for line in shown] if rule.get("ignore_case") is True else shown

    return lines(rule["sheet_idx0"]) == lines(rule["sheet_idx1"])


def _sheet_fuzzy(books: Books, rule: Rule) -> bool:
    one, two = books.find(rule["sheet_idx0"]), books.find(rule["sheet_idx1"])
    return all(
        _alike(_cell(one, place), _cell(two, place), part)
        for part in cast("list[Rule]", rule["rules"])
        for area in cast("list[str]", part["range"])
        for place in _places(area)
    )


def _check_cell(books: Books, rule: Rule) -> bool:
    book, name = books.find(rule["sheet_idx"])
    value = book.sheet(name)[str(rule["coordinate"])].value
    return all(
        holds(value, mapping_of(one, "a property"))
        for one in cast("Mapping[str, Any]", rule["props"]).values()
    )


def _freeze(books: Books, rule: Rule) -> bool:
    panes = [
        book.sheet(name).freeze_panes
        for book, name in map(books.find, (rule["sheet_idx0"], rule["sheet_idx1"]))
    ]
    return panes[0] == panes[1]


RULES: Mapping[str, Callable[[Books, Rule], bool]] = {
    "check_cell": _check_cell,
    "freeze": _freeze,
    "sheet_data": _sheet_data,
    "sheet_fuzzy": _sheet_fuzzy,
    "sheet_name": _sheet_name,
    "sheet_print": _sheet_print,
}
"""Kinds of rules."""
NEEDED = {
    "check_cell": ("sheet_idx", "coordinate", "props"),
    "sheet_name": (),
    "sheet_fuzzy": ("sheet_idx0", "sheet_idx1", "rules"),
}
FUZZY = ("exact_match", "fuzzy_match", "includes", "included_by")


def _check(rules: JsonValue, options: Options) -> None:
    """Refuse rules of a kind that is not supported."""
    given = options.get("rules")
    if not isinstance(given, list) or not given:
        raise InvalidTask("compare_table needs options.rules: a list of rules")
    for number, one in enumerate(given):
        where = f"evaluator.options.rules[{number}]"
        rule = one if isinstance(one, dict) else {}
        kind = str(rule.get("type"))
        if kind not in RULES:
            raise InvalidTask(f"{where}: {UnknownName('rule', kind, RULES)}; supported: {', '.join(RULES)}")
        if missing := [name for name in NEEDED.get(kind, ("sheet_idx0", "sheet_idx1")) if name not in rule]:
            raise InvalidTask(f"{where} ({kind}): {missing[0]} is missing")
        if kind == "check_cell" and set(cast("dict[str, JsonValue]", rule["props"])) - {"value"}:
            raise InvalidTask(f"{where} (check_cell): of props only value is supported")
        for part in cast("list[Rule]", rule["rules"]) if kind == "sheet_fuzzy" else []:
            if part.get("type") not in FUZZY:
                raise InvalidTask(f"{where}: {part.get('type')!r} is none of {', '.join(FUZZY)}")


# ---- cells ------------------------------------------------------------------------------------------


def _rounded(value: object, digits: int) -> object:
    return (
        round(float(value), digits)
        if isinstance(value, int | float) and not isinstance(value, bool)
        else value
    )


def _trimmed(rows: list[list[object]]) -> list[list[object]]:
    """Without empty rows and cells at the ends."""
    for row in rows:
        while row and row[-1] is None:
            row.pop()
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _cell(which: tuple[Book, str], place: str) -> str:
    value = which[0].sheet(which[1])[place].value
    return "" if value is None else str(value)


def _places(area: str) -> list[str]:
    """Every coordinate of a range like "A2:B5"."""
    from openpyxl.utils import get_column_letter, range_boundaries

    left, top, right, bottom = cast("tuple[int, int, int, int]", range_boundaries(area))
    return [f"{get_column_letter(x)}{y}" for y in range(top, bottom + 1) for x in range(left, right + 1)]


def _alike(one: str, two: str, rule: Rule) -> bool:
    one, two = _cleaned(one, rule), _cleaned(two, rule)
    match rule["type"]:
        case "includes":
            return two in one
        case "included_by":
            return one in two
        case "fuzzy_match":
            return ratio(one, two) >= number_of(rule.get("threshold", 85), "a rule's threshold") / 100
        case _:
            return one == two


def _cleaned(text: str, rule: Rule) -> str:
    for before, after in cast("list[list[str]]", rule.get("normalization", [])):
        text = text.replace(before, after)
    for character in str(rule.get("ignore_chars", "")):
        text = text.replace(character, "")
    if "trim_leadings" in rule:
        text = text.lstrip(str(rule["trim_leadings"]))
    if "trim_trailings" in rule:
        text = text.rstrip(str(rule["trim_trailings"]))
    return text.lower() if rule.get("ignore_case") is True else text


METRICS: Mapping[str, Metric] = {"compare_table": Metric(compare_table, _check, needs_expected=False)}
"""By OSWorld's name."""
