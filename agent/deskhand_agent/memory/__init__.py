"""What of an episode a model is shown: the settings, and one strategy behind them."""

from deskhand_agent.memory.base import Memory, Recall
from deskhand_agent.memory.settings import Screens, Strategy, WindowMemory
from deskhand_agent.memory.strategies import memory_of

__all__ = ["Memory", "Recall", "Screens", "Strategy", "WindowMemory", "memory_of"]
