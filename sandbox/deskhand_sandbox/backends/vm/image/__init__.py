"""The golden image: Debian with a screen and applications, made by a recipe and kept by its hash."""

from __future__ import annotations

from deskhand_sandbox.backends.vm.image.building import build, find
from deskhand_sandbox.backends.vm.image.recipe import RECIPE, GoldenImage, Recipe

__all__ = ["RECIPE", "GoldenImage", "Recipe", "build", "find"]
