"""One trajectory as one self-contained HTML page.

Everything that came from a task, a page or a model goes into a JSON island with `<`, `>` and `&` escaped, and
from there into the page as text, never as markup. The page's policy allows its own script by hash and nothing
from anywhere else.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from deskhand_agent.accounts import Account
from deskhand_agent.types import Review, Step, Trajectory
from deskhand_flywheel.records import encode_action, finite
from deskhand_flywheel.replay.actions import describe
from deskhand_flywheel.types import StepScore
from deskhand_sandbox.types import Image, JsonValue, Observation

_Json = dict[str, JsonValue]


def render_replay(trajectory: Trajectory, scores: Iterable[StepScore] = ()) -> str:
    """The page as text.

    Args:
        trajectory: read with `images=True`; a picture without bytes is shown as an empty frame.
        scores: of any scorers; each is a row of its own.
    """
    episode = _episode(trajectory, tuple(scores))
    style, script = _asset("page.css"), _asset("page.js")
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    return _fill(
        _asset("page.html"),
        {
            "title": html.escape(f"{trajectory.start.task.id} · {trajectory.id}"),
            "policy": html.escape(policy),
            "style": style,
            "script": script,
            "episode": _island(episode),
        },
    )


def _fill(template: str, values: dict[str, str]) -> str:
    # split first: a value that holds another placeholder stays what it is
    parts = template.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, rest = part.split("}}", 1)
        filled += [values[name], rest]
    return "".join(filled)


@cache
def _asset(name: str) -> str:
    return files("deskhand_flywheel.replay").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _island(value: JsonValue) -> str:
    # the browser's JSON knows neither NaN nor Infinity
    text = json.dumps(finite(value), separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _episode(trajectory: Trajectory, scores: Sequence[StepScore]) -> JsonValue:
    start, end = trajectory.start, trajectory.end
    by_step: dict[int, list[StepScore]] = {}
    for score in scores:
        by_step.setdefault(score.step_index, []).append(score)
    last = end.final_observation if end else None
    account = Account()
    account.add(trajectory.steps)
    return {
        "id": trajectory.id,
        "task": start.task.id,
        "seed": start.task.seed,
        "instruction": start.instruction,
        "policy": start.policy_id,
        "update": start.policy_update,
        "split": start.split.value,
        "labels": dict(start.labels),
        "started": _time(start.started_at_s),
        "seconds": end.ended_at_s - start.started_at_s if end else None,
        "stop": end.stop_reason.value if end else None,
        "failure": end.failure.value if end and end.failure else None,
        "failure_detail": end.failure_detail if end else "",
        "outcome": _outcome(trajectory),
        "account": str(account),
        "steps": [_step(step, by_step.get(step.index, [])) for step in trajectory.steps],
        "last": _observation(last) if last else None,
        "images": _images(trajectory),
    }


def _outcome(trajectory: Trajectory) -> JsonValue:
    outcome = trajectory.end.outcome if trajectory.end else None
    if outcome is None:
        return None
    return {"score": outcome.score, "success": outcome.success, "detail": outcome.detail}


def _step(step: Step, scores: Sequence[StepScore]) -> JsonValue:
    decision = step.decision
    request, completion = decision.request, decision.completion
    return {
        "index": step.index,
        "seen": _observation(step.observation),
        "actions": [{"says": describe(a), "mark": encode_action(a)} for a in decision.actions],
        "thought": decision.thought,
        "text": decision.text,
        "error": decision.error,
        "fault": decision.fault,
        "repairs": list(decision.repairs),
        "review": None if decision.review is None else _reviewed(decision.review),
        "cost": dict(decision.cost),
        "action_error": step.action_error,
        "answer": step.answer,
        "reward": step.reward,
        "value": completion.value if completion else None,
        "entropy": completion.entropy if completion else None,
        "logprob": sum(completion.logprobs) if completion else None,
        "prompt_tokens": len(request.prompt_ids) if request else None,
        "reply_tokens": len(completion.ids) if completion else None,
        "scores": [
            {"scorer": s.scorer, "score": s.score, "rationale": s.rationale}
            for s in sorted(scores, key=lambda s: s.scorer)
        ],
        "model_ms": step.timings.model_ms,
        "act_ms": step.timings.act_ms,
        "settle_ms": step.timings.settle_ms,
        "finished": _time(step.finished_at_s),
    }


def _reviewed(review: Review) -> str:
    """What a person made of it, in a sentence."""
    if review.by is None:
        return f"Nobody looked at it within {review.waited_s:.0f} s."
    proposed = review.proposed
    instead = "" if proposed is None else ", ".join(map(describe, proposed.actions)) or "no action"
    accepted = "accepted it and answered" if review.answer else "accepted it"
    what = accepted if proposed is None else f"did this in place of: {instead}"
    return f"{review.by} {what}. {review.reason}".strip()


def _observation(observation: Observation) -> _Json:
    return {
        "image": observation.screenshot.digest,
        "width": observation.screenshot.width_px,
        "height": observation.screenshot.height_px,
        "settled": observation.settled,
        "url": observation.url,
        "output": observation.output,
        "terminal": observation.terminal,
        "text_tree": observation.text_tree,
    }


def _images(trajectory: Trajectory) -> _Json:
    """Each picture once, however many turns show it."""
    seen = [step.observation for step in trajectory.steps]
    if trajectory.end and trajectory.end.final_observation:
        seen.append(trajectory.end.final_observation)
    pictures: dict[str, Any] = {}
    for observation in seen:
        image = observation.screenshot
        if image.data is not None and image.digest not in pictures:
            pictures[image.digest] = _data_uri(image, image.data)
    return pictures


def _data_uri(image: Image, data: bytes) -> str:
    return f"data:image/{image.format};base64,{base64.b64encode(data).decode()}"


def _time(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
