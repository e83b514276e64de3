"""Settings of a model folder's `deskhand.json`, read as strictly as its weights are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from deskhand_agent.models.images import ImageSettings

T = TypeVar("T")


def settings_of(cls: type[T], told: Mapping[str, Any], *, least: int | None = None) -> T:
    """The record that the file tells.

    Args:
        least: of its whole numbers; None: they may be any.

    Raises:
        ValueError: one is none, or less, or a choice that there is not; names it.
        TypeError: a field that there is not, or none where one has to be.
    """
    for name, hint in get_type_hints(cls).items():
        if name not in told:
            continue
        value = told[name]
        if hint is int and (type(value) is not int or (least is not None and value < least)):
            more = "" if least is None else f", {least} or more"
            raise ValueError(f"{name} is {value!r}: give a whole number{more}")
        if get_origin(hint) is Literal and value not in get_args(hint):
            raise ValueError(f"{name} is {value!r}: give {', '.join(map(str, get_args(hint)))}")
    return cls(**told)


def images_of(told: Mapping[str, Any], vision: Any) -> ImageSettings:
    """How pictures are cut for the vision tower of this configuration.

    Raises:
        ValueError: it takes others, or none at all; names the numbers.
        KeyError, TypeError: what is told is no such record.
    """
    triples = {name: tuple(told[name]) for name in ("mean", "std")}
    for name, triple in triples.items():
        if len(triple) != 3 or not all(map(math.isfinite, triple)) or (name == "std" and min(triple) <= 0):
            above = " above 0" if name == "std" else ""
            raise ValueError(f"{name} is {triple}: give three numbers{above}")
    images = settings_of(ImageSettings, {**told, **triples}, least=1)
    if images.min_pixels > images.max_pixels:
        raise ValueError(f"min_pixels {images.min_pixels} is above max_pixels {images.max_pixels}")
    given = {"patch_px": images.patch_px, "merge": images.merge, "temporal": images.temporal}
    takes = (vision.patch_size, vision.spatial_merge_size, vision.temporal_patch_size)
    for (name, value), wanted in zip(given.items(), takes, strict=True):
        if value != wanted:
            raise ValueError(f"{name} is {value}, and the vision tower of config.json takes {wanted}")
    return images
