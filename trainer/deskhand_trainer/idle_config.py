"""Settings that nothing would come of beside others: a config that is told them is refused."""

from __future__ import annotations

from collections.abc import Iterable, Set

_ALONE = ("attempts", "curate", "success_band", "stop_below")
_REWARDS = ("process_weight", "environment_weight", "information_weight", "gate", "shaping")
"""What is earned beside the outcome, and when it counts."""
_PREPARED = (
    *("skip_overlong", "skip_void", "keep_spread", "entropy_quantile", "covariance_clip"),
    *("entropy_smoothing", "importance_cap"),
)
"""What becomes of the policy's own turns before they are learned from."""
_IDLE = {
    "recorded": _ALONE,
    "self_play": (*_ALONE, "group_size"),
    "cloning": (
        *(*_ALONE, "branches", "replay", "self_imitation", "shuffled_rewards"),
        *(*_REWARDS, *_PREPARED),
    ),
}
"""What says how the policy plays, or what becomes of that, by episodes that are others'."""
_RANKING = {"keep_spread", "covariance_clip"}
"""What goes by all that was earned where nothing else of learning does."""
_COMPARED = ("advantage", "normalisation")
"""How much better than expected a turn was."""


def refuse_idle_settings(told: Set[str], *, algorithm: str, rollouts: str, advantage: str) -> None:
    """
    Args:
        told: settings that have another value than their default.
        algorithm, rollouts, advantage: of the config.

    Raises:
        ValueError: one would do nothing, or undo another; names it.
    """
    elsewhere = "cloning" if algorithm == "cloning" else rollouts
    if idle := _named(_IDLE.get(elsewhere, ()), told):
        raise ValueError(
            f"{idle}: for what the policy plays alone in sandboxes, and {elsewhere} episodes are not "
            f"that: leave {idle} out"
        )
    if algorithm == "rejection" and not told & _RANKING and (idle := _named(_REWARDS, told)):
        raise ValueError(
            f"{idle}: rejection imitates what the outcome alone chooses: leave {idle} out, or set "
            "keep_spread below 1, which goes by all rewards"
        )
    imitates = algorithm in ("rejection", "cloning")
    if imitates and "covariance_clip" not in told and (idle := _named(_COMPARED, told)):
        raise ValueError(
            f"{idle}: {algorithm} imitates whole episodes, whatever was to be expected of their turns: leave "
            f"{idle} out"
        )
    if told >= {"curate", "success_band"}:
        raise ValueError(
            "curate and success_band each say which tasks get fewer episodes: leave one of them out"
        )
    if "episode_weight" in told and advantage != "step_episode":
        raise ValueError(
            f"episode_weight: advantage {advantage!r} weighs no episode beside its turns: leave it out, or "
            "set advantage=step_episode"
        )
    if "scale_by_clipping_bias" in told and algorithm != "ppo":
        raise ValueError(f"scale_by_clipping_bias: algorithm {algorithm!r} clips nothing: leave it out")
    if "minimum_turns" in told and rollouts != "stream":
        raise ValueError(
            f"minimum_turns: {rollouts} rollouts are waited for whole: leave it out, or set rollouts=stream"
        )


def _named(settings: Iterable[str], told: Set[str]) -> str:
    return " and ".join(name for name in settings if name in told)
