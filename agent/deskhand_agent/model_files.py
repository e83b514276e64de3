"""What a model folder must be before anybody loads it: checked without loading, and without torch.

Whether its parts fit each other, `load_bundle` on the device `UNREAD` tells.

Weights are taken as safetensors alone: other forms of them, and Python files beside them, can run code.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from deskhand_agent.checksums import SUMS_FILE, check_files
from deskhand_agent.errors import ModelFilesError

FAMILIES = ("qwen3_vl", "qwen2_5_vl")
"""Values of `model_type` that the local policy runs."""
ADAPTERS_FILE, ADAPTERS_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
"""What peft calls the files of low-rank adapters."""
_PLAIN = frozenset({".json", ".safetensors", ".jinja", ".txt", ".md"})
_PLAIN_NAMES = frozenset({SUMS_FILE, "LICENSE", "NOTICE", ".gitattributes"})


def check_model_folder(folder: Path) -> None:
    """Refuse what is no folder of a model that can be trained and acted with here.

    Raises:
        ModelFilesError: it lacks a file, holds one that is damaged or could run code, or is of another
            architecture; says which and the mend.
    """
    if (folder / ADAPTERS_FILE).is_file():
        raise ModelFilesError(
            f"{folder} holds adapters, not a model: give the policy 'local' its path, or make them one with "
            "their base (`deskhand policies import` does)"
        )
    family_of(folder)
    files = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    for file in files:
        if file.suffix not in _PLAIN and file.name not in _PLAIN_NAMES:
            raise ModelFilesError(
                f"{folder} holds {file}, which is not taken: weights come as safetensors, beside them "
                "JSON and text. Take such files out of the folder, or save the model anew with "
                "save_pretrained"
            )
    weights = [folder / file for file in files if file.suffix == ".safetensors"]
    names = {file.as_posix() for file in files}
    if not any(path.name.startswith("model") for path in weights):
        raise ModelFilesError(f"{folder} has no weights (model*.safetensors): copy the whole folder")
    if "tokenizer.json" not in names and not {"vocab.json", "merges.txt"} <= names:
        raise ModelFilesError(f"{folder} has no tokenizer (tokenizer.json): copy the whole folder")
    check_files(folder)
    for path in weights:
        _check_whole(path)


def family_of(folder: Path) -> str:
    """Which of `FAMILIES` the model of a folder is.

    Raises:
        ModelFilesError: it has no config.json that can be read, or is of another architecture.
    """
    try:
        described: Any = json.loads((folder / "config.json").read_text())
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelFilesError(
            f"{folder} is no model folder (no config.json): give the folder of a Qwen3-VL or Qwen2.5-VL "
            "model or of a policy kept by Deskhand"
        ) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelFilesError(
            f"the model folder {folder} is damaged (config.json: {error}): copy or download it again"
        ) from error
    found = cast("dict[str, Any]", described).get("model_type") if isinstance(described, dict) else None
    if found not in FAMILIES:
        raise ModelFilesError(
            f"{folder} holds a {found!r} model; the local policy runs {' and '.join(FAMILIES)}. "
            "Serve others behind an OpenAI-compatible endpoint and use the policy 'openai'"
        )
    return str(found)


def base_of(folder: Path) -> Path | None:
    """The folder of the model that a folder's low-rank adapters are for; None where it holds none.

    Raises:
        ModelFilesError: the adapters are damaged, or their model is not on this machine.
    """
    try:
        described: Any = json.loads((folder / ADAPTERS_FILE).read_text())
        base = folder / str(described["base_model_name_or_path"])
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelFilesError(
            f"the adapters in {folder} are damaged ({ADAPTERS_FILE}: {error}): copy the folder again"
        ) from error
    if not (folder / ADAPTERS_WEIGHTS).is_file():
        raise ModelFilesError(f"{folder} has no {ADAPTERS_WEIGHTS}: copy the whole folder")
    if not base.is_dir():
        raise ModelFilesError(
            f"the adapters in {folder} are for the model {described['base_model_name_or_path']!r}, which is "
            f"no folder of this machine: write the path of its folder as base_model_name_or_path in "
            f"{ADAPTERS_FILE}; nothing is downloaded"
        )
    _check_whole(folder / ADAPTERS_WEIGHTS)
    family_of(base)
    return base


@contextmanager
def writing(path: Path) -> Generator[None]:
    """Weights are written in the block; where they cannot be, it is the `OSError` that it was: safetensors
    hides it in a type of its own.

    Args:
        path: what is written.
    """
    from safetensors import SafetensorError

    try:
        yield
    except SafetensorError as error:
        number = errno.ENOSPC if "No space left" in str(error) else errno.EIO
        raise OSError(number, str(error), str(path)) from error


def _check_whole(path: Path) -> None:
    """Refuse a file that was cut off; its header says how long it is."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            pass
    except (SafetensorError, OSError) as error:
        raise ModelFilesError(f"{path} is damaged ({error}): copy or download it again") from error
