"""What rounds had promoted before there was a history of promotions is in it."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from sqlalchemy import Connection

from deskhand_flywheel.database import Database, alembic_config
from deskhand_platform.rounds.book import RoundBook


async def test_promoted_rounds_become_promotions(tmp_path: Path) -> None:
    url = f"sqlite+aiosqlite:///{tmp_path / 'deskhand.db'}"

    def back(connection: Connection) -> None:
        command.downgrade(alembic_config(connection), "0009")
        for policy, promoted in (("p1", True), ("p2", True), ("p2", False), (None, None)):
            row = {"preset": "x", "config": "{}", "state": "done", "out": policy, "promoted": promoted}
            statement = (
                "INSERT INTO rounds (preset, config, state, policy_out, promoted, created_at_s) "
                "VALUES (:preset, :config, :state, :out, :promoted, 7)"
            )
            connection.execute(sa.text(statement), row)

    database = await Database.open(url)
    async with database.write() as connection:
        await connection.run_sync(back)
    await database.close()
    database = await Database.open(url)
    assert await RoundBook(database).promoted_policy() == "p2"
    async with database.read() as connection:
        rows = (
            await connection.execute(sa.text("SELECT policy_id, round_id, kind, at_s FROM promotions"))
        ).all()
    assert [tuple(row) for row in rows] == [("p1", 1, "gate", 7.0), ("p2", 2, "gate", 7.0)]
    await database.close()
