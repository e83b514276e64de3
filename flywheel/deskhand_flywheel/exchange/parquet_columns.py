"""The columns of Parquet files: a turn, and an episode, as rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from deskhand_agent.types import Step, Trajectory
from deskhand_flywheel.errors import ExchangeExtraMissing
from deskhand_flywheel.exchange.pictures import data_of, file_name, other_pictures
from deskhand_flywheel.exchange.types import Recorded, Remarks
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.records import dumps, encode, encode_action
from deskhand_sandbox.types import Image

STEPS, EPISODES = "steps", "trajectories"
ADDED = frozenset({"step_values", "notes", "outcome_scores"})
"""Columns that files of earlier versions do not have."""
Row = dict[str, Any]


def arrow() -> tuple[ModuleType, ModuleType]:
    """pyarrow and its module of Parquet.

    Raises:
        ExchangeExtraMissing: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ExchangeExtraMissing(
            "Parquet needs the module 'pyarrow': pip install 'deskhand[exchange]'"
        ) from error
    return pyarrow, pyarrow.parquet


def schema(table: str) -> Any:
    """The columns of a table, with what `datasets` needs to know to see pictures in them."""
    pa, _ = arrow()
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    text, number = pa.string(), pa.float64()
    score = pa.struct([("scorer", text), ("score", number), ("rationale", text), ("scored_at_s", number)])
    names = ("before", "before_error", "after", "after_error")
    value = pa.struct(
        [
            ("labeller", text),
            *((name, number) for name in names),
            ("continuations", pa.int32()),
            ("exact", pa.bool_()),
            ("labelled_at_s", number),
        ]
    )
    said_at = (("created_at_s", number), ("edited_at_s", number))
    note = pa.struct([*((name, text) for name in ("id", "author", "text")), *said_at])
    episode = [("task_id", pa.string()), ("seed", pa.int64()), ("instruction", pa.string())]
    columns = {
        STEPS: [
            ("trajectory_id", pa.string()),
            ("step", pa.int32()),
            *episode,
            ("policy_id", pa.string()),
            ("screenshot", image),
            ("thought", pa.string()),
            ("text", pa.string()),
            ("actions", pa.list_(pa.string())),
            ("reward", pa.float64()),
            ("success", pa.bool_()),
            ("prompt_ids", pa.list_(pa.int32())),
            ("prompt_images", pa.list_(pa.string())),
            ("completion_ids", pa.list_(pa.int32())),
            ("logprobs", pa.list_(pa.float64())),
            ("trainable", pa.bool_()),
            ("scores", pa.list_(score)),
            ("step_values", pa.list_(value)),
            ("notes", pa.list_(note)),
            ("record", pa.string()),
        ],
        EPISODES: [
            ("id", pa.string()),
            *episode,
            ("policy_id", pa.string()),
            ("group_id", pa.string()),
            ("labels", pa.string()),
            ("steps", pa.int32()),
            ("reward", pa.float64()),
            ("score", pa.float64()),
            ("success", pa.bool_()),
            ("stop_reason", pa.string()),
            ("final_screenshot", image),
            ("other_images", pa.list_(image)),
            ("outcome_scores", pa.list_(score)),
            ("start", pa.string()),
            ("end", pa.string()),
        ],
    }[table]
    features = {name: _feature(pa, kind, image) for name, kind in columns}
    return pa.schema(columns, metadata={"huggingface": json.dumps({"info": {"features": features}})})


def same_kind(found: Any, expected: Any) -> bool:
    """Whether a column's values are, in Python, of the types that ours are.

    Other tools widen some, and earlier versions had fewer fields.
    """
    types = arrow()[0].types
    if types.is_null(found):
        return True
    if types.is_struct(found) and types.is_struct(expected):
        ours = {field.name: field.type for field in expected}
        return all(field.name not in ours or same_kind(field.type, ours[field.name]) for field in found)
    lists, texts = (types.is_list, types.is_large_list), (types.is_string, types.is_large_string)
    if any(is_one(found) for is_one in lists) and types.is_list(expected):
        return same_kind(found.value_type, expected.value_type)
    kinds = (texts, (types.is_binary, types.is_large_binary), (types.is_integer,), (types.is_floating,))
    for kind in kinds:
        if any(is_one(expected) for is_one in kind):
            return any(is_one(found) for is_one in kind)
    return found == expected


def _feature(pa: Any, kind: Any, image: Any) -> Any:
    """A column's type in the words of `datasets`."""
    if kind == image:
        return {"_type": "Image"}
    if pa.types.is_list(kind):
        return {"feature": _feature(pa, kind.value_type, image), "_type": "List"}
    if pa.types.is_struct(kind):
        return {field.name: _feature(pa, field.type, image) for field in kind}
    names = {"double": "float64"}
    return {"dtype": names.get(str(kind), str(kind)), "_type": "Value"}


def step_row(trajectory: Trajectory, step: Step, said: Remarks) -> Row:
    """A turn, with what was said of it."""
    return {
        **beside_step(trajectory, step),
        "scores": _listed(said.scores),
        "step_values": _listed(said.step_values),
        "notes": _listed(said.notes),
        "record": dumps(step),
    }


def beside_step(trajectory: Trajectory, step: Step) -> Row:
    """What a turn's record says, in columns of its own."""
    decision = step.decision
    request, completion = decision.request, decision.completion
    return {
        "trajectory_id": trajectory.id,
        "step": step.index,
        **_about(trajectory),
        "policy_id": column_text(trajectory.start.policy_id),
        "screenshot": _picture(step.observation.screenshot),
        "thought": None if decision.thought is None else column_text(decision.thought),
        "text": column_text(decision.text),
        "actions": [json.dumps(encode_action(action)) for action in decision.actions],
        "reward": step.reward,
        "success": _success(trajectory),
        "prompt_ids": request and list(request.prompt_ids),
        "prompt_images": request and [image.digest for image in request.images],
        "completion_ids": completion and list(completion.ids),
        "logprobs": completion and list(completion.logprobs),
        "trainable": decision.trainable,
    }


def episode_row(recorded: Recorded) -> Row:
    """An episode without its turns, with what was said of the whole of it."""
    start, end = recorded.trajectory.start, recorded.trajectory.end
    return {
        **beside_episode(recorded.trajectory),
        "outcome_scores": _listed(recorded.remarks.outcome_scores),
        "start": dumps(start),
        "end": end and dumps(end),
    }


def beside_episode(trajectory: Trajectory) -> Row:
    """What an episode's records say, in columns of its own."""
    end, start = trajectory.end, trajectory.start
    seen = end.final_observation if end else None
    return {
        "id": trajectory.id,
        **_about(trajectory),
        "policy_id": column_text(start.policy_id),
        "group_id": start.group_id,
        "labels": json.dumps(dict(start.labels)),
        "steps": len(trajectory.steps),
        "reward": sum(step.reward for step in trajectory.steps),
        "score": end.outcome.score if end and end.outcome else None,
        "success": _success(trajectory),
        "stop_reason": end and end.stop_reason.value,
        "final_screenshot": seen and _picture(seen.screenshot),
        "other_images": [_picture(image) for image in other_pictures(trajectory)],
    }


def _listed(records: Sequence[object]) -> list[Any]:
    """Records as structs, which take the fields they have."""
    return [encode(record) for record in records]


def _about(trajectory: Trajectory) -> Row:
    start = trajectory.start
    return {
        "task_id": column_text(start.task.id),
        "seed": start.task.seed,
        "instruction": column_text(start.instruction),
    }


def _success(trajectory: Trajectory) -> bool | None:
    return trajectory.end.outcome.success if trajectory.end and trajectory.end.outcome else None


def _picture(image: Image) -> Row:
    return {"bytes": data_of(image), "path": file_name(image)}
