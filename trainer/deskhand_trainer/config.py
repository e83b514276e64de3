"""What each kind of run can be told: one frozen record per kind, read by `parse_config`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from deskhand_agent.memory import Screens, Strategy
from deskhand_agent.precision import Device, Precision
from deskhand_trainer.base.config import PretrainConfig
from deskhand_trainer.choices import (
    BY_CRITIC,
    BY_GROUP,
    BY_TOKEN,
    NOT_STORED,
    AdvantageKind,
    Aggregation,
    CriticKind,
    Normalisation,
    ProcessForm,
    Rollouts,
    Truncation,
)
from deskhand_trainer.config_parsing import bounds, changed, parse_config
from deskhand_trainer.curriculum_config import CurriculumConfig, refuse_horizons, refuse_stages
from deskhand_trainer.episode_counts import refuse_counts
from deskhand_trainer.idle_config import refuse_idle_settings
from deskhand_trainer.outcome_config import OutcomeConfig
from deskhand_trainer.playing_config import (
    DEMO_TASK,
    VOID_LIMIT,
    CollectConfig,
    EvaluateConfig,
    refuse_servers,
    refuse_user,
)
from deskhand_trainer.preferences.config import PreferenceConfig
from deskhand_trainer.prm.config import LabelConfig, ScoreConfig
from deskhand_trainer.sft.config import SftConfig
from deskhand_trainer.shaping_config import ShapingConfig
from deskhand_trainer.value_config import ValuePretrainingConfig

__all__ = [
    "CollectConfig",
    "EvaluateConfig",
    "LabelConfig",
    "OutcomeConfig",
    "PpoConfig",
    "PreferenceConfig",
    "PretrainConfig",
    "ScoreConfig",
    "SftConfig",
    "ShapingConfig",
    "ValuePretrainingConfig",
    "parse_config",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class PpoConfig:
    """The online loop, and the arms that stand beside it at equal compute."""

    tasks: tuple[str, ...] = (DEMO_TASK,)
    unproven: bool = False
    """Also tasks that nothing is known to solve."""
    probe: bool = False
    """Of held-out tasks alone: how fast they are learned. What comes out is measured and nothing else: no run
    and no round starts from it."""
    screens: Screens | None = None
    """What the policy is shown of a screen, from now on; None: what it was (a fresh one: the picture)."""
    tree_bytes: int | None = field(default=None, metadata=bounds(0, 10_000_000))
    """Most bytes of a tree among `screens`, from now on; 0: all; None: what it was (a fresh one: 8192)."""
    screenshots: int | None = field(default=None, metadata=bounds(1, 64))
    """How many of the latest screens it is shown whole, from now on; None: what it was (a fresh one: 1)."""
    memory: Strategy | None = None
    """What it is shown in place of turns no longer shown; None: as it was (fresh: "window", or "summary")."""
    summary_after: int | None = field(default=None, metadata=bounds(0, 1000))
    """Turns after which it is asked for a summary, a note or changes of its notes, learned like a turn and
    shown in their place, from now on; 0: no more; None: what it was (a fresh one: 0)."""
    summary_tokens: int | None = field(default=None, metadata=bounds(1, 4096))
    """Longest such writing, from now on; None: what it was (a fresh one: 128)."""
    notes_chars: int | None = field(default=None, metadata=bounds(0, 1_000_000))
    """Most characters of notes it keeps, from now on; None: what it was (a fresh one: 2000)."""
    notebook: bool = False
    """What it writes in an episode is told to later ones at the same site; never where it is measured."""
    text_bytes: int | None = field(default=None, metadata=bounds(0, 10_000_000))
    """Most bytes, so tokens, of text in a prompt from now on; 0: no bound; None: what it was (fresh: 0)."""
    plan_tokens: int | None = field(default=None, metadata=bounds(0, 4096))
    """Longest plan, from now on: it says what to do next, and a frozen executor does it (AgentFlow); 0: it
    acts itself; None: what it was (a fresh one: 0)."""
    executor: str = ""
    """Id of who carries plans out; none: who did before, else the policy that the run begins with."""
    algorithm: Literal["ppo", "reinforce", "rejection", "cloning"] = "ppo"
    """"reinforce": no ratio, and none to correct `epochs` above 1; "rejection": clone the policy's own
    successes; "cloning": clone the oracle's episodes."""
    advantage: AdvantageKind = "turn"
    ratio: Literal["token", "turn_product", "turn_geometric"] = "turn_product"
    aggregation: Aggregation = "turn"
    normalisation: Normalisation = "batch"
    """Advantages of groups (GRPO, RLOO, UI-S1) want "none"; they are refused with "batch"."""
    episode_weight: float = field(default=1.0, metadata=bounds(0, 1000))
    """ω of advantage "step_episode": what an episode counts beside its turns (UI-S1)."""
    clip_low: float = field(default=0.2, metadata=bounds(0, 1))
    clip_high: float = field(default=0.28, metadata=bounds(0, 10))
    """ε of whichever `ratio` it is. A geometric one wants its own (GSPO: 3e-4, 4e-4; st-ppo: .2, .2)."""
    dual_clip: float | None = field(default=None, metadata=bounds(1.0001))
    """What is bad counts no more than so many times (c of dual-clip PPO); None: however much."""
    scale_by_clipping_bias: bool = False
    """Divide the policy's gradient by the norm of what the clip takes from it, where that is above 1 (S-PPO,
    ST-PPO)."""
    importance_cap: float | None = field(default=None, metadata=bounds(0.01))
    """Weigh by the trainer's over the engine's probability, up to so much (TIS); None: nothing is weighed. On
    turns of older weights REINFORCE needs it, for it has no ratio."""
    entropy_quantile: float = field(default=0.0, metadata=bounds(0, 0.99))
    """Only turns of a mean token entropy at or above this quantile are in the policy loss (DART: .2)."""
    covariance_clip: float = field(default=0.0, metadata=bounds(0, 0.5))
    """Share of the tokens left out of the policy loss: those whose probability goes most with their advantage
    (Clip-Cov: .0002; SPEAR)."""
    critic: CriticKind = "head"
    """"separate": twice the memory and time of one that is a "head"; `critic_lr` and the rate of value
    pretraining then want to be about as low as `lr`."""
    value_coef: float = field(default=0.5, metadata=bounds(0))
    """Weight of the value loss beside the policy's where the critic is "shared"."""
    critic_warmup: int = field(default=0, metadata=bounds(0))
    """First iterations in which the critic alone learns, after value pretraining; the policy plays on as it
    is."""
    value_clip: float | None = field(default=0.2, metadata=bounds(0))
    """None: plain squared error."""
    gamma: float = field(default=1.0, metadata=bounds(0, 1))
    """Discount per turn, of what GRPO and RLOO compare too; with advantage "token" per reply token, and with
    "bilevel" also within a turn."""
    truncation: Truncation = "bootstrap"
    lambda_policy: float | Literal["adaptive"] = field(default=0.95, metadata=bounds(0, 1))
    """"adaptive": 1 − 1/(α·l) with l in turns (α = 1) or tokens (α = .05) by `advantage`."""
    lambda_critic: float = field(default=1.0, metadata=bounds(0, 1))
    turn_critic_replay: int = field(default=1024, metadata=bounds(0))
    """Turns of iterations before that the critic of "archer" learns from again (ArCHer's replay)."""
    turn_critic_steps: int = field(default=200, metadata=bounds(1, 100_000))
    """Its optimizer steps in an iteration."""
    turn_critic_polyak: float = field(default=0.02, metadata=bounds(0.0001, 1))
    """How far its target networks follow at each step (τ)."""
    epochs: int = field(default=3, metadata=bounds(1, 100))
    minibatch: int = field(default=128, metadata=bounds(1))
    """Turns per optimizer step."""
    microbatch: int = field(default=32, metadata=bounds(1))
    """Turns per forward pass; changes memory, never the gradient."""
    packing: bool = True
    """Turns of a forward pass stand one after another, and nothing is computed for padding; changes time and
    memory, never the gradient."""
    freeze: Literal["nothing", "vision"] = "nothing"
    """"vision": the vision tower stays as it is, and each picture is encoded once."""
    features_mb: int = field(default=1024, metadata=bounds(0))
    """MiB of what a vision tower that is not trained made of pictures, kept; as much again with `kl_coef`."""
    checkpointing: bool = False
    """Compute what is within layers again for the gradient: less memory, more time, the same numbers."""
    compile: bool = False
    """Join what is around attention in the language model by `torch.compile`: an update takes a little less
    time, after half a minute for compiling; its numbers are the same but for rounding. On the processor, in
    one process, in float32; wants a C++ compiler."""
    lora_rank: int = field(default=0, metadata=bounds(0, 4096))
    """Rank of adapters on the language model that are trained in its place; 0: all weights are trained. What
    is kept is the plain model they come to. `lr` has to be some ten times as high."""
    episodes_per_iteration: int = field(default=128, metadata=bounds(1))
    group_size: int = field(default=1, metadata=bounds(1))
    """Episodes of one start state: the group of GRPO and RLOO. 1: all of a task's episodes are a group."""
    keep_spread: float = field(default=1.0, metadata=bounds(0.01, 1))
    """Share of the groups, rounded up, that is in the policy loss: those whose returns differ most (StarPO-S:
    .25). An only group always is."""
    skip_overlong: bool = False
    """Episodes that ran into the turn limit are in neither the policy loss nor the statistics (Mini-o3)."""
    skip_void: bool = False
    """The same for episodes with a turn that held no action (SimpleTIR)."""
    replay: int = field(default=0, metadata=bounds(0, 1000))
    """Successes kept of each task, to take the place of one episode of a group that all failed (ARPO: 8)."""
    self_imitation: int = field(default=0, metadata=bounds(0, 1000))
    """Successes kept of each task, to be learned again beside every iteration's own episodes (SPEAR)."""
    self_imitation_warmup: int = field(default=50, metadata=bounds(1))
    """Iterations until they count fully."""
    self_imitation_ratio: Literal["drawn", "update"] = "drawn"
    """Whose probability the clip holds them to: the policy's that drew them, so that none gets likelier than
    once the clip allows, or the policy's before each update."""
    attempts: int = field(default=1, metadata=bounds(1, 16))
    """At the task within a rollout, each from its start state: "Try again." after one that failed (UFO)."""
    branches: int = field(default=0, metadata=bounds(0, 64))
    """Episodes more for each rollout, at most, that leave it where the policy was unsure (ARPO, AEPO)."""
    branch_rise: float = field(default=0.3, metadata=bounds(-100, 100))
    """How far a reply's mean token entropy lies above the first one's where a branch may leave, in nats."""
    branches_in_a_row: int = field(default=2, metadata=bounds(1))
    """Turns one after another that may be branched at."""
    progress_bonus: float = field(default=0.0, metadata=bounds(0, 100))
    """Weight of what a later attempt scored above a failed first one (SCoRe's α). Above 0 a turn earns what
    its own attempt does, by degrees where the task pays so."""
    curate: bool = False
    """Fewer episodes of tasks that mostly succeed, and none longer than their longest success (DART)."""
    success_band: tuple[float, float] | None = field(default=None, metadata=bounds(0, 1))
    """Fewer episodes of tasks whose last success lies outside of this, where others lie inside (CRAFT-GUI);
    None: all alike."""
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    turn_limits: tuple[int, ...] = field(default=(), metadata=bounds(1))
    """Turn limits of rollouts, one after another, where they are below the tasks' own (ScalingInter-RL)."""
    turn_limit_every: int = field(default=100, metadata=bounds(1))
    """Iterations each of them holds; the last one, which has to begin within `iterations`, stays."""
    lr: float = field(default=5e-4, metadata=bounds(0, 1))
    """Actor's peak rate."""
    lr_warmup_iterations: int = field(default=3, metadata=bounds(0))
    lr_final: float = field(default=0.5, metadata=bounds(0, 1))
    """Share of the peak the linear decay ends at."""
    critic_lr: float = field(default=1e-3, metadata=bounds(0, 1))
    betas: tuple[float, float] = field(default=(0.9, 0.99), metadata=bounds(0, 0.99999))
    weight_decay: float = field(default=0.0, metadata=bounds(0, 1))
    max_grad_norm: float = field(default=1.0, metadata=bounds(0))
    critic_max_grad_norm: float = field(default=1.0, metadata=bounds(0))
    max_skipped_steps: int = field(default=20, metadata=bounds(1))
    """Steps in a row without a finite gradient, each left out, that end the run."""
    entropy_coef: float = field(default=0.0, metadata=bounds(0))
    entropy_smoothing: float = field(default=0.0, metadata=bounds(0))
    """Weight of a penalty on mean token entropy outside `entropy_band` (EPO)."""
    entropy_band: tuple[float, float] = field(default=(0.8, 1.2), metadata=bounds(0))
    """κ_l and κ_r, times the mean entropy of the iterations before."""
    kl_coef: float = field(default=0.0, metadata=bounds(0))
    """Weight of k3 KL to the policy the run began with."""
    kl_on: Literal["all", "first_attempt"] = "all"
    """Turns it holds: with "first_attempt" only what follows a failed attempt is free to change (SCoRe)."""
    kl_iterations: int = field(default=0, metadata=bounds(0))
    """First iterations, which it holds for; 0: all of them. SCoRe's second stage frees the first attempt."""
    outcome: OutcomeConfig = field(default_factory=OutcomeConfig)
    process_weight: float = field(default=0.0, metadata=bounds(0))
    process_cap: float = field(default=0.3, metadata=bounds(0, 0.499))
    process_form: ProcessForm = "centred"
    """What of the process reward model is paid: a step's score, "centred" on the batch's mean and capped, or
    the "potential" difference γΦ(s') − Φ(s) of its values, which leaves the best policy as it is."""
    scoring_s: float = field(default=120.0, metadata=bounds(0.01))
    """Longest the process reward model may take for an iteration's episodes; later they go without it."""
    stop_below: float | None = field(default=None, metadata=bounds(0, 1))
    """Process score below which a step is lost; None: no episode is ended for it."""
    stop_after: int = field(default=3, metadata=bounds(1))
    """Lost steps in a row that end an episode (ActiveVLN)."""
    gate: float | None = field(default=None, metadata=bounds(0, 1))
    """Least outcome at which the rewards of single steps count (G-RA); None: they always do."""
    environment_weight: float = field(default=0.0, metadata=bounds(0, 1000))
    """Weight of the environment's own rewards for moves (Sokoban's); 0 where they repeat the outcome."""
    information_weight: float = field(default=0.0, metadata=bounds(0, 1000))
    """Weight of how much likelier a turn made the right answer, where the task has it written down (IGPO)."""
    shaping: ShapingConfig = field(default_factory=ShapingConfig)
    shuffled_rewards: bool = False
    """Sabotage control: an iteration's outcomes (and attempts' scores) are dealt out; other rewards stay."""
    value_pretraining: ValuePretrainingConfig = field(default_factory=ValuePretrainingConfig)
    temperature: float = field(default=1.0, metadata=bounds(0.05, 10))
    max_tokens: int = field(default=24, metadata=bounds(1, 4096))
    void_limit: int = field(default=VOID_LIMIT, metadata=bounds(1))
    """Replies in a row without an action that end an episode."""
    decision_s: float = field(default=120.0, metadata=bounds(120))
    """Longest wait for one reply, others of its batch included."""
    concurrency: int = field(default=16, metadata=bounds(1, 512))
    """Episodes at a time."""
    rollouts: Rollouts = "batch"
    patches: int = field(default=1, metadata=bounds(0, 1000))
    """Turns of an episode beside a recorded one in which the expert's action may take the policy's place."""
    max_staleness: int = field(default=2, metadata=bounds(1, 64))
    """Updates that the oldest weights of an episode may be behind; beyond it is left out, and counted."""
    minimum_turns: int = field(default=0, metadata=bounds(0))
    """Turns of finished episodes, none too old, an iteration from the stream begins with, however few those
    are; 0: with `episodes_per_iteration`. Smaller updates are more: give `max_staleness` as much more."""
    iterations: int = field(default=50, metadata=bounds(1))
    """The learning-rate schedule ends here."""
    minutes: float = field(default=15.0, metadata=bounds(0))
    """Wall clock of value pretraining and loop; the loop also ends when it is spent, and the schedule
    follows whichever limit is nearest. 0: no limit."""
    environment_steps: int = field(default=0, metadata=bounds(0))
    """Turns of rollouts after which the loop ends, value pretraining's among them; 0: no limit."""
    solved: float | None = field(default=None, metadata=bounds(0, 1))
    """Validation success, the mean of sampled and greedy, at which the loop ends early; None: it does not."""
    evaluate_every: int = field(default=10, metadata=bounds(1))
    """Iterations between evaluations on validation seeds."""
    validation_episodes: int = field(default=64, metadata=bounds(1))
    """Per task and evaluation; greedy, it chooses the checkpoint that is kept."""
    checkpoint_every: int = field(default=1, metadata=bounds(1))
    threads: int = field(default=2, metadata=bounds(1, 1024))
    """Micro-batches of an update computed at a time, each on a core of its own; 1 on a GPU."""
    engines: int = field(default=1, metadata=bounds(1, 64))
    """That draw the replies, a copy of the model each; with several, an update stops only one at a time."""
    engine: str = ""
    """http://HOST:PORT of a server that draws the replies by weights the run gives it, or of several, with
    commas between; none: this process draws."""
    device: Device = "auto"
    """Of learner and engine; "auto": the GPU where there is one."""
    precision: Precision = "auto"
    """Of multiplications; weights and moments are float32. "auto": bfloat16 on GPUs and for the learner on a
    processor with units for it (log-probabilities then differ by .01 or so, `logprob_gap`); else float32."""
    seed_offset: int = field(default=0, metadata=bounds(0))
    """Where in the train split's seeds to begin."""
    user: str = ""
    """https://HOST/v1 of an OpenAI-compatible endpoint that plays the user (MUA-RL); none: the task does."""
    user_model: str = ""
    """The name of its model."""
    seed: int = 0

    def __post_init__(self) -> None:
        refuse_user(self.user, self.user_model)
        refuse_servers(self.engine, self.engines)
        judged = self.outcome.by != "verifier"
        if self.algorithm == "cloning" and (self.rollouts != "batch" or judged):
            raise ValueError("cloning plays no episodes of the policy's own: leave rollouts and outcome out")
        if self.algorithm == "ppo" and self.advantage in BY_TOKEN and self.ratio != "token":
            raise ValueError(
                f"advantage {self.advantage!r} tells a turn's tokens apart, and ratio {self.ratio!r} takes "
                "them as one: set ratio=token too, or an advantage of whole turns"
            )
        reads_v = self.by_critic or self.advantage == "archer" or self.process_form == "potential"
        if self.truncation == "end" and not reads_v:
            raise ValueError(
                f"truncation: algorithm {self.algorithm!r} with advantage {self.advantage!r} reads no V "
                "after an episode, which ends where it was cut off: leave truncation out"
            )
        scored = self.process_weight > 0
        by_tokens = self.by_critic and self.advantage == "token" and self.gamma < 1
        if by_tokens and (scored or self.shaping.in_use):
            raise ValueError(
                f"{'process_weight' if scored else 'shaping'}: process rewards and penalties are discounted "
                "by turns, and advantage 'token' discounts by tokens: set gamma=1, or advantage='turn'"
            )
        asked = (("critic", self.critic != "head"), ("critic_warmup", self.critic_warmup > 0))
        of_critic = [name for name, given in asked if given]
        if of_critic and not self.by_critic:
            raise ValueError(
                f"{of_critic[0]}: algorithm {self.algorithm!r} with advantage {self.advantage!r} trains no "
                f"such critic: leave {' and '.join(of_critic)} out"
            )
        if self.critic_warmup >= self.iterations:
            raise ValueError(
                f"critic_warmup {self.critic_warmup} leaves the policy none of {self.iterations} iterations: "
                "lower it, or raise iterations"
            )
        remembers = bool(self.replay or self.self_imitation) or self.advantage == "archer"
        whose, critic = "cloning" if self.algorithm == "cloning" else self.rollouts, self.by_critic
        refuse_stages(self.curriculum, whose, critic=critic, remembers=remembers, skips_void=self.skip_void)
        refuse_idle_settings(
            changed(self), algorithm=self.algorithm, rollouts=self.rollouts, advantage=self.advantage
        )
        before, every = self.curriculum.iterations, self.turn_limit_every
        refuse_horizons(self.turn_limits, self.rollouts, after=before, every=every, most=self.iterations)
        if (remembers or judged) and self.rollouts in NOT_STORED:
            raise ValueError(
                f"{self.rollouts} episodes are in no store: leave replay and self_imitation at 0, and the "
                "advantage 'archer' and judges of the outcome out"
            )
        if self.shuffled_rewards and (self.replay or self.self_imitation):
            raise ValueError(
                "shuffled_rewards deals out the outcomes of an iteration, and successes kept of earlier ones "
                "have their own: leave replay and self_imitation at 0"
            )
        if self.branches and (self.rollouts != "batch" or self.attempts > 1 or self.replay):
            raise ValueError(
                "branches leave episodes of a batch, of one attempt, that all stay: leave rollouts, attempts "
                "and replay as they are"
            )
        older = self.rollouts == "stream" or self.replay
        if self.algorithm == "reinforce" and older and self.importance_cap is None:
            raise ValueError(
                "importance_cap: turns of a stream or of replay are by older weights, and reinforce has no "
                "ratio that corrects for them: set importance_cap (2 is usual)"
            )
        fitting = self.value_pretraining
        if fitting.enabled and fitting.fitted_to != "rollouts" and not self.fits_value:
            raise ValueError(
                f"value_pretraining: algorithm {self.algorithm!r} with advantage {self.advantage!r} fits no "
                "critic before it begins: leave fitted_to out"
            )
        if self.advantage in BY_GROUP and self.normalisation == "batch":
            raise ValueError(
                f"normalisation: with advantage {self.advantage!r} a group that all went alike teaches "
                "nothing, and less the batch's mean it would: set normalisation=none"
            )
        refuse_counts(self)

    @property
    def compares_groups(self) -> bool:
        """Whether what an episode teaches hangs on others of its group: one alone teaches nothing."""
        return self.advantage in BY_GROUP or self.normalisation == "group" or self.keep_spread < 1

    @property
    def by_critic(self) -> bool:
        """Whether a critic says what was to be expected and is trained; where replies are cloned, none is."""
        return self.algorithm in ("ppo", "reinforce") and self.advantage in BY_CRITIC

    @property
    def fits_value(self) -> bool:
        """Whether the critic is fitted before the loop begins, as PPO's is; REINFORCE's says nothing then."""
        return self.value_pretraining.enabled and self.algorithm == "ppo" and self.by_critic

    @property
    def by_store(self) -> bool:
        """Whether it learns from episodes of the store, too."""
        fitted_to = self.value_pretraining.fitted_to
        return self.beside_experts or (self.fits_value and fitted_to != "rollouts")

    @property
    def beside_experts(self) -> bool:
        """Whether it needs demonstrations, to play beside them."""
        return self.rollouts == "recorded" or self.curriculum.iterations > 0
