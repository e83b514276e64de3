"""Where a run's model learns, as its config has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deskhand_agent.precision import Device, device_named
from deskhand_trainer.errors import ConfigError

if TYPE_CHECKING:
    import torch


def learning_device(choice: Device) -> torch.device:
    """The device that a config's field `device` comes to here; see `device_named`.

    Raises:
        ConfigError: a GPU is asked for, and PyTorch finds none.
    """
    try:
        return device_named(choice)
    except ValueError as error:
        raise ConfigError(f"field 'device': {error}", "device") from error
