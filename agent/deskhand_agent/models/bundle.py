"""A model with everything needed to talk to it: tokenizer, picture settings, coordinate frame, template.

A folder written here is a plain transformers folder plus `deskhand.json`; a folder without that file is a
released model (Qwen3-VL or Qwen2.5-VL), gets its family's settings and is told our grammar. Where the file
says no more than `{"reply_format": "ui_tars"}`, it is one that is asked as UI-TARS is. A folder of
low-rank adapters, as peft writes them, is the model they come to on their base. All load by the same code.
Where the folder brings checksums (`deskhand_agent.checksums`), they are checked first.
"""

from __future__ import annotations

import json
import re
import shutil
import uuid
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import blake3
import torch
from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoProcessor, AutoTokenizer, PreTrainedTokenizerBase
from transformers import Qwen2_5_VLForConditionalGeneration as Qwen25
from transformers import Qwen3VLForConditionalGeneration as Qwen3

from deskhand_agent.checksums import check_files
from deskhand_agent.coordinates import CoordinateSystem
from deskhand_agent.errors import ModelFilesError
from deskhand_agent.formats import OURS, Format, find_format, system_prompt
from deskhand_agent.memory import WindowMemory
from deskhand_agent.model_files import FAMILIES, base_of, family_of, writing
from deskhand_agent.models.adapters import adapted, plain_copy, with_kept_adapters
from deskhand_agent.models.described import images_of, settings_of
from deskhand_agent.models.images import ImageCache, ImageSettings
from deskhand_agent.models.tiny import TinyConfig, VisionLanguageModel, build_model
from deskhand_agent.models.torchvision_gap import require_torchvision
from deskhand_agent.models.vocabulary import CHAT_TEMPLATE, END, build_tokenizer
from deskhand_sandbox.errors import UnknownName

BUNDLE_FILE, REPLY_FORMAT = "deskhand.json", "reply_format"
FORMAT = 1
"""Raised when `deskhand.json` says things in another way."""
TEMPLATE_VERSION = 1
"""Raised when `prompting` builds other ids from the same messages."""

UNREAD = "meta"
"""PyTorch's device of tensors that have shapes and hold nothing."""
_TINY_MEAN, _TINY_STD = 0.95, 0.3
"""So that blank background is about zero, which vision needs to learn from random weights."""


@dataclass(kw_only=True, slots=False)
class ModelBundle:
    """A loaded model and how to talk to it."""

    model: VisionLanguageModel
    tokenizer: PreTrainedTokenizerBase
    images: ImageSettings
    coordinates: CoordinateSystem
    """The frame its coordinates are written in."""
    pictures_first: bool
    """Within a message the template puts pictures before text, whatever their order in the prompt."""
    tiny: TinyConfig | None = None
    """How it was built; None for a released model."""
    memory: WindowMemory = field(default_factory=WindowMemory)
    """What of an episode it is shown: in training as when it acts."""
    system: str = ""
    """The system message of every prompt, in training as when it acts; none when empty. A trained model keeps
    the one it was trained with, whatever a released one would be told by then."""
    reply_format: str = OURS
    """How it is asked and replies (`deskhand_agent.formats`): "ui_tars" for weights of UI-TARS."""
    cache: ImageCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.cache = ImageCache(self.images)

    @cached_property
    def end_id(self) -> int:
        """The token that ends a reply."""
        return int(cast(int, self.tokenizer.convert_tokens_to_ids(END)))

    @cached_property
    def suppressed_ids(self) -> Tensor:
        """Ids that are never sampled and are masked alike when scoring: special tokens but the end, and rows
        of the output matrix that no token has."""
        special = {
            int(i)
            for i, token in self.tokenizer.added_tokens_decoder.items()
            if token.special or token.content.startswith("<|")
        }
        special |= set(self.tokenizer.all_special_ids)
        rows = int(self.model.lm_head.weight.shape[0])
        special |= set(range(len(self.tokenizer), rows))
        return torch.tensor(sorted(special - {self.end_id}), dtype=torch.long)

    @cached_property
    def processor_hash(self) -> str:
        """Names tokenizer, picture settings, frame, template and system message together."""
        parts: dict[str, Any] = {
            "template": TEMPLATE_VERSION,
            "images": asdict(self.images),
            "coordinates": asdict(self.coordinates),
            "pictures_first": self.pictures_first,
            "memory": self.memory.named(),
            "tokens": sorted(self.tokenizer.get_vocab().items()),
            **self.told,
        }
        return blake3.blake3(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def told(self) -> dict[str, str]:
        """What is kept of the system message and of the form, and named: nothing where there is none and
        where it is our own, so that models from before there were any keep their names."""
        form = {} if self.reply_format == OURS else {REPLY_FORMAT: self.reply_format}
        return {**({"system": self.system} if self.system else {}), **form}

    @cached_property
    def form(self) -> Format:
        """How it is told a task and what its replies mean, in its own frame."""
        return find_format(self.reply_format, self.coordinates)

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def text_width(self) -> int:
        """Width of the language model's hidden states."""
        return int(cast(Any, self.model.config.text_config).hidden_size)

    @property
    def longest(self) -> int:
        """Tokens that the model was built for."""
        return int(cast(Any, self.model.config.text_config).max_position_embeddings)

    def to(self, device: torch.device) -> ModelBundle:
        """Move the model, in place."""
        cast(Any, self.model).to(device)
        return self

    def clone(self) -> ModelBundle:
        """The same with a copy of the weights, for an engine that serves while a learner trains."""
        return self.around(plain_copy(self.model))

    def around(self, model: Any) -> ModelBundle:
        """The same way to talk, to another model."""
        return replace(self, model=model.eval())


def build_tiny(config: TinyConfig | None = None) -> ModelBundle:
    """The tiny model with fresh weights."""
    config = config or TinyConfig()
    tokenizer = build_tokenizer(
        grid_px=config.grid_px, size_px=config.max_side_px, vocabulary=config.vocabulary
    )
    return ModelBundle(
        model=build_model(config, tokenizer),
        tokenizer=tokenizer,
        images=_tiny_images(config),
        coordinates=CoordinateSystem(kind="grid", step=config.grid_px),
        pictures_first=True,
        tiny=config,
    )


def save_bundle(bundle: ModelBundle, path: Path | str, *, dtype: torch.dtype | None = None) -> None:
    """Write the folder; a reader sees the old one, the new one or for a moment none, never a half.

    Args:
        dtype: of the written weights; None: as they are.

    Raises:
        OSError: it could not be written; the old one stays.
    """
    model: Any = bundle.model
    if dtype is not None or adapted(model):
        model = plain_copy(model).to(dtype or next(model.parameters()).dtype)
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    try:
        with writing(target):
            model.save_pretrained(part)
        _processor(bundle).save_pretrained(part)
        described = {
            "format": FORMAT,
            "template": TEMPLATE_VERSION,
            "coordinates": asdict(bundle.coordinates),
            "pictures_first": bundle.pictures_first,
            "images": asdict(bundle.images),
            "memory": asdict(bundle.memory),
            "tiny": None if bundle.tiny is None else asdict(bundle.tiny),
            **bundle.told,
        }
        (part / BUNDLE_FILE).write_text(json.dumps(described, indent=2) + "\n")
        if target.exists():
            old = target.with_name(f".{target.name}.{uuid.uuid4().hex}.old")
            target.rename(old)
            part.rename(target)
            shutil.rmtree(old)
        else:
            part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def load_bundle(path: Path | str, *, device: str = "cpu", dtype: torch.dtype = torch.float32) -> ModelBundle:
    """Load a folder written by `save_bundle`, a released Qwen3-VL or Qwen2.5-VL, or adapters for one of them.

    Args:
        device: `UNREAD` checks all and reads no weights, but of adapters and their base.

    Raises:
        ModelFilesError: the folder is missing, damaged or of another architecture; says which and the mend.
    """
    folder = Path(path)
    base = base_of(folder)
    if base is not None:
        whole = load_bundle(base, device="cpu" if device == UNREAD else device, dtype=dtype)
        return _with_adapters(whole, folder)
    family = family_of(folder)
    check_files(folder)
    require_torchvision()
    try:
        described = _described(folder)
        loaded: Any = _load_model(folder, family, dtype, UNREAD if device == UNREAD else None)
        model = loaded.to(device).eval()
        tokenizer = _load_tokenizer(folder)
        if described is None or described.keys() <= {"format", REPLY_FORMAT}:
            return _released(folder, model, tokenizer, (described or {}).get(REPLY_FORMAT, OURS))
        tiny = described["tiny"]
        return ModelBundle(
            model=model,
            tokenizer=tokenizer,
            images=images_of(described["images"], model.config.vision_config),
            coordinates=settings_of(CoordinateSystem, described["coordinates"], least=1),
            pictures_first=described["pictures_first"],
            tiny=None if tiny is None else settings_of(TinyConfig, tiny),
            memory=settings_of(WindowMemory, described.get("memory", {}), least=0),
            system=str(described.get("system", "")),
            reply_format=described.get(REPLY_FORMAT, OURS),
        )
    except (
        OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, SafetensorError,
        StrictDataclassError, ArithmeticError,
    ) as error:  # fmt: skip
        raise ModelFilesError(
            f"the model folder {folder} is damaged ({type(error).__name__}: {error}): copy or download it "
            "again, or materialise the policy again from the store"
        ) from error


def _with_adapters(base: ModelBundle, folder: Path) -> ModelBundle:
    check_files(folder)
    try:
        return base.around(with_kept_adapters(cast(Any, base.model), folder))
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
        raise ModelFilesError(
            f"the adapters in {folder} are damaged or of another model than their base "
            f"({type(error).__name__}: {error}): name the right one in adapter_config.json, or copy the "
            "folder again"
        ) from error


def _described(folder: Path) -> dict[str, Any] | None:
    file = folder / BUNDLE_FILE
    if not file.is_file():
        return None
    described = json.loads(file.read_text())
    for what, known in (("format", FORMAT), ("template", TEMPLATE_VERSION)):
        if described.get(what, 1) != known:
            raise ModelFilesError(
                f"the model folder {folder} was written by another version of Deskhand ({what} "
                f"{described[what]}; this one reads {known}): take the version that wrote it, or train again "
                "with this one"
            )
    try:
        find_format(str(described.get(REPLY_FORMAT, OURS)), None)
    except UnknownName as error:
        raise ModelFilesError(f"{file} names an {error}") from error
    return described


def _load_model(folder: Path, family: str, dtype: torch.dtype, place: str | None) -> VisionLanguageModel:
    classes: dict[str, Any] = dict(zip(FAMILIES, (Qwen3, Qwen25), strict=True))
    try:
        model, info = classes[family].from_pretrained(
            folder, dtype=dtype, device_map=place, ignore_mismatched_sizes=True, output_loading_info=True
        )
    except (ArithmeticError, RuntimeError) as error:  # of sizes that no layer can have
        raise ValueError(f"config.json: {error}") from error
    known = {_in_any_layer(name) for name in model.state_dict()}
    beyond = [name for name in info["unexpected_keys"] if _in_any_layer(name) in known]
    if wrong := sorted(map(str, [*info["missing_keys"], *info["mismatched_keys"], *beyond])):
        raise ModelFilesError(
            f"the weights in {folder} do not fit its config.json (missing, of another shape or of layers it "
            f"does not have: {', '.join(wrong[:4])}): copy or download the folder again"
        )
    return model


def _in_any_layer(name: str) -> str:
    """The name of a weight without the numbers of its layers. Released folders may hold weights beside those
    of the model, such as buffers that are computed; one that has only another number is of a lost layer."""
    return re.sub(r"\.\d+\.", ".*.", name)


def _load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    try:
        return AutoTokenizer.from_pretrained(folder)
    except Exception as error:
        if type(error) is Exception:  # all that the tokenizers library makes of a file it cannot read
            raise ValueError(f"tokenizer.json: {error}") from error
        raise


def _released(
    folder: Path, model: VisionLanguageModel, tokenizer: PreTrainedTokenizerBase, reply_format: str
) -> ModelBundle:
    processor: Any = cast(Any, AutoProcessor.from_pretrained(folder)).image_processor
    images = ImageSettings(
        patch_px=processor.patch_size,
        merge=processor.merge_size,
        temporal=processor.temporal_patch_size,
        mean=tuple(processor.image_mean),
        std=tuple(processor.image_std),
        min_pixels=processor.size["shortest_edge"],
        max_pixels=min(
            processor.size["longest_edge"], 1280 * (processor.patch_size * processor.merge_size) ** 2
        ),
        pad=False,
    )
    usual = find_format(reply_format, None)
    if isinstance(model, Qwen3) or usual.coordinates.kind == "normalised":
        coordinates = CoordinateSystem(kind="normalised")
    else:
        coordinates = CoordinateSystem(
            kind="resized",
            factor=images.factor_px,
            min_pixels=images.min_pixels,
            max_pixels=images.max_pixels,
        )
    return ModelBundle(
        model=model,
        tokenizer=tokenizer,
        images=images,
        coordinates=coordinates,
        pictures_first=False,
        system=system_prompt(coordinates) if reply_format == OURS else usual.system,
        reply_format=reply_format,
    )


def _tiny_images(config: TinyConfig) -> ImageSettings:
    return ImageSettings(
        patch_px=config.patch_px,
        merge=config.merge,
        temporal=1,
        mean=(_TINY_MEAN, _TINY_MEAN, _TINY_MEAN),
        std=(_TINY_STD, _TINY_STD, _TINY_STD),
        min_pixels=(config.patch_px * config.merge) ** 2,
        max_pixels=config.max_side_px**2,
        pad=True,
    )


def _processor(bundle: ModelBundle) -> Any:
    """The stock processor that takes pictures and messages as this bundle does (pictures already padded)."""
    require_torchvision()
    from transformers import (
        Qwen2_5_VLProcessor,
        Qwen2VLImageProcessor,
        Qwen2VLVideoProcessor,
        Qwen3VLProcessor,
        Qwen3VLVideoProcessor,
    )

    images = bundle.images
    settings: dict[str, Any] = {
        "patch_size": images.patch_px,
        "merge_size": images.merge,
        "temporal_patch_size": images.temporal,
        "image_mean": list(images.mean),
        "image_std": list(images.std),
        "size": {"shortest_edge": images.min_pixels, "longest_edge": images.max_pixels},
    }
    qwen3 = isinstance(bundle.model, Qwen3)
    processor = Qwen3VLProcessor if qwen3 else Qwen2_5_VLProcessor
    video = Qwen3VLVideoProcessor if qwen3 else Qwen2VLVideoProcessor
    template = getattr(bundle.tokenizer, "chat_template", None) or CHAT_TEMPLATE
    return processor(
        image_processor=Qwen2VLImageProcessor(**settings),
        tokenizer=bundle.tokenizer,
        video_processor=video(**settings),
        chat_template=template,
    )
