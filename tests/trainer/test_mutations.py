"""The tests of the pure functions notice when the code is wrong: each function is broken once, and they fail.

A line each: module, what stands there, what is put in its place. The module's own test file has to notice.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parents[1] / "trainer" / "deskhand_trainer"

MUTATIONS = {
    "bilevel_gae keeps the turns' advantages": ("advantages", "inside[last] = ends", "pass"),
    "bilevel_gae ends turns by their index": (
        "advantages",
        "torch.stack([whose, written.of(turns)])",
        "torch.stack([whose, whose])",
    ),
    "bilevel_gae sums a turn's rewards": (
        "advantages",
        "index_add(0, turn, written.moved(rewards))",
        "index_add(0, turn, written.of(rewards))",
    ),
    "group_relative": ("baselines", "centred / std.clamp(min=EPSILON)", "centred"),
    "group_relative leaves out": (
        "baselines",
        "torch.where(kept > 0, returns, 0.0), index",
        "returns, index",
    ),
    "leave_one_out": ("baselines", "(_sums(own, index)[index] - own)", "(_sums(own, index)[index])"),
    "step_and_episode of the same turn": ("baselines", "kept & mask[:, turn])", "kept)"),
    "step_and_episode weighs": ("baselines", "weight * whole.unsqueeze(-1)", "whole.unsqueeze(-1)"),
    "compared with what was usual before": ("self_play", "baseline=new[e.task_id]", "baseline=0.0"),
    "compared decays": ("self_play", "DECAY * new[episode.task_id]", "new[episode.task_id]"),
    "archer's Q asks a target": (
        "archer",
        'self.targets["v"](turns.following)',
        'self.nets["v"](turns.following)',
    ),
    "archer's V asks a target": ("archer", 'self.targets["q"](turns.after)', 'self.nets["q"](turns.after)'),
    "archer's targets": ("archer", "torch.where(goes_on, following, 0.0)", "following"),
    "archer's targets follow": ("archer", "target.lerp_(net, share)", "target.lerp_(net, 1 - share)"),
    "archer's newest": ("archer", "if room < 0:", "if room <= 0:"),
    "archer's newest in order": ("archer", "tuple(reversed(kept))", "tuple(kept)"),
    "archer's advantages": (
        "archer",
        'self.nets["q"](turns.after) - self',
        'self.nets["q"](turns.after) + self',
    ),
    "archer's next turn": ("archer", "range(rows + 1, rows + turns)", "range(rows, rows + turns - 1)"),
    "shared_advantages": ("branches", "advantages[rows].mean(0)", "advantages[rows].sum(0)"),
    "shared_advantages of those that count": (
        "branches",
        "for row, keep in held if keep]",
        "for row, _ in held]",
    ),
    "repeated_turns": ("branches", "for row, _ in others]", "for row, _ in others[1:]]"),
    "repeated_turns by those that count": ("branches", "(not each[2], each[0]", "(each[2], each[0]"),
    "repeated_turns in the episode that was left": ("branches", "each[0].shared_turns > 0", "True"),
    "excess_length": ("shaping", "max(0, turn.tokens - shaping.free_tokens)", "turn.tokens"),
    "conduct_of what was mended": ("shaping", "bool(step.decision.repairs)", "False"),
    "repeats within an attempt": ("shaping", "and not told_again(before)", ""),
    "repeats on the same screen": ("shaping", "and _same_screen(before, step)", ""),
    "void_turn": ("shaping", "float(turn.void)", "float(turn.mended)"),
    "mended_format": ("shaping", "float(turn.mended)", "float(turn.repeated)"),
    "repetition": ("shaping", "float(turn.repeated)", "float(turn.mended)"),
    "beside strays so often": ("semi_online", "patches > rules.patches", "patches >= rules.patches"),
    "beside of all the expert's turns": (
        "semi_online",
        "patches) / len(expert.steps)",
        "patches) / len(steps)",
    ),
    "beside shows the expert's action": (
        "semi_online",
        "decision=replace(step.decision, actions=right,",
        "decision=replace(step.decision,",
    ),
    "alike in all but the point": ("semi_online", "and said == _moved(expert, said)", ""),
    "alike by the way of a scroll": (
        "semi_online",
        "== (_sign(expert.dx_px), _sign(expert.dy_px))",
        "== (_sign(said.dx_px), _sign(expert.dy_px))",
    ),
    "alike from where a drag begins": ("semi_online", "_near(said.path[0], expert.path[0], near_px) and", ""),
    "alike to where a drag ends": (
        "semi_online",
        "said.path[-1], expert.path[-1]",
        "said.path[0], expert.path[0]",
    ),
    "alike but for blanks": ("semi_online", "said.text.strip() == expert", "said.text == expert"),
    "nearness": ("semi_online", "EXACT if alike else 0.0", "0.0 if alike else EXACT"),
    "return_batch_normalised": ("baselines", "kept.std(unbiased=False)", "kept.std()"),
    "dual clip": (
        "losses",
        "torch.maximum(kept, clip.dual * advantages)",
        "torch.minimum(kept, clip.dual * advantages)",
    ),
    "truncated_importance cap": ("losses", "return delta.exp().clamp(max=cap)", "return delta.exp()"),
    "truncated_importance length": ("losses", "else summed / lengths)", "else summed)"),
    "clipped_mass": ("losses", "torch.where(clipped, free, 0.0)", "free"),
    "widest_groups": ("filters", "descending=True", "descending=False"),
    "widest_groups rounds up": ("filters", "math.ceil(", "math.floor("),
    "high_entropy_turns": ("filters", "means >= least", "means > least"),
    "high_entropy_turns of what is left": ("filters", "torch.quantile(means[kept]", "torch.quantile(means"),
    "band_penalty": (
        "entropy",
        "torch.relu(low * mean - entropy)",
        "torch.relu(low * mean - entropy).detach()",
    ),
    "band_push": ("entropy", "return -float(slope)", "return float(slope)"),
    "replayed swaps failed groups alone": ("replay", "spread < SPREAD_BELOW and mean", "mean"),
    "replayed keeps the group": ("replay", "group_id=last.group_id, samples=old", "samples=old"),
    "low_covariance": ("filters", "covariance <= edge", "covariance >= -edge"),
    "low_covariance of centred numbers": ("filters", "kept.of(each) - kept.of(each).mean()", "kept.of(each)"),
    "LowScores counts steps in a row": ("early_stop", "< self._below else 0", "< self._below else self._low"),
    "warmed_up": ("self_imitation", "0.5 * (1 - math.cos", "0.5 * (1 + math.cos"),
    "imitated above what is usual": ("self_imitation", "if episode.outcome > middle", "if True"),
    "gains": ("information", "after - before for before, after", "before - after for before, after"),
    "informed": ("information", "0.0).sum(-1) / mask.sum(-1)", "0.0).sum(-1)"),
    "replayed goes on with who is next": ("replay", "waiting[last.task_id] = left - 1", "pass"),
    "successes make room": ("replay", "[-self.size :]", "[: self.size]"),
    "shares": ("curriculum", "records[task].success <= high", "records[task].success >= high"),
    "shares of what is out of reach": ("curriculum", "low <= records[task]", "0.0 <= records[task]"),
    "recorded": ("curriculum", "for won, turns in own if won", "for won, turns in own"),
    "stage_of": ("single_steps", "iteration < curriculum.format", "iteration <= curriculum.format"),
    "replied sees what came before": ("single_steps", "expert.steps[: screen.index]", "expert.steps"),
    "replied is paid by its stage": (
        "single_steps",
        'near if stage == "single_step"',
        'near if stage == "format"',
    ),
    "replied is one of a screen's": ("single_steps", "#{screen.number}", "#{screen.index}"),
    "to_learn of last attempts": ("imitation", "map(last_attempt, each)", "each"),
    "to_learn of the policy loss": ("imitation", "if turn.in_policy_loss", "if True"),
    "to_learn by what was earned": ("imitation", "(earned(turns),)", "(1.0,)"),
    "screen_at": ("single_steps", "(turn + place) % len", "turn % len"),
    "turn_limit": ("curriculum", "iteration) // every", "iteration + 1) // every"),
    "gate": ("rewards", "outcome >= rule.gate", "outcome > rule.gate"),
    "length_adaptive_lambda": ("advantages", "(1.0 - 1.0 / (alpha", "(1.0 - 2.0 / (alpha"),
    "length_adaptive_lambda clamp": ("advantages", ".clamp(min=0.0)", ""),
    "moved": ("written", "right=True) - 1", "right=False)"),
    "moved stays in its row": (
        "written",
        "earned = (place >= 0) & (whose ==",
        "earned = (place >= 0) | (whose ==",
    ),
    "discounted_sums carries on": ("written", "carry = summed[:, 0]", "carry = carry"),
    "discounted_sums decays": ("written", "c.unsqueeze(-1) ** (size - steps[:size])", "c.unsqueeze(-1)"),
    "token_gae carries the advantage": (
        "advantages",
        "flat(discounted_sums(deltas, _factor(gamma, lam)))",
        "flat(discounted_sums(deltas, lam))",
    ),
    "token_gae returns": (
        "advantages",
        "returns=written.spread(advantages + value)",
        "returns=written.spread(advantages)",
    ),
    "token_gae bootstrap": ("advantages", "following[ends] = after", "following[ends] = 0 * after"),
    "token_gae values": ("advantages", "torch.cat([values[1:], values[:1]])", "values"),
    "turn_gae": (
        "advantages",
        "return token_gae(rewards, values, mask, gamma=gamma, lam=lam, bootstrap=bootstrap)",
        "return token_gae(rewards, values, mask, gamma=gamma, lam=lam)",
    ),
    "decoupled_gae": ("advantages", "returns=critic.returns", "returns=policy.returns"),
    "monte_carlo_returns": (
        "advantages",
        "flat(discounted_sums(deltas, gamma))",
        "flat(discounted_sums(deltas, 1.0))",
    ),
    "spread_over_tokens": (
        "advantages",
        "torch.where(mask, per_turn.unsqueeze(-1), 0.0)",
        "per_turn.unsqueeze(-1).expand(mask.shape)",
    ),
    "token_weights token": ("losses", "divisor = per_turn.sum().expand", "divisor = per_turn.max().expand"),
    "token_weights turn": ("losses", "per_turn * (per_turn > 0).sum()", "per_turn * len(per_turn)"),
    "token_weights trajectory": ("losses", "divisor = whole * (per_turn", "divisor = 0 * whole + (per_turn"),
    "turn_weights token": ("losses", "return lengths / lengths.sum()", "return lengths / present.sum()"),
    "turn_weights turn": ("losses", "return present / present.sum()", "return lengths / present.sum()"),
    "turn_weights trajectory": ("losses", "(whole * (present", "(1 * (present"),
    "surrogate is pessimistic": ("losses", "torch.minimum(free, w.clamp", "torch.maximum(free, w.clamp"),
    "clip-higher": (
        "losses",
        "w.clamp(1.0 - clip.low, 1.0 + clip.high)",
        "w.clamp(1.0 - clip.low, 1.0 + clip.low)",
    ),
    "clipped is counted": (
        "losses",
        "(ratio > 1.0 + clip.high) & (advantages > 0)",
        "(ratio > 1.0 + clip.high)",
    ),
    "token_ppo": ("losses", "return _surrogate(_ratio(delta)", "return _surrogate(_ratio(-delta)"),
    "turn_ppo product": ("losses", "_ratio(delta.sum(-1)), torch", "_ratio(delta.mean(-1)), torch"),
    "turn_ppo geometric": ("losses", "_ratio(delta.sum(-1) / lengths)", "_ratio(delta.mean(-1))"),
    "ratios are bounded": ("losses", "clamp(min=0)", "clamp(min=0, max=0)"),
    "delta is masked first": (
        "losses",
        "torch.where(mask, logprobs - old_logprobs, 0.0)",
        "logprobs - old_logprobs",
    ),
    "reinforce": (
        "losses",
        "return -torch.where(mask, advantages, 0.0) *",
        "return torch.where(mask, advantages, 0.0) *",
    ),
    "clipped_value_loss": ("losses", "0.5 * torch.maximum(plain,", "0.5 * torch.minimum(plain,"),
    "kl_k3": (
        "losses",
        "return _ratio(log_ratio) - 1.0 - log_ratio",
        "return _ratio(log_ratio) - 1.0 + log_ratio",
    ),
    "entropy_of": ("losses", "torch.where(torch.isneginf(logp), 0.0, logp)", "logp"),
    "normalise batch": ("normalisation", "/ (kept.std(unbiased=False) + EPSILON)", "/ 1.0"),
    "normalise std": ("normalisation", "kept.std(unbiased=False)", "kept.std()"),
    "normalise group": ("normalisation", "counts, written.of(groups))", "counts, 0 * written.of(groups))"),
    "normalise group's std": ("normalisation", "/ counts.sum()).sqrt()", "/ counts.sum())"),
    "normalise by episode": ("normalisation", "else written.of(weights)", "else torch.ones_like(kept)"),
    "normalise without spread": ("normalisation", "if alike(kept)", "if len(kept) < 2"),
    "alike": ("normalisation", "ROUNDING * step", "0.0"),
    "group_relative of rounding": ("baselines", "_apart(returns, kept, index) & (std", "(std"),
    "leave_one_out of rounding": ("baselines", "& _apart(returns, kept, index), own", "& (others > 0), own"),
    "return_batch_normalised of rounding": ("baselines", "if alike(kept)", "if kept.numel() == 0"),
    "trajectory_dpo": ("preferences/losses", "-F.logsigmoid(beta", "F.logsigmoid(beta"),
    "refuel": ("preferences/losses", "/ eta - (returns", "* eta - (returns"),
    "trajectory_pairs by the last attempt": (
        "preferences/pairs",
        "last_attempt(good.samples)",
        "good.samples",
    ),
    "trajectory_pairs of one start": (
        "preferences/pairs",
        "return episode.task_id, episode.seed",
        "return episode.task_id, 0",
    ),
    "trajectory_pairs of a task": ("preferences/pairs", "<= limit", "< limit"),
    "parting_pairs better first": (
        "preferences/pairs",
        "key=lambda e: -e.outcome",
        "key=lambda e: e.outcome",
    ),
    "parting_pairs of one state": ("preferences/pairs", "or (turn and a.images != b.images)", ""),
    "parting_pairs after one prompt": ("preferences/pairs", "a.prompt_ids != b.prompt_ids or", ""),
    "partners of success and failure": ("preferences/pairs", "if unlike:", "if not unlike:"),
    "partners beside those a task has": ("preferences/pairs", "Counter(taken)", "Counter[str]()"),
    "in_turn": ("curriculum", "(k + 0.5) / count", "k / count"),
    "turn_limits": ("curriculum", "min(found) for", "max(found) for"),
    "usual": ("self_imitation", "fmean(outcomes) for", "max(outcomes) for"),
    "ran_over": ("filters", "is StopReason.TURN_LIMIT", "is not StopReason.TURN_LIMIT"),
    "earned": ("filters", 'dict(turn.reward_parts)["outcome"]', "turn.reward"),
    "in_policy_loss": ("filters", "not (config.skip_overlong and", "not (config.skip_void and"),
    "entropy_by_action": ("diagnostics", "setdefault(_kind(step), [])", 'setdefault("all", [])'),
    "rollout_metrics": ("diagnostics", "if s.reply_ids]", "if not s.reply_ids]"),
    "rollout_metrics of what was drawn": (
        "diagnostics",
        "**entropy_by_action(step for t in collected.trajectories for step in t.steps),",
        "",
    ),
    "iteration_metrics void turns": ("diagnostics", "void / sum(turns)", "void / len(turns)"),
    "iteration_metrics over turns": (
        "diagnostics",
        "e.stop_reason is StopReason.TURN_LIMIT for e",
        "e.stop_reason.truncated for e",
    ),
    "iteration_metrics doomed": ("diagnostics", "StopReason.DOOMED for e", "StopReason.TERMINATED for e"),
    "iteration_metrics learned": ("diagnostics", "sum(s.in_policy_loss for s", "sum(1 for s"),
    "iteration_metrics skipped": ("diagnostics", "+ batch.skipped_steps,", ","),
    "iteration_metrics entropy": ("diagnostics", '"entropy": report.entropy', '"entropy": 1.0'),
    "Tally epochs": (
        "tally",
        "def begin_epoch(self) -> None:",
        "def begin_epoch(self) -> None: return\n    def _(self):",
    ),
    "Tally ratios": ("tally", "self.ratios += ratio.numel()", "self.ratios += 1"),
    "Tally largest ratio": ("tally", "self.ratio_max = max(self.ratio_max, value)", "pass"),
    "Tally clipped": ("tally", "int(clipped.sum().item())", "int(clipped.any().item())"),
    "Tally drift": (
        "tally",
        "kl_k3(drawn_logprobs, logprobs, mask)",
        "kl_k3(logprobs, drawn_logprobs, mask)",
    ),
    "Tally drift by turns": ("tally", "int(mask.any(-1).sum().item())", "int(mask.sum().item())"),
    "Tally gap": ("tally", ".abs()[compared]", "[compared]"),
    "Tally entropy": ("tally", "entropy=self.entropy / steps", "entropy=self.entropy"),
    "entropy of what is learned": (
        "learner",
        "(rows.token_shares * torch.where(",
        "(rows.mask * torch.where(",
    ),
    "ratios of what is learned": ("learner", "counted = rows.policy_weights > 0", "counted = rows.mask"),
    "drift of what was drawn": (
        "learner",
        "logprobs, drawn, rows.mask & own,",
        "logprobs, drawn, rows.mask,",
    ),
    "take_up": ("checkpoints", "if apart:", "if not own:"),
    "what of a stream is learned from": ("streaming", "self.beyond = sorted(taken)", "self.beyond = []"),
    "penalty_cap": ("rewards", "else 2 * self.process_cap", "else self.process_cap"),
    "penalty_cap of potentials": ("rewards", "(1.0 - (self.process_weight if", "(1.0 - (self.process_cap if"),
    "penalty_cap alone": ("rewards", "return 0.5", "return 1.0"),
    "RewardRule's cap": ("rewards", "self.process_cap < 0.5:", "self.process_cap <= 0.5:"),
    "RewardRule's weight": ("rewards", "self.process_weight < 0:", "self.process_weight < -1:"),
    "RewardRule's potentials": ("rewards", "self.process_weight >= 1:", "self.process_weight > 1:"),
    "judged by turns": (
        "process_reward",
        "process_scores=tuple(next(scores) for _ in e.samples)",
        "process_scores=tuple(scores)",
    ),
    "judged by states": ("process_reward", 'if form == "centred":', "if True:"),
    "judged beyond a limit": ("process_reward", "else next(beyond)", "else 0.0"),
    "turn_rewards outcome": ("rewards", "attempts.get(h) or 0.0", "outcome"),
    "turn_rewards progress": ("rewards", "score - first for", "score for"),
    "turn_rewards centre": ("rewards", "(s - centre)", "s"),
    "capped_steps": ("rewards", "min(cap, max(-cap, total + amount))", "total + amount"),
    "penalties": ("rewards", "capped_steps(owed, cap=cap)", "owed"),
    "paid at each turn as at the last": ("rewards", "amount * gamma**turns for", "amount for"),
    "potential_differences": ("rewards", "gamma * after - before", "after - before"),
    "with_rewards": ("batches", "centre=centre", "centre=0.5"),
    "effective_share": ("batches", "(len(weights) * (weights**2).sum())", "(weights**2).sum()"),
    "explained_variance": ("batches", "return float(1.0 - (returns", "return float((returns"),
    "turn_returns": (
        "estimates",
        "monte_carlo_returns(rewards, mask, gamma=gamma)",
        "monte_carlo_returns(rewards, mask, gamma=1.0)",
    ),
    "critic_returns of two levels": (
        "estimates",
        "turns, gamma=gamma, lam=1.0).returns",
        "turns, gamma=1.0, lam=1.0).returns",
    ),
    "token_returns": (
        "estimates",
        "mask, _ = _token_table(episodes)\n    return monte_carlo_returns(rewards, mask, gamma=gamma)",
        "mask, _ = _token_table(episodes)\n    return monte_carlo_returns(rewards, mask, gamma=1.0)",
    ),
    "token_returns of a turn's last": (
        "estimates",
        "rewards[row, at - 1]",
        "rewards[row, at - len(sample.reply_ids)]",
    ),
    "lambda by what it counts": ("estimates", "ADAPTIVE_ALPHA[config.advantage]", "1.0"),
    "lambda of turns": ("estimates", "_lambda(config, mask.sum(-1))", "_lambda(config, 2 * mask.sum(-1))"),
    "lambda as it was given": ("estimates", "    return config.lambda_policy", "    return 1.0"),
    "groups_of": ("estimates", "e.group_id or e.task_id for", "e.task_id for"),
    "groups_of a task": ("estimates", "e.group_id or e.task_id for", "e.group_id or e.trajectory_id for"),
    "by_attempt": ("estimates", 'group_id=f"{group} attempt {number}"', "group_id=group"),
    "estimates of turns": (
        "estimates",
        "spread_over_tokens(got.returns[mask]",
        "spread_over_tokens(got.advantages[mask]",
    ),
    "estimates of tokens": (
        "estimates",
        "= got.advantages[mask], got.returns[mask]",
        "= got.returns[mask], got.advantages[mask]",
    ),
    "estimates of groups": ("estimates", "config.gamma ** torch.arange", "1.0 ** torch.arange"),
    "estimates of ReBN": ("estimates", "mask & kept.unsqueeze(-1), gamma", "mask, gamma"),
    "estimates of returns": ("estimates", "gamma=config.gamma) - usual", "gamma=config.gamma) + usual"),
    "teaching": ("minibatch", "(self.advantages != 0) &", "(self.advantages > 0) &"),
    "of_whole_trajectories": ("minibatch", "len(reply[:1] if by_turn else reply)", "len(reply)"),
    "clipping bias": ("clipping_bias", "1.0 / max(1.0, norm)", "1.0 / norm"),
    "pretrain_value keeps the best": (
        "value_pretraining",
        "if loss < best_loss:",
        "if best_loss == math.inf:",
    ),
    "stop rule": ("value_pretraining", "explained >= self._config.explained_variance", "True"),
    "actor_lr": ("learner", "return config.lr * warm * decayed", "return config.lr * decayed"),
    "alarms": ("diagnostics", "report.kl_per_turn > KL_HIGH", "report.kl_per_turn > 10 * KL_HIGH"),
    "wilson": ("wilson", "(z / (2 * worth)) ** 2", "0.0"),
    "clustered_wilson": ("wilson", "worth=trials / max(1.0, effect)", "worth=trials"),
    "adaptive λ by turns": ("estimates", '{"turn": 1.0, "token": 0.05,', '{"turn": 0.05, "token": 1.0,'),
    "entropy bonus": ("learner", "- self._entropy_coef * entropy", "+ self._entropy_coef * entropy"),
    "ratios of turns": (
        "minibatch",
        '{"turn_product": "product", "turn_geometric": "geometric"}',
        '{"turn_product": "geometric", "turn_geometric": "product"}',
    ),
    "entropy_quantile": ("batches", "config.entropy_quantile > 0:", "False:"),
    "covariance_clip": ("batches", "config.covariance_clip > 0:", "False:"),
    "dual_clip": ("learner", '"dual_clip": c.dual_clip', '"dual_clip": None'),
    "value_clip": ("learner", "clip=self.config.value_clip", "clip=None"),
    "gate of a config": ("batches", "gate=config.gate", "gate=None"),
    "information_weight": (
        "batches",
        "information_weight=config.information_weight",
        "information_weight=0.0",
    ),
    "KL to the reference": ("tally", "self.kl_reference += kl.item()", "self.kl_reference += 0.0"),
}

NOTICED_BY = {
    "batches": "value_pretraining",
    "estimates": "value_pretraining",
    "clipping_bias": "learner",
    "minibatch": "learner",
    "penalties": "shaping",
    "penalty_cap": "shaping",
    "penalty_cap of potentials": "shaping",
    "penalty_cap alone": "shaping",
    "preferences/pairs": "preferences/train",
    "lambda by what it counts": "estimates",
    "lambda of turns": "estimates",
    "token_returns of a turn's last": "estimates",
    "lambda as it was given": "estimates",
    "groups_of": "estimates",
    "groups_of a task": "estimates",
    "effective_share": "learner",
    "entropy of what is learned": "tally",
    "ratios of what is learned": "tally",
    "drift of what was drawn": "tally",
    "by_attempt": "learner",
    "estimates of groups": "learner",
    "estimates of ReBN": "learner",
    "estimates of returns": "learner",
    "KL to the reference": "learner",
    **dict.fromkeys(
        (
            "adaptive λ by turns",
            "entropy bonus",
            "ratios of turns",
            "entropy_quantile",
            "covariance_clip",
            "dual_clip",
            "value_clip",
            "gate of a config",
            "information_weight",
        ),
        "switches",
    ),
}
"""Modules without a test file of their own name, and lines that another one's tests notice."""


WHOLLY_BROKEN = ("advantages", "baselines", "filters", "losses", "normalisation", "rewards", "shaping")
"""Modules of pure functions, every public one of which is to be broken once."""


@pytest.mark.parametrize("module", WHOLLY_BROKEN)
def test_every_public_function_is_broken_by_a_mutation_that_begins_with_its_name(module: str) -> None:
    lines = ast.parse((PACKAGE / f"{module}.py").read_text()).body
    public = {f.name for f in lines if isinstance(f, ast.FunctionDef) and not f.name.startswith("_")}
    broken = {name.split()[0] for name, (where, _, _) in MUTATIONS.items() if where == module}
    assert public and public <= broken, public - broken


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_function_fails_its_tests(name: str, tmp_path: Path) -> None:
    module, right, wrong = MUTATIONS[name]
    copy = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, copy)
    source = (copy / f"{module}.py").read_text()
    assert right in source, f"{module}.py changed: mend the mutation"
    (copy / f"{module}.py").write_text(source.replace(right, wrong, 1))
    noticed_by = TESTS / NOTICED_BY.get(name, NOTICED_BY.get(module, module))
    tests = noticed_by.with_name(f"test_{noticed_by.name}.py")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, f"{tests.name} did not notice:\n{done.stdout[-2000:]}"
    assert "error" not in done.stdout.splitlines()[-1], done.stdout[-2000:]
