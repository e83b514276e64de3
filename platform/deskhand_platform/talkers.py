"""Policies that answer messages, each in a process of its own: started when first asked, ended when idle."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from deskhand_flywheel.store import Store
from deskhand_platform.background import log_and_continue
from deskhand_platform.errors import NoRoom
from deskhand_platform.settings import Settings
from deskhand_platform.supervisor import stop
from deskhand_platform.talking import TOKEN_VARIABLE

log = logging.getLogger(__name__)
LOOK_S = 1.0
ANSWER_S = 180.0
"""Longest silence of a process that answers: its engine gives up before."""
RETRY_S = 5.0


@dataclass(slots=True)
class Talking:
    """One policy's process."""

    process: asyncio.subprocess.Process
    http: httpx.AsyncClient
    used: int
    """Requests under way."""
    last_s: float

    async def close(self) -> None:
        """End it."""
        await self.http.aclose()
        await stop(self.process, grace_s=2.0)


class Talkers:
    """Every policy that answers now."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        self._talking: dict[str, Talking] = {}
        self._starting = asyncio.Lock()

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """End idle ones for the length of the block, and all of them at its end."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            for policy_id in [*self._talking]:
                await self._talking.pop(policy_id).close()

    @asynccontextmanager
    async def using(self, name: str) -> AsyncGenerator[httpx.AsyncClient]:
        """A client of the process that has the policy, which is started where there is none.

        Raises:
            UnknownPolicy: there is none of that name.
            NoRoom: as many others answer as may, and all are busy; or it does not start.
        """
        policy = await self._store.policy_named(name)
        # nobody waits for another policy to load who has one that answers
        found = self._alive(policy.id) or await self._started(policy.id)
        found.used += 1
        try:
            yield found.http
        finally:
            found.used -= 1
            found.last_s = time.monotonic()

    def _alive(self, policy_id: str) -> Talking | None:
        found = self._talking.get(policy_id)
        return None if found is None or found.process.returncode is not None else found

    async def _started(self, policy_id: str) -> Talking:
        """The policy's process, started where others who waited have not done so; one starts at a time."""
        async with self._starting:
            if (found := self._alive(policy_id)) is not None:
                return found
            if policy_id in self._talking:
                await self._talking.pop(policy_id).close()
            await self._make_room()
            found = self._talking[policy_id] = await self._start(policy_id)
            return found

    async def _make_room(self) -> None:
        if len(self._talking) < self._settings.chat.policies:
            return
        idle = [policy_id for policy_id, one in self._talking.items() if not one.used]
        if not idle:
            raise NoRoom(
                f"{len(self._talking)} policies answer now, as many as may (setting chat.policies), and all "
                "are busy",
                retry_after_s=RETRY_S,
            )
        oldest = min(idle, key=lambda policy_id: self._talking[policy_id].last_s)
        await self._talking.pop(oldest).close()

    async def _start(self, policy_id: str) -> Talking:
        token = secrets.token_urlsafe(32)
        log_path = self._settings.home / "chat.log"
        with log_path.open("ab") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "deskhand_platform.talking",
                str(os.getpid()),
                policy_id,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=output,
                env={
                    **os.environ,
                    "DESKHAND_HOME": str(self._settings.home),
                    "DESKHAND_DATABASE": self._settings.db_url,
                    "DESKHAND_BLOBS": self._settings.blobs_url,
                    TOKEN_VARIABLE: token,
                },
                start_new_session=True,
            )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(self._settings.chat.start_s):
                port = int(await process.stdout.readline())
        except (TimeoutError, ValueError) as error:
            await stop(process, grace_s=0.0)
            raise NoRoom(
                f"policy {policy_id} does not start, see {log_path.name} in the platform's home",
                retry_after_s=RETRY_S,
            ) from error
        except BaseException:
            await stop(process, grace_s=0.0)
            raise
        http = httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}",
            headers={"Authorization": f"Bearer {token}"},
            timeout=ANSWER_S,
            limits=httpx.Limits(max_connections=None),
            trust_env=False,
        )
        return Talking(process=process, http=http, used=0, last_s=time.monotonic())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(min(LOOK_S, self._settings.chat.idle_s / 2))
            async with log_and_continue("policies that nobody asks could not be ended"), self._starting:
                since = time.monotonic() - self._settings.chat.idle_s
                for policy_id, one in [*self._talking.items()]:
                    if (not one.used and one.last_s < since) or one.process.returncode is not None:
                        await self._talking.pop(policy_id).close()
