"""Metrics of documents: the text of .docx files, and archives."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from xml.etree import ElementTree

from deskhand_sandbox.errors import InvalidTask
from deskhand_sandbox.types import JsonValue
from deskhand_sandbox.verifiers.osworld.metrics.likeness import ratio
from deskhand_sandbox.verifiers.osworld.metrics.metric import Metric, Options
from deskhand_sandbox.verifiers.osworld.values import File, Unusable, Value, file_of, gold

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
LARGEST_PART = 64 * 1024 * 1024
DAMAGED = (
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    ValueError,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)
"""What comes of an archive that is none, is damaged, or has a password."""
OPTIONS = (
    "ignore_blanks",
    "ignore_case",
    "ignore_order",
    "content_only",
    "fuzzy_match",
    "delete_empty_lines",
)


def paragraphs(file: File) -> list[str]:
    """The text of each paragraph of a .docx file.

    Raises:
        Unusable: it is none.
    """
    data = _part(file, "word/document.xml")
    if b"<!DOCTYPE" in data[:4096]:
        raise Unusable(f"{file.name} holds a document type, which no .docx does")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the latter two: of its encoding
        raise Unusable(f"{file.name} is no .docx") from error
    found: list[str] = []
    for paragraph in root.iter(f"{_WORD}p"):
        pieces = [_piece(each) for each in paragraph.iter()]
        found.append("".join(pieces))
    return found


def compare_docx_files(result: Value, expected: Value, options: Options) -> float:
    """The same paragraphs, but for what the options say; how alike they are with `content_only`."""

    def read(value: Value) -> list[str]:
        lines = paragraphs(file_of(value))
        if options.get("delete_empty_lines") is True:
            lines = [line for line in lines if line.strip()]
        if options.get("ignore_case") is True:
            lines = [line.lower() for line in lines]
        return sorted(lines) if options.get("ignore_order") is True else lines

    one, two = read(result), gold(read, expected)
    if options.get("content_only") is True or options.get("fuzzy_match") is True:
        return ratio(_joined(one), _joined(two))
    if options.get("ignore_blanks", True) is True:
        return float(_joined(one) == _joined(two))
    return float(one == two)


def compare_zip_files(result: Value, expected: Value, options: Options) -> float:
    """The same files with the same content."""

    def read(value: Value) -> dict[str, bytes]:
        file = file_of(value)
        try:
            with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
                inside = [each for each in archive.infolist() if not each.is_dir()]
                if sum(each.file_size for each in inside) > LARGEST_PART:
                    raise Unusable(f"{file.name} is too large")
                return {each.filename: archive.read(each) for each in inside}
        except DAMAGED as error:
            raise Unusable(f"{file.name} is no archive that can be read") from error

    return float(read(result) == gold(read, expected))


def _part(file: File, name: str) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
            if archive.getinfo(name).file_size > LARGEST_PART:
                raise Unusable(f"{file.name} is too large")
            return archive.read(name)
    except DAMAGED as error:
        raise Unusable(f"{file.name} is no .docx") from error


def _piece(element: ElementTree.Element) -> str:
    if element.tag == f"{_WORD}t":
        return element.text or ""
    return {f"{_WORD}tab": "\t", f"{_WORD}br": "\n"}.get(element.tag, "")


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _check(rules: JsonValue, options: Options) -> None:
    if unknown := [name for name in options if name not in OPTIONS]:
        raise InvalidTask(f"compare_docx_files has no option {unknown[0]!r}; there are: {', '.join(OPTIONS)}")


METRICS: Mapping[str, Metric] = {
    "compare_docx_files": Metric(compare_docx_files, _check),
    "compare_zip_files": Metric(compare_zip_files),
}
"""By OSWorld's name."""
