"""Lets the Qwen processors import where torchvision's compiled part does not load.

transformers' image processors and qwen-vl-utils import torchvision. Its wheel on PyPI is compiled against
CUDA builds of torch; beside a CPU build the Python part works but its import stops at two operators that
nothing here ever calls. Where that happens, and only there, this declares them.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

import torch

from deskhand_agent.errors import ModelFilesError

_MISSING_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


@cache
def prepare_torchvision() -> bool:
    """Make `import torchvision` work; the package's `__init__` calls it before anything imports a processor.

    Returns:
        True when the operators had to be declared; False when torchvision loads by itself or is not there.
    """
    if importlib.util.find_spec("torchvision") is None:
        return False
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error):
            raise
    else:
        return False
    library = torch.library.Library("torchvision", "DEF")
    for schema in _MISSING_OPERATORS:
        library.define(schema)
    _DECLARED.append(library)
    importlib.import_module("torchvision")
    return True


_DECLARED: list[torch.library.Library] = []
"""Kept alive: an operator vanishes with the library object that declared it."""


def require_torchvision() -> None:
    """Raises:
    ModelFilesError: torchvision is not installed.
    """
    if importlib.util.find_spec("torchvision") is None:
        raise ModelFilesError(
            "the model's image processor needs torchvision: pip install --no-deps torchvision "
            "(the release that goes with the installed torch)"
        )
