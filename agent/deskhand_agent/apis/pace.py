"""How fast requests may follow one another."""

from __future__ import annotations

import asyncio
import math
import time

from deskhand_agent.time_limits import waiting_ones_turn


class Pace:
    """Requests and tokens a minute, each a bucket that fills evenly and holds one minute's worth.

    A request may begin while neither bucket is empty. It takes one request and as many tokens as the last
    reply cost; what it really cost is settled after it, so that the tokens of a minute are right on average
    and exceeded by the requests under way at most. Whoever waits is served in order.
    """

    def __init__(self, *, requests_per_minute: float, tokens_per_minute: float) -> None:
        """
        Args:
            requests_per_minute, tokens_per_minute: `math.inf` for no limit.
        """
        self._rates = (requests_per_minute / 60, tokens_per_minute / 60)
        self._most = (max(1.0, requests_per_minute), max(1.0, tokens_per_minute))
        self._left = list(self._most)
        self._filled_s = time.monotonic()
        self._not_before_s = 0.0
        self._expected = 0.0
        self._turn = asyncio.Lock()

    async def begin(self) -> float:
        """Wait for one's turn; returns the tokens taken, for `settle`."""
        with waiting_ones_turn():
            async with self._turn:
                pause_s = self._pause_s()
                while pause_s > 0:
                    # the server may ask for more meanwhile
                    await asyncio.sleep(pause_s)
                    pause_s = self._pause_s()
                taken = self._expected
                self._take(1.0, taken)
                return taken

    def settle(self, taken: float, cost: float) -> None:
        """Say how many tokens a request cost that took so many; 0: it came to nothing."""
        self._take(0.0, cost - taken)
        self._expected = cost or self._expected

    def hold(self, seconds: float) -> None:
        """Let nobody begin for so long: the server said that it is too much."""
        self._not_before_s = max(self._not_before_s, time.monotonic() + seconds)

    def _take(self, requests: float, tokens: float) -> None:
        for index, amount in enumerate((requests, tokens)):
            if math.isfinite(self._left[index]):
                self._left[index] = min(self._most[index], self._left[index] - amount)

    def _pause_s(self) -> float:
        """How long until a request may begin; 0 now."""
        now = time.monotonic()
        gone_s, self._filled_s = now - self._filled_s, now
        pauses = [self._not_before_s - now]
        for index, (rate, most) in enumerate(zip(self._rates, self._most, strict=True)):
            if math.isinf(rate):
                continue
            self._left[index] = min(most, self._left[index] + gone_s * rate)
            wanted = 1.0 if index == 0 else min(most, max(1.0, self._expected))
            # a rounding error is no reason to wait
            pauses.append((wanted - self._left[index] - 1e-6) / rate)
        return max(0.0, *pauses)
