"""A simulator of an Android device: adb's real clients accept it, and it runs no Android."""

from __future__ import annotations

from deskhand_sandbox.backends.android.simulator.simulator import Simulator

__all__ = ["Simulator"]
