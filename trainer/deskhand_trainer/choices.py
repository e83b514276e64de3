"""Choices a config names; apart from the maths, so that reading a config loads no torch."""

from __future__ import annotations

from typing import Literal, TypeAlias

Aggregation: TypeAlias = Literal["token", "turn", "trajectory"]
"""What the loss is the mean over."""

Normalisation: TypeAlias = Literal["none", "batch", "group"]
"""What advantages are centred and scaled by."""

Rollouts: TypeAlias = Literal["batch", "stream", "recorded", "self_play"]
"""Where episodes come from: a batch that everybody waits for; a stream that goes on while the policy learns,
by older weights, for which `importance_cap` corrects (DART); recorded demonstrations, a turn's own reward
being how near it came to the expert's (UI-S1); or both sides of the tasks' games (SPIRAL)."""
NOT_STORED: tuple[Rollouts, ...] = ("recorded", "self_play")
"""Of these the store holds no episodes."""

ProcessForm: TypeAlias = Literal["centred", "potential"]
"""How a process reward model pays: by scores about their mean, capped, or by differences of state values."""

AdvantageKind: TypeAlias = Literal[
    "turn", "token", "bilevel", "return", "grpo", "rloo", "rebn", "step_episode", "archer"
]
"""How much better than expected: by a critic over turns, tokens or both; or without one, by the return as it
is, by other episodes of the group (GRPO, RLOO) and their turns of the same number (UI-S1), by all turns of
the batch (ReBN), or by a critic of its own that learns from replayed turns (ArCHer). γ discounts by turns;
with "token" by reply tokens, with "bilevel" by turns and again within them."""

CriticKind: TypeAlias = Literal["head", "shared", "separate"]
"""What the critic of `BY_CRITIC` is: a head on the policy's states, which it leaves as they are, or through
which it teaches the policy's model too; or a head on a model of its own, a copy of the policy as it began
(VC-PPO, VAPO)."""

Truncation: TypeAlias = Literal["bootstrap", "end"]
"""What follows an episode that its turn or time limit cut off: V of its last state, or nothing. "end" suits a
limit that belongs to the task (Pardo et al., ICML 2018): else to run into it costs little. Whose verdict paid
has ended either way: V foretells it, and to go on would be worth more than to finish."""

BY_CRITIC: tuple[AdvantageKind, ...] = ("turn", "token", "bilevel")
BY_TOKEN: tuple[AdvantageKind, ...] = ("token", "bilevel")
"""The rest give all tokens of a turn the same."""
BY_GROUP: tuple[AdvantageKind, ...] = ("grpo", "rloo", "step_episode")
"""Of a group that all went alike they are 0."""
