"""Pictures on their way in and out: named by their digest, and checked against it."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from PIL import Image as PilImage

from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.blobs import digest_of
from deskhand_flywheel.errors import DamagedInput
from deskhand_flywheel.parts import column_text
from deskhand_sandbox.pictures import Format as PictureFormat
from deskhand_sandbox.pictures import as_image
from deskhand_sandbox.types import Image

_SUFFIXES = {"png": "png", "jpeg": "jpg", "webp": "webp"}


def file_name(image: Image) -> str:
    """`DIGEST.png`."""
    return f"{image.digest}.{_SUFFIXES[image.format]}"


def suffix(image: Image) -> str:
    """What its file's name ends with, no dot."""
    return _SUFFIXES[image.format]


def data_of(image: Image) -> bytes:
    """Its bytes, which everything on its way out has."""
    assert image.data is not None
    return image.data


def screens_of(trajectory: Trajectory) -> list[Image]:
    """What each step saw, and what was there at the end, if anything."""
    screens = [step.observation.screenshot for step in trajectory.steps]
    end = trajectory.end
    if end is not None and end.final_observation is not None:
        screens.append(end.final_observation.screenshot)
    return screens


def other_pictures(trajectory: Trajectory) -> list[Image]:
    """What the model was shown that is none of the screens as they were, each once."""
    known = {screen.digest for screen in screens_of(trajectory)}
    others: dict[str, Image] = {}
    for step in trajectory.steps:
        for image in step.decision.request.images if step.decision.request else ():
            if image.digest not in known:
                others.setdefault(image.digest, image)
    return list(others.values())


def with_pictures(trajectory: Trajectory, pictures: Mapping[str, bytes], place: str) -> Trajectory:
    """The trajectory with the bytes of all its pictures.

    Args:
        pictures: digest to bytes, which have been checked.

    Raises:
        DamagedInput: one is missing.
    """

    def fill(image: Image) -> Image:
        if image.digest not in pictures:
            raise DamagedInput(place, f"picture {image.digest} is missing")
        return replace(image, data=pictures[image.digest])

    end = trajectory.end
    if end is not None and end.final_observation is not None:
        seen = end.final_observation
        end = replace(end, final_observation=replace(seen, screenshot=fill(seen.screenshot)))
    return replace(trajectory, steps=tuple(_filled(step, fill) for step in trajectory.steps), end=end)


def _filled(step: Step, fill: Callable[[Image], Image]) -> Step:
    decision, seen = step.decision, step.observation
    if decision.request is not None:
        shown = tuple(fill(image) for image in decision.request.images)
        decision = replace(decision, request=replace(decision.request, images=shown))
    return replace(step, observation=replace(seen, screenshot=fill(seen.screenshot)), decision=decision)


def checked(data: bytes, digest: str, place: str) -> bytes:
    """The bytes, which must have that digest and be a picture: one that cannot be read would end a training.

    Raises:
        DamagedInput: they are not.
    """
    if digest_of(data) != digest:
        raise DamagedInput(place, "the picture is damaged: its bytes are not those that were exported")
    decoded(data, place)
    return data


def decoded(data: bytes, place: str) -> Image:
    """A picture nobody has named yet.

    Raises:
        DamagedInput: it is no PNG, JPEG or WebP, or is cut short.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", PilImage.DecompressionBombWarning)
            with PilImage.open(io.BytesIO(data)) as picture:
                picture.load()
                kind, size = (picture.format or "").lower(), picture.size
    except (OSError, SyntaxError, ValueError, PilImage.DecompressionBombError, Warning) as error:
        raise DamagedInput(place, f"not a picture that can be read: {error}") from error
    if kind not in _SUFFIXES:
        raise DamagedInput(place, f"a picture of kind {kind or 'unknown'}: PNG, JPEG and WebP are taken")
    return as_image(data, size, cast("PictureFormat", kind))


def read_bytes(path: Path, root: Path) -> bytes:
    """A file of the import.

    Raises:
        DamagedInput: it is not there, cannot be read, or lies outside of what is imported.
    """
    try:
        if not path.resolve().is_relative_to(root.resolve()):
            raise DamagedInput(str(path), "names a file outside of the folder that is imported")
        return path.read_bytes()
    except ValueError as error:
        place = column_text(str(path))
        raise DamagedInput(place, "holds a NUL or half a surrogate pair: no file's name can") from error
    except OSError as error:
        raise DamagedInput(str(path), f"cannot be read: {error.strerror or error}") from error
