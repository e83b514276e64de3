"""How far an update may go is said for one kind of ratio: what suits one does not suit another."""

from __future__ import annotations

from collections.abc import Mapping

from deskhand_trainer.errors import ConfigError


def refuse_borrowed_clip(asked: Mapping[str, object], *, path: str = "") -> None:
    """
    Args:
        asked: settings of a PPO run as somebody asks for it; those left out keep their defaults.
        path: where in a larger tree they stand ("ppo.").

    Raises:
        ConfigError: it is to clip a geometric mean, and by an ε that nobody named for it.
    """
    if asked.get("ratio") != "turn_geometric" or asked.get("algorithm", "ppo") != "ppo":
        return
    unsaid = [name for name in ("clip_low", "clip_high") if name not in asked]
    if unsaid:
        raise ConfigError(
            f"{unsaid[0]}: the ε where none is named are for ratios of tokens, and ratio 'turn_geometric' is "
            "a turn's geometric mean, which moves far less: set clip_low and clip_high with it (GSPO, "
            "arXiv:2507.18071: 0.0003 and 0.0004; the preset st-ppo: 0.2 and 0.2)",
            path + unsaid[0],
        )
