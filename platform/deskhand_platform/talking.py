"""A policy that answers messages, as `python -m deskhand_platform.talking PARENT_PID POLICY_ID`.

It prints its port once it listens, asks for the token in `DESKHAND_TALK_TOKEN`, and ends with its parent.
"""

from __future__ import annotations

import asyncio
import os
import sys

from deskhand_flywheel.store import Store
from deskhand_platform.lifeline import die_with_parent
from deskhand_platform.settings import Settings, load_settings

TOKEN_VARIABLE = "DESKHAND_TALK_TOKEN"


async def talk(settings: Settings, policy_id: str, token: str) -> None:
    """Load the policy and answer until killed."""
    from deskhand_agent.endpoint.talk import create_talk
    from deskhand_agent.models.bundle import load_bundle
    from deskhand_agent.models.engine import LocalEngine
    from deskhand_agent.models.talker import Talker
    from deskhand_platform.serving import answering, listen

    async with await Store.open(settings.db_url, settings.blobs_url) as store:
        folder = await store.materialise_policy(policy_id, settings.home / "policies" / policy_id)
    bundle = await asyncio.to_thread(load_bundle, folder)
    async with LocalEngine(bundle, policy_id=policy_id) as engine:
        listener = listen("127.0.0.1", 0)
        async with answering(create_talk(Talker(bundle, engine), token=token), listener):
            print(listener.getsockname()[1], flush=True)
            await asyncio.Event().wait()


def main() -> None:
    """Run the process; what goes wrong before it listens is its last line."""
    parent_pid, policy_id = int(sys.argv[1]), sys.argv[2]
    die_with_parent(parent_pid)
    asyncio.run(talk(load_settings(), policy_id, os.environ[TOKEN_VARIABLE]))


if __name__ == "__main__":
    main()
