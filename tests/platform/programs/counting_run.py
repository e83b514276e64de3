"""A run by the contract of `deskhand_trainer.runs` that counts instead of training.

COUNTING_STEPS (20) steps of COUNTING_STEP_S (0.01), a checkpoint after each. COUNTING_REFUSES names a phase
that refuses, COUNTING_CRASHES one that dies in its third step, every time, COUNTING_HOLDS one that in its
first life stays at its tenth step until somebody ends it. COUNTING_RATE is every policy's
success; without it PPO's is 0.9 and any other's 0.3. What it did stands in its folder: `lives.txt`
has a line per life with the step it began at.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

from deskhand_platform.lifeline import die_with_parent


def put(path: Path, values: object) -> None:
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(values))
    draft.replace(path)


def main(folder: Path) -> int:
    die_with_parent(os.getppid())
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    spec = json.loads((folder / "spec.json").read_text())
    phase = spec["labels"]["phase"]
    if os.environ.get("COUNTING_REFUSES") == phase:
        put(folder / "error.json", {"type": "RunRefused", "message": "there is no such task"})
        return 2
    checkpoint = folder / "checkpoint.json"
    done = json.loads(checkpoint.read_text()) if checkpoint.exists() else 0
    with (folder / "lives.txt").open("a") as lives:
        lives.write(f"{done}\n")
    total = int(os.environ.get("COUNTING_STEPS", "20"))
    held = done == 0 and os.environ.get("COUNTING_HOLDS") == phase
    print(f"counting from {done} to {total}", flush=True)
    while done < total:
        if stopped:
            print(f"stopped at {done}", flush=True)
            return 3
        if os.environ.get("COUNTING_CRASHES") == phase and done == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(os.environ.get("COUNTING_STEP_S", "0.01")))
        if held and done == 10:
            continue
        done += 1
        put(checkpoint, done)
        state = {"phase": "counting", "done": done, "total": total, "pid": os.getpid()}
        put(folder / "state.json", {**state, "updated_at_s": time.time()})
    put(folder / "result.json", result(spec, phase))
    return 0


def result(spec: dict[str, object], phase: str) -> dict[str, object]:
    metrics: dict[str, object] = {"episodes": 8}
    if spec["kind"] == "evaluate":
        rate = float(os.environ.get("COUNTING_RATE", 0.9 if "ppo" in str(spec["policy_in"]) else 0.3))
        for mode in ("sampled", "greedy"):
            metrics |= {f"success_{mode}": rate, f"success_{mode}_low": rate - 0.1}
            metrics |= {f"success_{mode}_high": rate + 0.1}
    makes = spec["kind"] in ("sft", "ppo", "score")
    return {"policy_out": f"{spec['id']}-made" if makes else None, "metrics": metrics, "seconds": 6.0}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
