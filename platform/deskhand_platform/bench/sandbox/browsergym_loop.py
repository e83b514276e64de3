"""BrowserGym's MiniWoB loop, timed. Run by its own Python, with nothing of ours; see `peers.py`.

    python browsergym_loop.py TASK X Y

Reads lines `SEED SHIPPED` (SHIPPED 1: its fixed delays as it ships; 0: off) and answers each with a line of
JSON: milliseconds of a reset and of three steps, each a click at (X, Y) with its screenshot and its
accessibility tree.
"""

import json
import sys
import time
from typing import Any

import browsergym.miniwob  # noqa: F401  # pyright: ignore  registers the tasks
import gymnasium  # pyright: ignore
from browsergym.core.action.highlevel import HighLevelActionSet  # pyright: ignore


def main(task: str, x: int, y: int) -> None:
    environments: dict[int, Any] = {}
    pointing: Any = HighLevelActionSet(["coord"]).to_python_code
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        seed, shipped = (int(word) for word in line.split())
        if shipped not in environments:
            off: dict[str, Any] = {} if shipped else {"pre_observation_delay": 0.0, "slow_mo": 0}
            name = f"browsergym/miniwob.{task}"
            environments[shipped] = gymnasium.make(name, headless=True, action_mapping=pointing, **off)
        environment = environments[shipped]
        began = time.perf_counter()
        environment.reset(seed=seed)
        reset_ms = (time.perf_counter() - began) * 1000
        steps_ms = []
        for _ in range(3):
            began = time.perf_counter()
            seen, *_ = environment.step(f"mouse_click({x}, {y})")
            steps_ms.append((time.perf_counter() - began) * 1000)
            assert seen["screenshot"].size and seen["axtree_object"]["nodes"], "no observation"
            assert not seen["last_action_error"], seen["last_action_error"]
        print(json.dumps({"reset_ms": reset_ms, "steps_ms": steps_ms}), flush=True)
    for environment in environments.values():
        environment.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
