"""New tasks: from templates, from states that were explored, and from a model that proposes some."""

from deskhand_flywheel.growth.admission import Nursery, Ruling, measured_instructions
from deskhand_flywheel.growth.exploring import explore
from deskhand_flywheel.growth.proposing import TaskProposer
from deskhand_flywheel.growth.templates import from_templates
from deskhand_flywheel.growth.types import Page, Proposal, Refusal, Source

__all__ = [
    "Nursery",
    "Page",
    "Proposal",
    "Refusal",
    "Ruling",
    "Source",
    "TaskProposer",
    "explore",
    "from_templates",
    "measured_instructions",
]
