"""What a run resumes from: numbered folders, each whole or not there.

    CHECKPOINTS/000012/tensors.safetensors   every tensor of the state
    CHECKPOINTS/000012/state.json            everything else, tensors named by "$tensor"
    CHECKPOINTS/000012/manifest.json         BLAKE3 of the two; written last

A checkpoint is written beside, flushed to disk, and moved into place; the newest two are kept. A state is
a tree of dictionaries, lists, tuples, tensors and plain values: models, optimizers, random generators.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from blake3 import blake3
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from deskhand_agent.model_files import writing
from deskhand_trainer.errors import CheckpointDamaged, CheckpointMismatch, DiskFull
from deskhand_trainer.run_folder import NO_SPACE

KEEP = 2
TENSORS, STATE, MANIFEST = "tensors.safetensors", "state.json", "manifest.json"


def save_checkpoint(folder: Path, number: int, state: Mapping[str, Any]) -> Path:
    """Keep a state as checkpoint `number` and let go of all but the newest `KEEP`.

    Raises:
        DiskFull: no room; what was there before is untouched.
    """
    tensors: dict[str, Tensor] = {}
    tree = _flatten(dict(state), "", tensors)
    final = folder / f"{number:06d}"
    draft = folder / f".draft-{number:06d}-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        draft.mkdir()
        _write(draft, tensors, tree)
        if final.exists():
            shutil.rmtree(final)
        draft.rename(final)
        _sync(folder)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if error.errno in NO_SPACE:
            raise DiskFull(
                f"no space left for checkpoint {number} in {folder}; the last good one is kept: "
                "free some space and start the run again"
            ) from error
        raise
    for old in _numbers(folder)[:-KEEP]:
        shutil.rmtree(folder / f"{old:06d}")
    return final


def load_checkpoint(folder: Path) -> tuple[int, dict[str, Any]] | None:
    """The newest checkpoint and its number; None where there is none.

    Raises:
        CheckpointDamaged: the newest is incomplete or altered.
    """
    numbers = _numbers(folder)
    if not numbers:
        return None
    newest = folder / f"{numbers[-1]:06d}"
    try:
        _verify(newest)
        tensors = load_file(newest / TENSORS)
        tree = json.loads((newest / STATE).read_text())
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        older = f"checkpoint {numbers[-2]}" if len(numbers) > 1 else "the beginning"
        raise CheckpointDamaged(
            f"checkpoint {newest} is damaged ({error}); remove that folder to go on from {older}"
        ) from error
    return numbers[-1], cast("dict[str, Any]", _restore(tree, tensors))


def take_up(parameters: Iterable[tuple[str, Tensor]], kept: Mapping[str, Tensor]) -> None:
    """Put kept values into parameters of the same names and shapes.

    Raises:
        CheckpointMismatch: they are of another architecture; nothing was changed.
    """
    own = dict(parameters)
    check_architecture(own, kept)
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(kept[name])


def take_up_moments(optimizer: torch.optim.Optimizer, kept: Mapping[str, Any]) -> None:
    """Put a kept `state_dict()` into an optimizer of the same parameters, which keeps its own settings: a run
    may go on with other ones."""
    optimizer.load_state_dict({**kept, "param_groups": optimizer.state_dict()["param_groups"]})


def check_architecture(own: Mapping[str, Tensor], kept: Mapping[str, Tensor]) -> None:
    """Raises:
    CheckpointMismatch: kept values have other names or shapes than the parameters they are for.
    """
    shapes = [{name: tuple(t.shape) for name, t in each.items()} for each in (kept, own)]
    apart = sorted(n for n in shapes[0].keys() | shapes[1].keys() if shapes[0].get(n) != shapes[1].get(n))
    if apart:
        there, here = (_size(each.get(apart[0])) for each in shapes)
        raise CheckpointMismatch(
            f"the checkpoint is of another architecture: {apart[0]} is {there} there and {here} here, and "
            f"{len(apart) - 1} more differ; go on with the policy and settings the run was begun with, or "
            "begin it in a new folder"
        )


def _size(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else "×".join(map(str, shape)) or "one number"


def next_number(folder: Path) -> int:
    """A number above those of the checkpoints that are there."""
    return max(_numbers(folder), default=-1) + 1


def confirm(folder: Path, number: int) -> None:
    """Put FOLDER-NUMBER in the folder's place, where it is there, and let go of those of other numbers and of
    halves: a checkpoint has this one, and whoever wrote those did not live to keep theirs."""
    for draft in folder.parent.glob(f"{folder.name}-*"):
        if draft.name == f"{folder.name}-{number}":
            shutil.rmtree(folder, ignore_errors=True)
            draft.rename(folder)
        else:
            shutil.rmtree(draft)
    for half in ("part", "old"):  # as `save_bundle` names them
        for left in folder.parent.glob(f".{folder.name}*.{half}"):
            shutil.rmtree(left)


def digest_of(tensors: Mapping[str, Tensor]) -> str:
    """Of named tensors: the same where every bit of them is."""
    found = blake3()
    for name, tensor in sorted(tensors.items()):
        found.update(name.encode())
        found.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest(length=8)


def random_state() -> dict[str, Any]:
    """State of Python's, numpy's and torch's global generators."""
    version, words, gauss = random.getstate()
    kind, keys, position, has_gauss, cached = cast("tuple[str, Any, int, int, float]", np.random.get_state())
    return {
        "python": {"version": version, "words": list(words), "gauss": gauss},
        "numpy": {
            "kind": kind,
            "keys": torch.from_numpy(keys.astype(np.int64)),
            "position": position,
            "has_gauss": has_gauss,
            "cached": cached,
        },
        "torch": torch.get_rng_state(),
    }


def restore_random_state(state: Mapping[str, Any]) -> None:
    """Put the three generators back."""
    python, numpy = state["python"], state["numpy"]
    random.setstate((python["version"], tuple(python["words"]), python["gauss"]))
    keys = cast(Tensor, numpy["keys"]).numpy().astype(np.uint32)
    np.random.set_state((numpy["kind"], keys, numpy["position"], numpy["has_gauss"], numpy["cached"]))
    torch.set_rng_state(state["torch"])


def numpy_state(generator: np.random.Generator) -> dict[str, Any]:
    """State of one of numpy's generators, numbers as text: they have 128 bits, and JSON readers may round."""
    return _big_as_text(generator.bit_generator.state)


def restore_numpy_state(generator: np.random.Generator, kept: Mapping[str, Any]) -> None:
    """Put it back."""
    generator.bit_generator.state = _text_as_big(kept)


def _big_as_text(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _big_as_text(value) for key, value in cast("dict[str, Any]", node).items()}
    return f"#{node}" if isinstance(node, int) else node


def _text_as_big(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _text_as_big(value) for key, value in cast("dict[str, Any]", node).items()}
    return int(node[1:]) if isinstance(node, str) and node.startswith("#") else node


def _numbers(folder: Path) -> list[int]:
    if not folder.is_dir():
        return []
    return sorted(int(p.name) for p in folder.iterdir() if p.is_dir() and p.name.isdigit())


def _sweep(folder: Path) -> None:
    for left in folder.glob(".draft-*"):
        shutil.rmtree(left, ignore_errors=True)


def _write(draft: Path, tensors: dict[str, Tensor], tree: object) -> None:
    save_tensors(tensors, draft / TENSORS)
    (draft / STATE).write_text(json.dumps(tree))
    manifest = {name: blake3((draft / name).read_bytes()).hexdigest() for name in (TENSORS, STATE)}
    (draft / MANIFEST).write_text(json.dumps(manifest))
    for name in (TENSORS, STATE, MANIFEST):
        _sync(draft / name)
    _sync(draft)


def save_tensors(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write tensors; a full disk comes as the `OSError` it is.

    Raises:
        OSError: the file could not be written.
    """
    # clones: tied weights share memory, which the format refuses
    own = {name: t.detach().cpu().contiguous().clone() for name, t in tensors.items()}
    with writing(path):
        save_file(own, path)


def _verify(checkpoint: Path) -> None:
    manifest = json.loads((checkpoint / MANIFEST).read_text())
    for name in (TENSORS, STATE):
        if blake3((checkpoint / name).read_bytes()).hexdigest() != manifest[name]:
            raise ValueError(f"{name} is not what was written")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _flatten(node: Any, name: str, tensors: dict[str, Tensor]) -> Any:
    """The tree with tensors taken out; what JSON would change (tuples, number keys) is marked."""
    if isinstance(node, Tensor):
        tensors[name] = node
        return {"$tensor": name}
    if isinstance(node, dict):
        pairs = cast("dict[Any, Any]", node)
        return {"$dict": [[k, _flatten(v, f"{name}/{k}", tensors)] for k, v in pairs.items()]}
    if isinstance(node, list | tuple):
        items = [_flatten(v, f"{name}/{i}", tensors) for i, v in enumerate(cast("list[Any]", node))]
        return {"$tuple": items} if isinstance(node, tuple) else items
    if node is None or isinstance(node, bool | int | float | str):
        return node
    raise TypeError(f"a checkpoint cannot keep a {type(node).__name__} (at {name})")


def _restore(node: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(node, list):
        return [_restore(v, tensors) for v in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    marked = cast("dict[str, Any]", node)
    if "$tensor" in marked:
        return tensors[marked["$tensor"]]
    if "$tuple" in marked:
        return tuple(_restore(v, tensors) for v in marked["$tuple"])
    return {k: _restore(v, tensors) for k, v in marked["$dict"]}
