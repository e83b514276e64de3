"""Vision-language models: building, files, tokens, scoring, serving. Needs the "vlm" extra; import lazily."""

from transformers.utils.logging import disable_progress_bar

from deskhand_agent.models.torchvision_gap import prepare_torchvision

prepare_torchvision()  # before any module here imports transformers' processors
disable_progress_bar()  # a bar per file written would cut through the platform's own progress
