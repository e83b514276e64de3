"""What was there before there were accounts is still there."""

from __future__ import annotations

import time
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from sqlalchemy import Connection

from deskhand_flywheel.database import Database, alembic_config
from deskhand_platform.accounts.tokens import Tokens
from deskhand_platform.auth import hash_token
from deskhand_platform.queue import TaskQueue


async def test_annotators_keep_their_tokens_and_tasks_get_an_owner(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'deskhand.db'}"
    database = await Database.open(url)
    async with database.write() as connection:
        await connection.run_sync(_downgrade)
        values = {"name": "ada", "hash": hash_token("ada's"), "now": time.time()}
        await connection.execute(sa.text("INSERT INTO annotators VALUES (:name, :hash, :now)"), values)
        await connection.execute(
            sa.text(
                "INSERT INTO tasks (id, state, task, policy, labels, created_at_s) VALUES "
                "('1', 'queued', :task, '{\"name\": \"scripted\", \"settings\": {}}', '{}', 1.0)"
            ),
            {
                "task": '{"id": "t", "environment": {"kind": "fake"}, "verifier": {"name": "fake"}, '
                '"instruction": "", "seed": 0}'
            },
        )
    await database.close()
    database = await Database.open(url)
    came = await Tokens(database).holder("ada's")
    assert came is not None and (came.name, came.role) == ("ada", "annotator")
    async with database.read() as connection:
        owner = await connection.scalar(sa.text("SELECT owner FROM tasks"))
    assert owner == "owner" and [one.owner for one in await TaskQueue(database).list()] == ["owner"]
    await database.close()


def _downgrade(connection: Connection) -> None:
    command.downgrade(alembic_config(connection), "0009")
