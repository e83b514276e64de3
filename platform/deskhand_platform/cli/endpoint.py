"""`deskhand policies serve`: a policy's engine over HTTP, for runs and agents in other processes."""

from __future__ import annotations

import asyncio
import os
import secrets
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from deskhand_agent.endpoint.client import TOKEN_VARIABLE
from deskhand_platform.cli.console import say
from deskhand_platform.cli.opening import opened_store
from deskhand_platform.cli.signals import run_until_signal


def register(policies: typer.Typer) -> None:
    """Add the command."""
    policies.command(
        epilog="Examples:  deskhand policies serve deskhand-tiny --port 8100   ·   "
        "deskhand eval --policy deskhand-tiny --set engine=http://127.0.0.1:8100"
    )(serve)


def serve(
    policy: Annotated[str, typer.Argument(help="id of a policy, or deskhand-tiny")],
    port: Annotated[int, typer.Option(help="0 for any free one", min=0, max=65535)] = 0,
    host: Annotated[str, typer.Option(help="address to listen on")] = "127.0.0.1",
    batch: Annotated[int, typer.Option(help="replies under way at once", min=1, max=512)] = 16,
    threads: Annotated[int, typer.Option(help="processor threads", min=1, max=256)] = 1,
    decision_s: Annotated[float, typer.Option(help="seconds that a reply may take", min=1)] = 120.0,
    weights_from: Annotated[
        Path | None,
        typer.Option(help="folder of runs: a PPO run whose `engine` this is gives it weights from below it"),
    ] = None,
) -> None:
    """Serve a policy of this home by token ids, in the form of SGLang's /generate, until Ctrl-C.

    A platform elsewhere answers for its own policies (`/v1/chat/completions`), or serves them on its machine.
    Callers send the token in DESKHAND_ENGINE_TOKEN; one is made and printed where it is not set.
    """
    raise typer.Exit(run_until_signal(_serve(policy, host, port, batch, threads, decision_s, weights_from)))


async def _serve(
    policy: str, host: str, port: int, batch: int, threads: int, decision_s: float, weights_from: Path | None
) -> int:
    from deskhand_agent.endpoint.server import create_endpoint
    from deskhand_agent.endpoint.wire import Vocabulary
    from deskhand_agent.models.bundle import load_bundle
    from deskhand_agent.models.engine import EngineSettings, LocalEngine
    from deskhand_agent.models.refreshing import FolderWeights
    from deskhand_platform.serving import address_of, answering, listen

    listener = listen(host, port)
    with listener, tempfile.TemporaryDirectory(prefix="deskhand-serve-") as folder:
        async with opened_store() as store:
            named = await store.policy_named(policy)
            files = await store.materialise_policy(named.id, Path(folder) / "model")
        bundle = await asyncio.to_thread(load_bundle, files)
        ends = Vocabulary(end_id=bundle.end_id, suppressed_ids=tuple(bundle.suppressed_ids.tolist()))
        given = os.environ.get(TOKEN_VARIABLE)
        token = given or secrets.token_urlsafe(32)
        # servers of one policy that a run asks must not draw alike
        seed = secrets.randbits(32)
        settings = EngineSettings(max_batch=batch, threads=threads, deadline_s=decision_s, seed=seed)
        engine = LocalEngine(bundle, policy_id=named.id, settings=settings)
        take = None if weights_from is None else FolderWeights(engine, weights_from).take
        async with engine, answering(create_endpoint(engine, ends, token=token, take=take), listener):
            say(f"{named.id} is served at {address_of(listener)}")
            if given is None:
                say(f"its callers need  export {TOKEN_VARIABLE}={token}")
            await asyncio.Event().wait()
    return 0
