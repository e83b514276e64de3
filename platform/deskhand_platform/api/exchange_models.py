"""What goes over HTTP about episodes that go out and come in."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

ExportFormat = Literal["parquet", "osworld", "ui-tars", "webdataset", "experience"]
ImportFormat = Literal["parquet", "osworld", "ui-tars"]


class ImportedModel(BaseModel):
    """What came in."""

    format: str
    added: list[str]
    """Ids of trajectories that were not here."""
    present: list[str]
    """Ids of those that were, and are as they were."""
    unread: int
    """Turns of others whose action could not be read; they are there, as turns without one."""
    without_first: int
    """Episodes of others that kept no picture of the first screen; their first turn is left out."""
