"""Trajectories in other systems' files, out of the store and into it.

| format | what lies in the folder | comes in again |
|---|---|---|
| `parquet` | a row per turn and one per episode; `datasets.load_dataset` loads it | yes |
| `osworld` | a folder per episode: `traj.jsonl`, its pictures, `result.txt` | yes, OSWorld's own too |
| `ui-tars` | `conversations.jsonl`: screens, and replies of Thought and Action | yes, others' too |
| `webdataset` | tar shards with a sample per turn | no |
| `experience` | `next_states.jsonl`, `reflections.jsonl` and their pictures | no |

Every format but the last is written as its readers expect it, and carries beside that the records of the
store, so that what is exported and imported again is equal to the last bit. Where a file has them, they
count; what others wrote without them is read by its own words.

Import reads everything before it writes anything, and writes each episode whole: a damaged file is refused
with its place, and nothing of it is in the store. An episode that is there already is left as it is.
"""

from __future__ import annotations

from deskhand_flywheel.exchange.exporting import Exported, export_trajectories, read_whole
from deskhand_flywheel.exchange.formats import format_named, format_names
from deskhand_flywheel.exchange.importing import Imported, import_trajectories
from deskhand_flywheel.exchange.types import Guidance, Progress, Recorded

__all__ = [
    "Exported",
    "Guidance",
    "Imported",
    "Progress",
    "Recorded",
    "export_trajectories",
    "format_named",
    "format_names",
    "import_trajectories",
    "read_whole",
]
