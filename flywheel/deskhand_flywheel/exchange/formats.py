"""The formats by name."""

from __future__ import annotations

import difflib
from pathlib import Path

from deskhand_flywheel.errors import UnknownFormat
from deskhand_flywheel.exchange import experience, osworld, parquet, ui_tars, webdataset
from deskhand_flywheel.exchange.types import Format

_FORMATS = {
    each.name: each
    for each in (parquet.FORMAT, osworld.FORMAT, ui_tars.FORMAT, webdataset.FORMAT, experience.FORMAT)
}


def format_names() -> tuple[str, ...]:
    """Every format that can be written."""
    return tuple(_FORMATS)


def format_named(name: str) -> Format:
    """
    Raises:
        UnknownFormat: there is none of that name; says which there are.
    """
    if name in _FORMATS:
        return _FORMATS[name]
    near = difflib.get_close_matches(name, _FORMATS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(_FORMATS)}"
    raise UnknownFormat(f"no format {name!r}; {hint}")


def format_of(path: Path, name: str | None) -> Format:
    """The format to import a path with: the one named, else the one its files are of.

    Raises:
        UnknownFormat: nothing there is of a format that can be imported, or of the named one, or that one
            only goes out.
    """
    if not path.exists():
        raise UnknownFormat(f"{path} is not there")
    importable = [each for each in _FORMATS.values() if each.read is not None]
    known = ", ".join(each.name for each in importable)
    if name is not None:
        chosen = format_named(name)
        if chosen.read is None:
            raise UnknownFormat(f"{name} only goes out; what can be imported is {known}")
        if not chosen.found(path):
            raise UnknownFormat(f"{path} holds nothing of the format {name}: name the folder that does")
        return chosen
    for each in importable:
        if each.found(path):
            return each
    raise UnknownFormat(
        f"{path} holds nothing that can be imported: no steps/*.parquet, traj.jsonl or conversations.jsonl "
        f"({known})"
    )
