"""What a vision tower makes of pictures while it stays as it is, kept by their digest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future

import torch
from torch import Tensor

from deskhand_agent.models.bundle import ModelBundle
from deskhand_agent.models.forward import encode_pictures
from deskhand_sandbox.types import Image


class FeatureCache:
    """Encodes each picture once, the least recently used forgotten first. Safe for several threads: a picture
    that one of them is encoding is waited for."""

    def __init__(self, bundle: ModelBundle, *, max_bytes: int = 2**30) -> None:
        self._bundle = bundle
        self._max_bytes = max_bytes
        self.keeps = max_bytes > 0
        """Whether what is encoded is there for who asks later."""
        self._kept: OrderedDict[str, Future[Tensor]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def begun(self, image: Image) -> bool:
        """Whether it is encoded, or somebody is at it."""
        with self._lock:
            return image.digest in self._kept

    def of(
        self, images: Sequence[Image], *, meanwhile: Callable[[], bool] = lambda: False
    ) -> tuple[list[Tensor], int]:
        """Features as `encode_pictures` gives them, without gradient, and how many were encoded for it.

        Args:
            meanwhile: does other work while another thread encodes one of them; False: none is left.

        Raises:
            InferenceError: a picture is unreadable.
        """
        mine: dict[str, Image] = {}
        with self._lock:
            found: list[Future[Tensor]] = []
            for image in images:
                if image.digest not in self._kept:
                    self._kept[image.digest] = Future()
                    mine[image.digest] = image
                self._kept.move_to_end(image.digest)
                found.append(self._kept[image.digest])
        if mine:
            self._encode(list(mine.values()))
        while not all(each.done() for each in found) and meanwhile():
            pass
        return [each.result() for each in found], len(mine)

    def clear(self) -> None:
        """The tower has changed; nobody may be asking meanwhile."""
        self._kept.clear()
        self._bytes = 0

    def _encode(self, images: Sequence[Image]) -> None:
        try:
            with torch.no_grad():
                encoded = encode_pictures(self._bundle, images)
        except BaseException as error:
            with self._lock:
                for image in images:
                    self._kept.pop(image.digest).set_exception(error)
            raise
        with self._lock:
            for image, features in zip(images, encoded, strict=True):
                self._kept[image.digest].set_result(features)
                self._bytes += features.nbytes
            self._forget()

    def _forget(self) -> None:
        """Of the oldest as much as is too much; what is being encoded stays."""
        for digest, kept in list(self._kept.items()):
            if self._bytes <= self._max_bytes:
                return
            if kept.done():
                self._bytes -= kept.result().nbytes
                del self._kept[digest]
