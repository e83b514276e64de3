from __future__ import annotations

from types import SimpleNamespace

from deskhand_agent.accounts import Account
from deskhand_agent.types import Decision, Fault, Step, StepTimings


def test_turns_are_added_up(stub: SimpleNamespace) -> None:
    decisions = [
        Decision(actions=(), text="", cost={"prompt_tokens": 100.0, "usd": 0.25, "rate_limited": 2.0}),
        Decision(actions=(), text="", error="?", fault=Fault.SYNTAX, cost={"prompt_tokens": 50.0}),
        Decision(actions=(), text="", repairs=("fence", "prose")),
        Decision(actions=(), text="", repairs=("fence",), cost={"usd": 0.0051}),
    ]
    timings = StepTimings(model_ms=1, act_ms=1, settle_ms=1)
    account = Account()
    assert str(account) == ""
    account.add(
        Step(
            index=index,
            observation=stub.observation(),
            decision=decision,
            reward=0.0,
            timings=timings,
            finished_at_s=1.0,
        )
        for index, decision in enumerate(decisions)
    )
    assert account.cost == {"prompt_tokens": 150.0, "usd": 0.2551, "rate_limited": 2.0}
    assert (account.faults, account.repairs) == ({Fault.SYNTAX: 1}, {"fence": 2, "prose": 1})
    assert str(account) == (
        "150 prompt_tokens, 0.2551 usd, 2 rate_limited, 1 syntax faults, 2 fence repairs, 1 prose repairs"
    )
