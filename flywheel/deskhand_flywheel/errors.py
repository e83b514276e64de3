"""Everything that can go wrong in this package.

FlywheelError
├── StoreError                   the database or the disk
│   ├── StoreUnavailable         it cannot be opened, or stayed locked past the deadline
│   ├── StoreTooNew              it was written by a newer Deskhand
│   ├── StoreClosed              used after `close`
│   ├── StorageFull              no space left for rows or blobs
│   └── CorruptStore             the database file is damaged or is no database
├── BlobError                    one picture or weight file
│   ├── MissingBlob              not in the blob store
│   └── CorruptBlob              its bytes no longer have the digest they were stored under
├── RecordError                  one row
│   ├── UnknownSchemaVersion     written in a form this version cannot read
│   ├── MalformedRecord          does not have the shape of its type
│   └── ConflictingRecord        the same name was written before with other content
├── NotFound
│   ├── UnknownTrajectory
│   ├── UnknownStep              the trajectory has no step of that index
│   ├── UnknownAnnotation        no such mark or note
│   ├── UnknownDataset
│   └── UnknownPolicy            carries the nearest ids
├── InvalidQuery                 a limit or filter that makes no sense
│   └── InvalidCursor            a cursor that no page gave out
├── InvalidReviewRules           rules of disagreement that are not as such rules are; names the field
├── AnnotationRefused            a score, mark or note that cannot be taken
│   ├── InvalidScore             not from 0 to 1
│   ├── NotTheirs                it is another annotator's
│   └── StillRunning             the episode has not ended
├── DatasetRefused
│   ├── EmptySelection           the recipe selects no trajectory
│   ├── InvalidRoutes            rules that are not as routes are; names the route and the field
│   └── HeldOutRefused           the recipe reaches for tasks or splits that are never trained on
├── ExchangeError                what goes out to other systems' files, or comes in from them
│   ├── DamagedInput             a file to import is not what its format says; names the place
│   ├── UnknownFormat            no format of that name, or files of none that can be imported
│   ├── FolderTaken              the folder to export to holds something already
│   └── ExchangeExtraMissing     a package the format needs is not installed
├── JudgeError                   a judge that is a model behind an endpoint
│   ├── InvalidRubric            the rubric's file cannot be read, or says nothing
│   ├── UnreadableVerdict        a reply holds no verdict; says what is wrong with it
│   ├── UnreadablePicture        a screen to be shown cannot be read
│   └── NoVerdict                it came to none; carries the kind of trouble
├── NotReplayable                a recorded episode's actions do not lead through it again
├── NoLabels                     nothing says how good the steps are, or all of it says the same
└── RewardModelError             a process reward model is missing, damaged or fits another policy
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from deskhand_sandbox.errors import near_ones

if TYPE_CHECKING:
    from deskhand_flywheel.types import JudgeTrouble


class FlywheelError(Exception):
    """Root of this package's errors."""


class StoreError(FlywheelError):
    """The database or the disk failed."""


class StoreUnavailable(StoreError):
    """The store cannot be opened, or stayed locked past the deadline."""


class StoreTooNew(StoreError):
    """The store was written by a newer Deskhand."""


class StoreClosed(StoreError):
    """The store was used after `close`."""


class StorageFull(StoreError):
    """No space is left for rows or blobs."""


class CorruptStore(StoreError):
    """The database file is damaged, or is no database."""


class BlobError(FlywheelError):
    """Something about one picture or weight file."""


class MissingBlob(BlobError):
    """A digest that the blob store does not hold."""


class CorruptBlob(BlobError):
    """Bytes that no longer have the digest they were stored under."""


class RecordError(FlywheelError):
    """Something about one row."""


class UnknownSchemaVersion(RecordError):
    """A record written in a form this version cannot read."""

    def __init__(self, what: str, found: object, known: int) -> None:
        super().__init__(
            f"a stored {what} has schema version {found!r}, and this Deskhand reads version {known}: "
            "use the version of Deskhand that wrote it, or a newer one"
        )
        self.what, self.found, self.known = what, found, known

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.what, self.found, self.known))


class MalformedRecord(RecordError):
    """A record that does not have the shape of its type; says which field and what was found."""


class ConflictingRecord(RecordError):
    """The same name was written before with other content; nothing was changed."""


class NotFound(FlywheelError):
    """A name the store does not hold."""


class UnknownTrajectory(NotFound):
    """No trajectory has that id."""


class UnknownStep(NotFound):
    """The trajectory has no step of that index."""


class UnknownAnnotation(NotFound):
    """No such mark or note."""


class UnknownDataset(NotFound):
    """No dataset has that name or version."""


class UnknownPolicy(NotFound):
    """No kept policy has that id; carries the nearest ones."""

    def __init__(self, policy_id: str, known: Iterable[str]) -> None:
        hint, self.suggestions = near_ones(policy_id, known)
        super().__init__(f"no policy {policy_id!r} in the store{hint or '; the store keeps none yet'}")
        self.policy_id = policy_id

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.policy_id, self.suggestions))


class InvalidQuery(FlywheelError):
    """A limit or filter that makes no sense; says which."""


class InvalidCursor(InvalidQuery):
    """A cursor that no page gave out."""

    def __init__(self, cursor: str) -> None:
        super().__init__(f"the cursor {cursor!r:.80} is not one that this list gave out")
        self.cursor = cursor

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.cursor,))


class InvalidReviewRules(FlywheelError):
    """Rules of disagreement that are not as such rules are; names the field."""


class AnnotationRefused(FlywheelError):
    """A score, mark or note that cannot be taken."""


class InvalidScore(AnnotationRefused):
    """A score that is not from 0 to 1."""

    field = "score"


class NotTheirs(AnnotationRefused):
    """A mark or note of another annotator; nothing was changed."""


class StillRunning(AnnotationRefused):
    """An episode that has not ended cannot be marked; nothing was changed."""


class DatasetRefused(FlywheelError):
    """A dataset that must not be made."""


class EmptySelection(DatasetRefused):
    """The recipe selects no trajectory; carries how many a sieve left out, by why."""

    def __init__(self, message: str, left_out: Mapping[str, int]) -> None:
        super().__init__(message)
        self.left_out = left_out

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (str(self), self.left_out))


class InvalidRoutes(DatasetRefused):
    """Rules that are not as routes are; names the route and the field."""


class HeldOutRefused(DatasetRefused):
    """The recipe reaches for tasks or splits that are never trained on."""


class ExchangeError(FlywheelError):
    """Something about what goes out to other systems' files, or comes in from them."""


class DamagedInput(ExchangeError):
    """A file to import that is not what its format says; nothing was imported."""

    def __init__(self, place: str, what: str) -> None:
        super().__init__(f"{place}: {what}; nothing was imported")
        self.place, self.what = place, what

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.place, self.what))


class UnknownFormat(ExchangeError):
    """No format of that name, or files of none that can be imported."""


class FolderTaken(ExchangeError):
    """The folder to export to holds something already."""


class ExchangeExtraMissing(ExchangeError):
    """A package that the format needs is not installed; says what mends it."""


class JudgeError(FlywheelError):
    """Something about a judge that is a model behind an endpoint."""


class InvalidRubric(JudgeError):
    """The rubric's file cannot be read, or says nothing."""


class UnreadableVerdict(JudgeError):
    """A reply of a judge holds no verdict."""


class UnreadablePicture(JudgeError):
    """A screen to be shown to a judge, or to a process reward model, cannot be read."""


class NoVerdict(JudgeError):
    """A judge came to no verdict."""

    def __init__(self, message: str, *, trouble: JudgeTrouble) -> None:
        super().__init__(message)
        self.trouble = trouble


class RewardModelError(FlywheelError):
    """A process reward model is missing, damaged or fits another policy."""


class NotReplayable(FlywheelError):
    """A recorded episode's actions do not lead through it again; says where they stop."""


class NoLabels(FlywheelError):
    """Nothing says how good the steps are, or all of it says the same; says what makes labels."""
