"""Each metric on what it must take for right, for wrong and for unusable."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import Workbook
from openpyxl.chart import BarChart

from deskhand_sandbox.errors import InvalidTask, VerifierError
from deskhand_sandbox.verifiers.osworld.metrics import METRICS, likeness, patterns, records
from deskhand_sandbox.verifiers.osworld.metrics.likeness import common, ratio
from deskhand_sandbox.verifiers.osworld.metrics.records import holds
from deskhand_sandbox.verifiers.osworld.values import File, Unusable, Value


def file(text: str | bytes, name: str = "x.txt") -> File:
    return File(name, text.encode() if isinstance(text, str) else text)


def measure(name: str, result: Value, expected: Value = None, **options: Any) -> float:
    return METRICS[name].compare(result, expected, options)


def book(*sheets: tuple[str, list[list[object]]], freeze: str | None = None) -> File:
    made = Workbook()
    made.remove(made.active)  # type: ignore[arg-type]
    for name, rows in sheets:
        sheet = made.create_sheet(name)
        for row in rows:
            sheet.append(row)
        sheet.freeze_panes = freeze
    out = io.BytesIO()
    made.save(out)
    return File("book.xlsx", out.getvalue())


def docx(*paragraphs: str) -> File:
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    body = "".join(f"<w:p><w:r><w:t>{each}</w:t></w:r></w:p>" for each in paragraphs)
    return archive(
        {"word/document.xml": f'<w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>'}
    )


def archive(files: dict[str, str], packing: int = zipfile.ZIP_DEFLATED) -> File:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", packing) as made:
        for name, text in files.items():
            made.writestr(name, text)
    return File("x.zip", out.getvalue())


OUTLINE = """application "mousepad"
  frame "Notes" [focused] (100, 80)
    text "body" value="milk" (50, 60)
    push button "Save it" [disabled] (10, 12)
    label "Today's [x]"
application "empty"
"""
TABLE: list[list[object]] = [["name", "n"], ["Ada", 1.00001], ["Bo", None]]
CASES: list[tuple[str, Value, Value, dict[str, Any], float]] = [
    ("exact_match", "false\n", {"expected": "false\n"}, {}, 1),
    ("exact_match", "false", {"expected": "false\n"}, {}, 0),
    ("exact_match", None, {"expected": "x"}, {}, 0),
    ("exact_match", file("x"), {"expected": "x"}, {}, 1),
    ("fuzzy_match", "hello", {"expected": "hallo"}, {}, 0.8),
    ("match_in_list", "b", {"expected": ["a", "b"]}, {}, 1),
    ("match_in_list", "c", {"expected": ["a", "b"]}, {}, 0),
    ("is_in_list", ["a", "b"], {"expected": "b"}, {}, 1),
    ("is_in_list", "a\nbc\n", {"expected": "bc"}, {}, 1),
    ("is_in_list", "a", {"expected": "b"}, {}, 0),
    ("literal_match", "A", "a", {"ignore_case": True}, 1),
    ("literal_match", "A", {"expected": "a"}, {}, 0),
    ("literal_match", ["1", "b"], [1, "B"], {"type": "list", "ignore_case": True}, 1),
    ("literal_match", ["1"], ["1", "2"], {"type": "list"}, 0),
    ("check_include_exclude", "one two", {"include": ["one"], "exclude": ["three"]}, {}, 1),
    ("check_include_exclude", "one two", {"include": ["one"], "exclude": ["two"]}, {}, 0),
    ("check_include_exclude", "one", {"include": ["one", "two"]}, {}, 0),
    ("check_list", file("a1\nb2\n"), {"expect": ["^a\\d", "2$"], "unexpect": ["c"]}, {}, 1),
    ("check_list", file("a1\nc\n"), {"expect": ["^a"], "unexpect": ["c"]}, {}, 0),
    ("diff_text_file", file("a\nb\n"), file("a\nc\n"), {}, 0.5),
    ("compare_text_file", file("a  b\n"), file("a b"), {"ignore_blanks": True}, 1),
    ("compare_text_file", file("a  b\n"), file("a b"), {}, 0),
    ("compare_text_file", file("A"), file("a"), {"ignore_case": True}, 1),
    ("compare_config", file("x=1\n"), {"expected": "x=1\n"}, {}, 1),
    ("file_contains", file("one two"), {"expected": ["one", "two"]}, {}, 1),
    ("file_contains", file("one"), {"expected": ["one", "two"]}, {}, 0),
    ("check_line_number", file("12:00:01 a\nb\n23:59:59 c\n"), {"expected": "2"}, {}, 1),
    ("compare_terminal_and_txt", file("x\n"), "x\n", {}, 1),
    ("compare_python_pure_text", file("#!/usr/bin/python\na = 1  \n\nb\n"), file("a = 1\nb\n"), {}, 1),
    ("compare_python_pure_text", file("a = 2\n"), file("a = 1\n"), {}, 0),
    (
        "check_json",
        file('{"a": {"b": 3}}'),
        {"expect": [{"key": ["a", "b"], "method": "ge", "ref": 3}]},
        {},
        1,
    ),
    ("check_json", file('{"a": [5]}'), {"expect": [{"key": ["a", 0], "method": "eq", "ref": 5}]}, {}, 1),
    ("check_json", file('{"a": 1}'), {"expect": [{"key": ["c"], "method": "eq", "ref": 1}]}, {}, 0),
    ("check_json", file('{"a": 1}'), {"unexpect": [{"key": ["a"], "method": "eq", "ref": 1}]}, {}, 0),
    (
        "check_json",
        file("a: x1\n"),
        {"expect": [{"key": ["a"], "method": "re", "ref": "\\d"}]},
        {"is_yaml": True},
        1,
    ),
    ("check_json_settings", file('{"a": 1, "b": 2}'), {"expected": {"a": 1}}, {}, 1),
    ("check_json_settings", file('{"a": 2}'), {"expected": {"a": 1}}, {}, 0),
    ("check_json_keybindings", file('[{"key": "a"}]'), {"expected": {"key": "a"}}, {}, 1),
    ("check_json_keybindings", file('{"key": "a"}'), {"expected": {"key": "a"}}, {}, 0),
    ("check_direct_json_object", "{'a': 'x'}", {"expected": {"a": "x"}}, {}, 1),
    ("check_direct_json_object", {"a": "xy"}, {"expected": {"a": "x"}}, {}, 0),
    ("check_direct_json_object", {"a": "xy"}, {"expected": {"a": "x"}, "expect_in_result": True}, {}, 1),
    ("check_direct_json_object", {"a": "x5"}, {"expected": {"a": 5}, "expect_in_result": True}, {}, 0),
    ("check_direct_json_object", {"a": [5]}, {"expected": {"a": 5}, "expect_in_result": True}, {}, 1),
    (
        "check_direct_json_object",
        {"a": ["p"]},
        {"expected": {"a": ["q", "p"]}, "expect_in_result": True},
        {},
        1,
    ),
    ("is_included_all_json_objects", file('{"a": 1}'), file('{"a": 1, "b": 2}'), {}, 1),
    ("is_included_all_json_objects", file("{}"), file('{"a": 1}'), {}, 0),
    ("check_csv", file("n,v\na,1\n"), {"expect": [{"n": "a", "v": "1"}], "unexpect": [{"n": "b"}]}, {}, 1),
    ("check_csv", file("n,v\nb,1\n"), {"expect": [{"v": "1"}], "unexpect": [{"n": "b"}]}, {}, 0),
    ("compare_csv", file("A,1\r\nb,2\r\n"), file("a,1\nB,2\n"), {"ignore_case": True}, 1),
    ("compare_csv", file("b,2 \na,1\n"), file("a,1\nb,2\n"), {"strict": False}, 1),
    ("compare_csv", file("b,2\na,1\n"), file("a,1\nb,2\n"), {}, 0),
    ("compare_docx_files", docx("One", "two"), docx("One", "two"), {}, 1),
    (
        "compare_docx_files",
        docx("One", "two"),
        docx("two", "one"),
        {"ignore_order": True, "ignore_case": True},
        1,
    ),
    ("compare_docx_files", docx("One"), docx("Two"), {}, 0),
    ("compare_docx_files", docx("abcd"), docx("abcx"), {"content_only": True}, 0.75),
    ("compare_zip_files", archive({"a": "1"}), archive({"a": "1"}), {}, 1),
    ("compare_zip_files", archive({"a": "1"}), archive({"a": "2"}), {}, 0),
    (
        "check_moved_jpgs",
        {"type": "directory", "children": [{"name": "a.jpg"}]},
        {"expected": ["a.jpg"]},
        {},
        1,
    ),
    ("check_moved_jpgs", {"type": "directory", "children": [{"name": "b"}]}, {"expected": ["a.jpg"]}, {}, 0),
    ("check_gnome_favorite_apps", "['b', 'a']\n", {"expected": ["a", "b"]}, {}, 1),
    ("check_gnome_favorite_apps", "@as []", {"expected": ["a"]}, {}, 0),
    (
        "check_accessibility_tree",
        OUTLINE,
        [{"selectors": ["frame[name=Notes] > text"], "text": "milk"}],
        {},
        1,
    ),
    (
        "check_accessibility_tree",
        OUTLINE,
        [{"selectors": ["text", "label"], "text": "mild", "exact": False}],
        {},
        0.75,
    ),
    ("check_accessibility_tree", OUTLINE, [{"xpath": "//push-button[@name='Save it']"}], {}, 1),
    ("check_accessibility_tree", OUTLINE, [{"selectors": ["application > text"]}], {}, 0),
    (
        "check_accessibility_tree",
        OUTLINE,
        [{"selectors": ["frame push-button[ name = 'Save it' ][disabled=true]"]}],
        {},
        1,
    ),
    ("check_accessibility_tree", OUTLINE, [{"selectors": ['label[name="Today\'s [x]"]']}], {}, 1),
    ("check_accessibility_tree", OUTLINE, [{"selectors": ['label[name="Today\'s [y]"]']}], {}, 0),
    ("check_text_enlarged", "1.25\n", None, {}, 1),
    ("check_text_enlarged", "1.0", None, {}, 0),
    ("is_utc_0", "  Time zone: Etc/UTC (UTC, +0000)\n", None, {}, 1),
    ("is_utc_0", "  Time zone: Europe/Oslo (CET, +0100)\n", None, {}, 0),
    ("is_expected_active_tab", {"url": "https://www.x.org/"}, {"type": "url", "url": "http://x.org"}, {}, 1),
    ("is_expected_active_tab", None, {"type": "url", "url": "http://x.org"}, {}, 0),
    (
        "is_expected_active_tab_approximate",
        "https://x.org/a?b=1",
        {"type": "url", "url": "https://x.org/a"},
        {},
        1,
    ),
    ("is_expected_url_pattern_match", {"url": "https://x.org/a/7"}, {"expected": ["/a/\\d"]}, {}, 1),
    (
        "is_expected_tabs",
        [{"url": "a.org/"}, {"url": "b.org"}],
        {"type": "url", "urls": ["b.org", "a.org"]},
        {},
        1,
    ),
    ("is_expected_tabs", [{"url": "a.org"}], {"type": "url", "urls": ["b.org", "a.org"]}, {}, 0),
    ("is_expected_active_tab", {"url": "data:,[1"}, {"type": "url", "url": "a.org"}, {}, 0),
    ("is_expected_active_tab", {"url": "data:,[1"}, {"type": "url", "url": "data:,[1"}, {}, 1),
    ("is_expected_active_tab_approximate", {"url": "http://[x?y"}, {"type": "url", "url": "a.org"}, {}, 0),
    ("is_expected_tabs", [{"url": "data:,[1"}], {"type": "url", "urls": ["a.org"]}, {}, 0),
]


@pytest.mark.parametrize(("name", "result", "expected", "options", "score"), CASES)
def test_metrics(name: str, result: Value, expected: Value, options: dict[str, Any], score: float) -> None:
    assert measure(name, result, expected, **options) == pytest.approx(score)


def test_every_metric_has_been_tried() -> None:
    assert {case[0] for case in CASES} | {"compare_table", "run_sqlite3"} == set(METRICS)


FILES = [name for name, _, expected, *_ in CASES if isinstance(expected, File)]


@pytest.mark.parametrize(("name", "result", "expected", "options", "score"), CASES)
@pytest.mark.parametrize(
    "junk", [None, "", "junk", file(b"\xff\xfe\x00", "x.bin"), file("{"), [], {"a": 1}, [None]]
)
def test_junk_scores_nothing(
    name: str, result: Value, expected: Value, options: dict[str, Any], score: float, junk: Value
) -> None:
    try:
        assert METRICS[name].compare(junk, expected, options) < 1
    except Unusable as error:
        assert str(error)


@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_what_the_task_brings_must_be_usable(name: str) -> None:
    result = next(case[1] for case in CASES if case[0] == name)
    with pytest.raises(VerifierError):
        measure(name, result, None)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({}, "selectors or xpath"),
        ({"selectors": ["page-tab-list[attr|id='tabs']"]}, "asks for 'attr|id'; the outline of a screen has"),
        ({"selectors": ["a:first-child"]}, "more than tags"),
        ({"selectors": ["push-button[name*='Save']"]}, "more than tags"),
        ({"selectors": ["push-button[name]"]}, "more than tags"),
        ({"selectors": ["push-button[name='Save][disabled=true]"]}, "more than tags"),
        ({"xpath": "//a[contains(@name, 'x')]"}, "cannot be followed"),
    ],
)
def test_rules_about_a_screen_that_are_not_supported_are_refused(rule: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTask, match=re.escape(said)):
        METRICS["check_accessibility_tree"].check([rule], {})


def rules(*given: dict[str, Any]) -> dict[str, Any]:
    return {"rules": list(given)}


PAIR = {"sheet_idx0": 0, "sheet_idx1": "EI0"}


@pytest.mark.parametrize(
    ("rule", "result", "expected", "score"),
    [
        ({"type": "sheet_name"}, [book(("A", []), ("B", []))], [book(("A", []), ("B", []))], 1),
        ({"type": "sheet_name"}, [book(("A", []))], [book(("B", []))], 0),
        (
            {"type": "sheet_data", **PAIR},
            [book(("A", TABLE))],
            [book(("B", [["name", "n"], ["Ada", 1], ["Bo"]]))],
            1,
        ),
        ({"type": "sheet_data", **PAIR}, [book(("A", TABLE))], [book(("A", [["name", "n"], ["Ada", 2]]))], 0),
        (
            {"type": "sheet_data", "sheet_idx0": 3, "sheet_idx1": "EI0"},
            [book(("A", TABLE))],
            [book(("A", TABLE))],
            None,
        ),
        (
            {"type": "sheet_print", "sheet_idx0": "RNA", "sheet_idx1": "ENA", "ignore_case": True},
            [book(("A", TABLE)), file("X,1\n", "book-A.csv")],
            [book(("A", TABLE)), file("x,1\n", "book-A.csv")],
            1,
        ),
        (
            {"type": "sheet_print", **PAIR},
            [book(("A", TABLE))],
            [book(("A", TABLE)), file("x", "book-A.csv")],
            None,
        ),
        (
            {
                "type": "sheet_fuzzy",
                **PAIR,
                "rules": [{"type": "exact_match", "range": ["A1:B2"], "ignore_case": True}],
            },
            [book(("A", [["NAME", "n"], ["ada", 1]]))],
            [book(("A", [["name", "N"], ["Ada", 1]]))],
            1,
        ),
        (
            {
                "type": "sheet_fuzzy",
                **PAIR,
                "rules": [{"type": "includes", "range": ["A1"], "trim_trailings": " "}],
            },
            [book(("A", [["full name "]]))],
            [book(("A", [["name"]]))],
            1,
        ),
        (
            {
                "type": "check_cell",
                "sheet_idx": 0,
                "coordinate": "A2",
                "props": {"value": {"method": "eq", "ref": "Ada"}},
            },
            [book(("A", TABLE))],
            None,
            1,
        ),
        ({"type": "freeze", **PAIR}, [book(("A", TABLE), freeze="B2")], [book(("A", TABLE), freeze="B2")], 1),
        ({"type": "freeze", **PAIR}, [book(("A", TABLE))], [book(("A", TABLE), freeze="B2")], 0),
        ({"type": "sheet_name"}, [file("no book")], [book(("A", []))], None),
    ],
)
def test_tables(rule: dict[str, Any], result: Any, expected: Any, score: float | None) -> None:
    METRICS["compare_table"].check(None, rules(rule))
    if score is None:
        with pytest.raises(Unusable):
            measure("compare_table", result, expected, **rules(rule))
    else:
        assert measure("compare_table", result, expected, **rules(rule)) == score


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "options.rules"),
        (rules({"type": "chart"}), "'chart'.*supported: .*sheet_data"),
        (rules({"type": "sheet_data", "sheet_idx0": 0}), "sheet_idx1 is missing"),
        (
            rules({"type": "sheet_fuzzy", **PAIR, "rules": [{"type": "like", "range": []}]}),
            "'like' is none of",
        ),
        (
            rules({"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": {"bgcolor": {}}}),
            "only value",
        ),
    ],
)
def test_rules_of_tables_that_are_not_supported_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidTask, match=said):
        METRICS["compare_table"].check(None, options)


def damaged(whole: File, part: str) -> list[File]:
    """An archive one of whose parts breaks off in the middle, and one where it cannot be unpacked."""
    with zipfile.ZipFile(io.BytesIO(whole.data)) as archived:
        parts = {name: archived.read(name).decode() for name in archived.namelist()}
        begins = archived.getinfo(part).header_offset + 30 + len(part)  # the header of a part
    text = parts[part]
    torn = whole.data[:begins] + b"\xff" + whole.data[begins + 1 :]
    return [archive({**parts, part: text[: len(text) // 2]}), File(whole.name, torn)]


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/worksheets/sheet1.xml"])
def test_a_damaged_workbook_is_none(part: str) -> None:
    table = book(("A", TABLE))
    for each in damaged(table, part):
        with pytest.raises(Unusable, match="is no workbook"):
            measure("compare_table", each, table, **rules({"type": "sheet_data", **PAIR}))


def test_a_damaged_document_is_none() -> None:
    for each in damaged(docx("one"), "word/document.xml"):
        with pytest.raises(Unusable, match=r"is no .docx"):
            measure("compare_docx_files", each, docx("one"))


@pytest.mark.parametrize("encoding", ["none-such", "utf-7", "big5", "punycode"])
def test_a_document_in_an_encoding_that_cannot_be_read_is_none(encoding: str) -> None:
    strange = archive({"word/document.xml": f'<?xml version="1.0" encoding="{encoding}"?><w/>'})
    with pytest.raises(Unusable, match=r"is no .docx"):
        measure("compare_docx_files", strange, docx("one"))


def torn_archives() -> list[File]:
    """Archives whose content cannot be unpacked, and some whose names cannot be read."""
    torn: list[File] = []
    for packing, name in ((zipfile.ZIP_BZIP2, "bzip2"), (zipfile.ZIP_LZMA, "lzma")):
        data = bytearray(archive({"word/document.xml": "a" * 2000}, packing).data)
        data[60] ^= 0xFF  # of what is packed
        torn.append(File(name, bytes(data)))
    named = archive({"é": "text"}).data
    return [
        *torn,
        *(File(repr(other), named.replace("é".encode(), other)) for other in (b"\xff\xff", b"\0\0")),
    ]


@pytest.mark.parametrize("each", torn_archives(), ids=lambda file: file.name)
def test_a_damaged_archive_is_none(each: File) -> None:
    with pytest.raises(Unusable, match="is no archive that can be read"):
        measure("compare_zip_files", each, archive({"a": "b"}))
    with pytest.raises(Unusable, match=r"is no .docx"):
        measure("compare_docx_files", each, docx("one"))


@pytest.mark.parametrize(
    "text",
    ["2024-02-30", "0x_", "!!int ''", "!!timestamp soon", "!!bool perhaps", "1:" * 200 + "1.5", "[" * 5000],
)
def test_values_that_are_none_of_their_type_are_no_yaml(text: str) -> None:
    with pytest.raises(Unusable, match="no YAML"):
        measure("check_json", file(f"due: {text}"), {"expect": [{"key": ["due"], "ref": 1}]}, is_yaml=True)


@pytest.mark.parametrize("text", ["{[]: 1}", "(" + "-" * 5000 + "1)", "-" * 100_000 + "1"])
def test_favourites_that_cannot_be_read_are_none(text: str) -> None:
    with pytest.raises(Unusable, match="no list"):
        measure("check_gnome_favorite_apps", text, {"expected": ["a"]})


def test_a_sheet_that_is_a_chart_has_no_cells() -> None:
    made = Workbook()
    made.create_chartsheet("C", 0).add_chart(BarChart())
    out = io.BytesIO()
    made.save(out)
    for rule in (
        {"type": "sheet_data", **PAIR},
        {"type": "freeze", **PAIR},
        {"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": {"value": {"ref": 1}}},
    ):
        with pytest.raises(Unusable, match="has no sheet of cells 'C'"):
            measure("compare_table", file(out.getvalue()), book(("A", TABLE)), **rules(rule))


def test_queries(tmp_path: Path) -> None:
    place = tmp_path / "a.sqlite"
    connection = sqlite3.connect(place)
    connection.execute("create table t (n int)")
    connection.execute("insert into t values (3)")
    connection.commit()
    connection.close()
    database = File("a.sqlite", place.read_bytes())
    assert measure("run_sqlite3", database, {"sql": "select count(*) from t where n = 3"}) == 1
    assert measure("run_sqlite3", database, {"sql": "select count(*) from t where n = 4"}) == 0
    for broken in (file("junk"), database):
        with pytest.raises(Unusable):
            measure("run_sqlite3", broken, {"sql": "select * from nowhere"})
    with pytest.raises(Unusable, match="no number: 'three'"):
        measure("run_sqlite3", database, {"sql": "select 'three' from t"})


ENDLESS = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c"


def database_of(place: Path, *statements: str) -> File:
    with contextlib.closing(sqlite3.connect(place)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return File(place.name, place.read_bytes())


def test_a_query_without_end_is_the_tasks_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "QUERY_S", 0.2)
    with pytest.raises(VerifierError, match=r"no end within 0\.2 s"):
        measure("run_sqlite3", database_of(tmp_path / "a.sqlite", "create table t (n)"), {"sql": ENDLESS})


def test_a_view_without_end_is_what_the_agent_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "QUERY_S", 0.2)
    left = database_of(tmp_path / "a.sqlite", f"create view t as {ENDLESS}")
    with pytest.raises(Unusable, match=r"no end within 0\.2 s"):
        measure("run_sqlite3", left, {"sql": "select * from t"})


def test_a_query_gives_no_more_than_it_may(tmp_path: Path) -> None:
    database = database_of(tmp_path / "a.sqlite", "create table t (n)")
    with pytest.raises(Unusable, match="too big"):
        measure("run_sqlite3", database, {"sql": f"select zeroblob({records.QUERY_BYTES + 1})"})


def test_a_query_writes_no_file(tmp_path: Path) -> None:
    database, written = database_of(tmp_path / "a.sqlite", "create table t (n)"), tmp_path / "written"
    for sql in (f"vacuum into '{written}'", f"attach '{written}' as other"):
        with pytest.raises(Unusable, match="attached"):
            measure("run_sqlite3", database, {"sql": sql})
    assert not written.exists()


def test_a_field_without_end_is_no_csv() -> None:
    endless = file('n,v\na,"' + "x" * (csv.field_size_limit() + 1))
    with pytest.raises(Unusable, match="no CSV"):
        measure("check_csv", endless, {"expect": [{"n": "a"}]})


def test_rules_hold() -> None:
    assert holds("a,b", {"method": "str_set_eq", "ref": "b,a"}) and not holds(
        "a,b", {"method": "str_list_eq", "ref": "b,a"}
    )
    assert holds(3.2, {"method": "approx:0.3", "ref": 3}) and not holds(
        3.5, {"method": "approx:0.3", "ref": 3}
    )
    assert holds("ABC", {"method": "re.I", "ref": "b"}) and not holds("x", {"method": "lt", "ref": 3})
    with pytest.raises(VerifierError, match="method"):
        holds(1, {"method": "about", "ref": 1})


def patterned(pattern: str, text: str) -> list[tuple[str, Value, Value]]:
    """Every metric that takes an expression from the task, looking for it in a text."""
    rule: Any = {"key": ["a"], "method": "re", "ref": pattern}
    return [
        ("check_list", file(text), {"expect": [pattern]}),
        ("check_list", file(text), {"unexpect": [pattern]}),
        ("check_json", file(json.dumps({"a": text})), {"expect": [rule]}),
        ("is_expected_url_pattern_match", {"url": text}, {"expected": [pattern]}),
    ]


@pytest.mark.parametrize("broken", ["(", "a**", "a{99999999999}", "(" * 5000 + ")" * 5000, "\\"])
def test_a_broken_expression_is_the_tasks_fault(broken: str) -> None:
    for name, result, expected in patterned(broken, "a"):
        with pytest.raises(VerifierError, match="no regular expression"):
            measure(name, result, expected)


def test_an_expression_that_takes_too_long_is_the_tasks_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SEARCH_S", 0.2)
    for name, result, expected in patterned("(.*a){30}x", "a" * 20_000):
        with pytest.raises(VerifierError, match=r"no end within 0\.2 s"):
            measure(name, result, expected)


@pytest.mark.parametrize(
    "rule",
    [
        {"method": "re.Q", "ref": "b"},
        {"method": "approx:near", "ref": 3},
        {"method": "approx", "ref": "three"},
    ],
)
def test_a_broken_rule_is_the_tasks_fault(rule: dict[str, Any]) -> None:
    with pytest.raises(VerifierError):
        holds(3, rule)


@pytest.mark.parametrize("lines", ["two", None, "nan", [2]])
def test_what_must_be_a_number_and_is_none_is_the_tasks_fault(lines: Any) -> None:
    with pytest.raises(VerifierError, match="must be a number"):
        measure("check_line_number", file("12:00:01 a\n"), {"expected": lines})


def slow_common(one: str, two: str) -> int:
    row = [0] * (len(two) + 1)
    for a in one:
        before = 0
        for at, b in enumerate(two, start=1):
            before, row[at] = row[at], before + 1 if a == b else max(row[at], row[at - 1])
    return row[-1]


@given(st.text("abc", max_size=30), st.text("abcd", max_size=30))
def test_likeness_is_that_of_a_table(one: str, two: str) -> None:
    assert common(one, two) == common(two, one) == slow_common(one, two)
    assert 0 <= ratio(one, two) <= 1 and ratio(one, one) == 1


def test_texts_that_would_take_for_ever_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*args: object, **named: object) -> None:
        raise AssertionError

    monkeypatch.setattr(likeness, "common", refuses)
    monkeypatch.setattr(likeness.difflib, "SequenceMatcher", refuses)
    long, lines = "a" * (likeness.CHARACTERS + 1), "a\n" * (likeness.LINES + 1)
    for one, two in ((long, "a"), ("a", long)):
        with pytest.raises(Unusable, match="100000 characters"):
            measure("fuzzy_match", one, {"expected": two})
    with pytest.raises(Unusable, match="10000 lines"):
        measure("diff_text_file", file(lines), file("a"))
    assert measure("fuzzy_match", long, {"expected": long}) == 1
    assert measure("diff_text_file", file(lines), file(lines)) == 1
