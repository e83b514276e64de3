"""What runs in sandboxes now, and the controls of episodes that run, for both clients."""

from __future__ import annotations

import httpx

from deskhand_platform.api.live_models import LiveSandbox, LiveSandboxes, TakeoverModel
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call


class AsyncLive(AsyncConnection):
    """What runs, for programs that await."""

    async def sandboxes(self) -> list[LiveSandbox]:
        """Sandboxes on loan, the oldest loan first; none while no sandbox host is up."""
        return await self._do(_sandboxes())

    async def live_sandbox(self, id: str) -> LiveSandbox:
        """One of them, by the id of its lease."""
        return await self._do(_sandbox(id))

    async def screen(self, id: str) -> bytes | None:
        """What is on the screen of a leased sandbox now, as JPEG; None: nothing has been seen yet."""
        return await self._do(_screen(id))

    async def controls(self, id: str) -> TakeoverModel:
        """Who holds the controls of an episode; `by` is None: its policy."""
        return await self._do(_controls(id))

    async def take_over(self, id: str) -> TakeoverModel:
        """Take the controls of an episode of a submitted task, or keep hold of them.

        Whoever does not call it again for 20 s lets go.
        """
        return await self._do(_take_over(id))

    async def steer(self, id: str, reply: str) -> TakeoverModel:
        """Do something with the controls, as the episode's next turn.

        Args:
            reply: one or several actions in the agent's grammar.
        """
        return await self._do(_steer(id, reply))

    async def hand_back(self, id: str) -> None:
        """Hand the controls back: the policy goes on from where one left."""
        await self._do(_hand_back(id))


class Live(Connection):
    """What runs, for programs that block."""

    def sandboxes(self) -> list[LiveSandbox]:
        """Sandboxes on loan, the oldest loan first; none while no sandbox host is up."""
        return self._do(_sandboxes())

    def live_sandbox(self, id: str) -> LiveSandbox:
        """One of them, by the id of its lease."""
        return self._do(_sandbox(id))

    def screen(self, id: str) -> bytes | None:
        """What is on the screen of a leased sandbox now, as JPEG; None: nothing has been seen yet."""
        return self._do(_screen(id))

    def controls(self, id: str) -> TakeoverModel:
        """Who holds the controls of an episode; `by` is None: its policy."""
        return self._do(_controls(id))

    def take_over(self, id: str) -> TakeoverModel:
        """Take the controls of an episode of a submitted task, or keep hold of them.

        Whoever does not call it again for 20 s lets go.
        """
        return self._do(_take_over(id))

    def steer(self, id: str, reply: str) -> TakeoverModel:
        """Do something with the controls, as the episode's next turn.

        Args:
            reply: one or several actions in the agent's grammar.
        """
        return self._do(_steer(id, reply))

    def hand_back(self, id: str) -> None:
        """Hand the controls back: the policy goes on from where one left."""
        self._do(_hand_back(id))


def _sandboxes() -> Call[list[LiveSandbox]]:
    def read(said: httpx.Response) -> list[LiveSandbox]:
        return LiveSandboxes.model_validate_json(said.content).items

    return calls.get("/v1/sandboxes", read)


def _sandbox(id: str) -> Call[LiveSandbox]:
    return calls.get(f"/v1/sandboxes/{calls.part(id)}", calls.reading(LiveSandbox))


def _screen(id: str) -> Call[bytes | None]:
    return calls.get(f"/v1/sandboxes/{calls.part(id)}/screen.jpg", lambda response: response.content or None)


def _controls(id: str) -> Call[TakeoverModel]:
    return calls.get(_of(id), calls.reading(TakeoverModel))


def _take_over(id: str) -> Call[TakeoverModel]:
    return Call(method="PUT", path=_of(id), read=calls.reading(TakeoverModel))


def _steer(id: str, reply: str) -> Call[TakeoverModel]:
    path, read = f"{_of(id)}/actions", calls.reading(TakeoverModel)
    return Call(method="POST", path=path, read=read, body={"reply": reply}, safe=False)


def _hand_back(id: str) -> Call[None]:
    return Call(method="DELETE", path=_of(id), read=calls.nothing, safe=False)


def _of(id: str) -> str:
    return f"/v1/trajectories/{calls.part(id)}/takeover"
