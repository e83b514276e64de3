"""This process's place among those that learn together: torchrun starts them, and rank 0 leads.

Rank 0 alone plays episodes, judges them and writes; the others wait to be told a call that all make at once
(`everywhere`), in which what they compute is shared. What is told goes by gloo over the CPU; the tensors of a
sharded model go as `torch.distributed` chooses, by NCCL between GPUs.

A process that fails says why where all can read it, and ends: the others then end too, with its reason, for
a collective call that lacks one of them never returns a number.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn, ParamSpec, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from deskhand_trainer.errors import RankLost, TrainingDiverged

P = ParamSpec("P")
Part = TypeVar("Part")
Found = TypeVar("Found")
PATIENCE = timedelta(days=30)
"""For the next call: episodes may take long."""
_END, _FAILED, _OVER = "end", "deskhand/failed", "deskhand/over"


class Ranks:
    """One process of `size`; alone, every call is simply made."""

    def __init__(
        self,
        rank: int = 0,
        size: int = 1,
        *,
        device: torch.device | None = None,
        control: Any = None,
        store: Any = None,
    ) -> None:
        """
        Args:
            rank: from 0.
            size: how many they are.
            device: where this one computes; None: the CPU.
            control: process group for what is told.
            store: where all of them can read why one failed.
        """
        self.rank, self.size = rank, size
        self.device = device or torch.device("cpu")
        self._control, self._store = control, store
        self._calls: dict[str, Callable[..., Any]] = {}
        self._turn = threading.Lock()
        self._apart = False

    @property
    def alone(self) -> bool:
        return self.size == 1

    def everywhere(
        self, name: str, call: Callable[P, Found], *, told: Callable[P, Sequence[Any]] | None = None
    ) -> Callable[P, Found]:
        """The same call, made on every rank at once when rank 0 makes it; every rank names the same ones.

        Args:
            name: what the ranks know it by.
            call: its arguments go from rank 0 to the others.
            told: from its arguments to those the others are given; None: the same.

        Raises:
            RankLost: when it is made: another rank failed.
        """
        if self.alone:
            return call
        self._calls[name] = call

        def lead(*given: P.args, **named: P.kwargs) -> Found:
            with self._turn:
                try:
                    others = (given, named) if told is None else (told(*given, **named), {})
                    dist.broadcast_object_list([(name, *others)], 0, self._control)
                    return call(*given, **named)
                except TrainingDiverged:
                    raise  # from the same numbers everywhere: they all wait for the next call
                except Exception as error:
                    self._apart = True
                    lost = self.lost(error)
                    if lost is None:
                        raise
                    raise lost from error

        return lead

    def follow(self) -> str | None:
        """Make the calls rank 0 tells of, until it tells of the end.

        Returns:
            why this rank failed; None where it did not.
        """
        try:
            while True:
                told: list[Any] = [None]
                dist.broadcast_object_list(told, 0, self._control)
                name, given, named = told[0]
                if name == _END:
                    return None
                try:
                    self._calls[name](*given, **named)
                except TrainingDiverged:
                    continue
        except Exception as error:  # noqa: BLE001  the edge of the process
            # where another failed first, this is but what came of it
            if self._said(_OVER) or self._said(_FAILED):
                return None
            reason = f"rank {self.rank} of {self.size} failed: {type(error).__name__}: {error}"
            self._store.set(_FAILED, reason)
            return reason

    def lost(self, error: Exception | None = None) -> RankLost | None:
        """What became of another rank; None where nothing is known to.

        Args:
            error: that came up here.
        """
        said = None if self.alone else self._said(_FAILED)
        if said is None and error is not None and "Connection" in str(error):
            said = f"another of the {self.size} processes ended without a word, killed perhaps: {error}"
        return None if said is None else RankLost(f"{said}; the last checkpoint is safe")

    def close(self) -> None:
        """Let the others end; on rank 0."""
        if self.alone:
            return
        self._store.set(_OVER, "1")
        if not self._apart:
            dist.broadcast_object_list([(_END, (), {})], 0, self._control)
            dist.destroy_process_group()

    # ---- within a call ----

    def mine(self, parts: Sequence[Part]) -> Sequence[Part]:
        """Those of the parts that are this rank's."""
        return parts[self.rank :: self.size]

    def gathered(self, found: Found) -> list[Found]:
        """What every rank found, in their order, on each of them."""
        if self.alone:
            return [found]
        every: list[Any] = [None] * self.size
        dist.all_gather_object(every, found, self._control)
        return every

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Sum each over the ranks, in place."""
        if not self.alone:
            for tensor in tensors:
                dist.all_reduce(tensor)

    def take_over(self, tensors: Sequence[Tensor]) -> None:
        """Take rank 0's values, in place."""
        if not self.alone:
            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def _said(self, key: str) -> str | None:
        try:
            return self._store.get(key).decode() if self._store.check([key]) else None
        except RuntimeError:  # torchrun is gone, and the store with it
            return None


ALONE = Ranks()
"""The only process there is: nothing is shared with anybody."""


def join() -> Ranks:
    """Meet the others, as torchrun's environment says; where there are GPUs each has its own."""
    store, rank, size = next(rendezvous("env://"))
    device, backend = torch.device("cpu"), "gloo"
    if torch.cuda.is_available():
        device, backend = torch.device("cuda", int(os.environ["LOCAL_RANK"])), "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(device)
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    control = dist.new_group(backend="gloo", timeout=PATIENCE)
    return Ranks(rank, size, device=device, control=control, store=store)


def leave(status: int) -> NoReturn:
    """End a process that met others, without closing its interpreter.

    A thread of gloo's that lets go of a Python object while the interpreter closes aborts the process now and
    then ("terminate called without an active exception"), and torchrun would call a run that is done failed.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
