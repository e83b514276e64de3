"""Frames that are all but the same as one kept before are not kept again, where a store is told so.

One encoder gives equal pixels equal bytes, so the digest alone already keeps an unchanged screen once. This
is for screens from several encoders (`within=0`, which loses nothing: every pixel is compared), and for
carets and clocks (`within` above 0, which does: the record shows the frame before, not the one the agent saw,
and a turn whose model was shown another is not trained on as it was drawn).
"""

from __future__ import annotations

import asyncio
import io
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from functools import reduce

from PIL import Image as Pil
from PIL import ImageChops

from deskhand_agent.types import Step, TrajectoryEnd
from deskhand_sandbox.types import Image, Observation

_TRAJECTORIES = 256
"""Remembered at once; those of dead episodes are forgotten in time."""


@dataclass(kw_only=True, slots=True)
class _Kept:
    frame: Image | None = None
    pixels: Pil.Image | None = None
    instead: dict[str, Image] = field(default_factory=dict[str, Image])
    """By the digest of a frame that was not kept: the one that was."""
    unequal: set[str] = field(default_factory=set[str])
    """Digests of those that were not kept though a pixel differs."""


class NearFrames:
    """The last frame kept of each trajectory under way."""

    def __init__(self, within: float) -> None:
        """Frames are taken for the same when at most this share of their pixels differ, 0 to 1."""
        self._within = within
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    async def step(self, trajectory_id: str, step: Step) -> Step:
        """The step with kept frames, in what was seen and in what the model was shown."""
        kept = self._of(trajectory_id)
        seen = await self._seen(kept, step.observation)
        decision = step.decision
        if decision.request is not None:
            images = decision.request.images
            shown = tuple(kept.instead.get(image.digest, image) for image in images)
            exact = kept.unequal.isdisjoint(image.digest for image in images)
            decision = replace(
                decision,
                request=replace(decision.request, images=shown),
                trainable=decision.trainable and exact,
            )
        return replace(step, observation=seen, decision=decision)

    async def end(self, trajectory_id: str, end: TrajectoryEnd) -> TrajectoryEnd:
        """The end with a kept frame."""
        kept = self._of(trajectory_id)
        if end.final_observation is not None:
            end = replace(end, final_observation=await self._seen(kept, end.final_observation))
        # megabytes each, and no other frame is to come: told again, the end is known by its digest
        kept.pixels = None
        return end

    def _of(self, trajectory_id: str) -> _Kept:
        kept = self._kept.setdefault(trajectory_id, _Kept())
        self._kept.move_to_end(trajectory_id)
        if len(self._kept) > _TRAJECTORIES:
            self._kept.popitem(last=False)
        return kept

    async def _seen(self, kept: _Kept, observation: Observation) -> Observation:
        frame = observation.screenshot
        if frame.digest not in kept.instead:
            await asyncio.to_thread(self._look, kept, frame)
        return replace(observation, screenshot=kept.instead.get(frame.digest, frame))

    def _look(self, kept: _Kept, frame: Image) -> None:
        if frame.data is None or (kept.frame is not None and kept.frame.digest == frame.digest):
            return
        pixels = _pixels(frame.data)
        changed = _changed(kept.pixels, pixels)
        if kept.frame is not None and changed <= self._within:
            kept.instead[frame.digest] = kept.frame
            if changed > 0:
                kept.unequal.add(frame.digest)
            return
        kept.frame, kept.pixels = frame, pixels


def _pixels(data: bytes) -> Pil.Image | None:
    try:
        with Pil.open(io.BytesIO(data)) as picture:
            return picture.convert("RGBA")
    except (OSError, SyntaxError, Pil.DecompressionBombError):
        # no picture that can be compared: kept as it is
        return None


def _changed(before: Pil.Image | None, now: Pil.Image | None) -> float:
    """Share of the pixels that differ in any channel, 0 to 1; above 1 for what cannot be compared."""
    if before is None or now is None or before.size != now.size:
        return 2.0
    differing = reduce(ImageChops.lighter, ImageChops.difference(before, now).split())
    return 1.0 - differing.histogram()[0] / (now.width * now.height)
