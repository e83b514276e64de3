from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import torch

from deskhand_agent import shipped
from deskhand_agent.checksums import SUMS_FILE, check_files, write_sums
from deskhand_agent.errors import ModelFilesError
from deskhand_agent.models.bundle import ModelBundle, load_bundle, save_bundle


@pytest.fixture
def folder(bundle: ModelBundle, tmp_path: Path) -> Path:
    save_bundle(bundle, tmp_path / "model", dtype=torch.bfloat16)
    write_sums(tmp_path / "model")
    return tmp_path / "model"


def test_half_the_bytes_load_as_the_same_numbers_rounded(bundle: ModelBundle, folder: Path) -> None:
    loaded = load_bundle(folder)
    assert next(loaded.model.parameters()).dtype is torch.float32
    assert bundle.model.dtype is torch.float32, "saving left the model as it was"
    assert torch.equal(loaded.model.lm_head.weight, bundle.model.lm_head.weight.bfloat16().float())


def test_the_sums_are_those_of_coreutils(folder: Path) -> None:
    names = {path.name for path in folder.iterdir()} - {SUMS_FILE}
    found = subprocess.run(["sha256sum", "-c", SUMS_FILE], cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0 and found.stdout.count(": OK") == len(names) > 3


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("bit", "damaged or of another version"),
        ("gone", "is missing"),
        ("sums", "is missing"),
        ("emptied", "is not noted"),
        ("cut", "model.safetensors is not noted"),
        ("more", "chat_template.txt is not noted"),
    ],
)
def test_a_folder_whose_sums_are_wrong_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    if how == "bit":
        flip(folder / "model.safetensors")
    elif how == "gone":
        (folder / "tokenizer.json").unlink()
    elif how == "emptied":
        (folder / SUMS_FILE).write_bytes(b"")
    elif how == "cut":
        lines = (folder / SUMS_FILE).read_text().splitlines(keepends=True)
        (folder / SUMS_FILE).write_text("".join(line for line in lines if "model" not in line))
    elif how == "more":
        (folder / "chat_template.txt").write_text("x")
    else:
        (folder / SUMS_FILE).write_bytes(b"\xff\xfe nonsense\n")
    with pytest.raises(ModelFilesError, match=f"{said}.*copy the whole folder again"):
        load_bundle(folder)
    monkeypatch.setattr(shipped, "FOLDER", folder)
    with pytest.raises(ModelFilesError, match=said):
        shipped.shipped_model()


def test_words_about_a_model_need_no_sum(folder: Path) -> None:
    for name in ("README.md", "LICENSE", ".gitattributes"):
        (folder / name).write_text("x")
    check_files(folder)


def test_a_package_without_its_model_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "nowhere")
    with pytest.raises(ModelFilesError, match="install the package again"):
        shipped.shipped_model()
