"""The settings of sandboxes: which are lent, and how they are opened."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

from pydantic import BaseModel, Field, field_validator

from deskhand_sandbox.deadlines import Deadlines
from deskhand_sandbox.errors import InvalidPool
from deskhand_sandbox.manager import LeaseTerms, Lending


class SandboxSettings(BaseModel):
    """The sandboxes that are lent by the host `serve` keeps running, and opened by runs and commands."""

    model_config = {"extra": "forbid", "frozen": True}

    kinds: tuple[str, ...] = ("browser", "desktop", "fake", "world")
    """Kinds of sandbox the host lends, beside those of `pools`."""
    max_sandboxes: Annotated[int, Field(ge=1, le=512)] = 16
    """Sandboxes of one pool alive at once, where the pool does not say."""
    pools: dict[str, dict[str, Any]] = {}
    """By name, the settings of `deskhand_sandbox.manager.PoolSettings`: how many, their labels and deadlines,
    and under `settings` those of their backend, e.g. {"android": {"settings": {"machine": "emulator"}}}. A
    name is a kind, unless the pool says its `kind`; a kind without a pool here has one of the defaults."""
    terms: LeaseTerms = LeaseTerms()
    """What leases are granted under."""
    deadlines: Deadlines = Deadlines()
    """After which a call of a sandbox counts as hung."""

    @field_validator("pools")
    @classmethod
    def _check_pools(cls, pools: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        try:
            Lending(pools=pools)
        except InvalidPool as error:
            raise ValueError(str(error)) from error
        return pools

    @cached_property
    def lending(self) -> Lending:
        """How sandboxes are to be opened."""
        return Lending(pools=self.pools, terms=self.terms, deadlines=self.deadlines)

    @cached_property
    def lent(self) -> tuple[str, ...]:
        """Kinds of sandbox that the host lends: each submitted task asks."""
        return tuple(dict.fromkeys((*self.kinds, *self.lending.kinds)))
