from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from deskhand_sandbox.backends.vm.image import recipe
from deskhand_sandbox.backends.vm.image.recipe import RECIPE, Recipe, cache_folder


def test_the_key_changes_with_the_recipe_and_only_with_it() -> None:
    key = RECIPE.key()
    assert key == Recipe().key()
    assert replace(RECIPE, packages=(*RECIPE.packages, "vim")).key() != key
    assert replace(RECIPE, disk_mb=4096).key() != key


def test_the_key_changes_with_the_files_of_the_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in recipe.GUEST.iterdir():
        if path.is_file():
            (tmp_path / path.name).write_bytes(path.read_bytes())
    key = RECIPE.key()
    monkeypatch.setattr(recipe, "GUEST", tmp_path)
    assert RECIPE.key() == key
    (tmp_path / "start.sh").write_text("#!/bin/sh\n")
    assert RECIPE.key() != key


def test_a_recipe_survives_its_text() -> None:
    assert Recipe.from_json(RECIPE.to_json()) == RECIPE


def test_the_cache_is_where_the_user_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "deskhand"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == Path.home() / ".cache/deskhand"
