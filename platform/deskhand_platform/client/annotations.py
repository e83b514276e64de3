"""What people say of episodes, and of what policies are about to do, for both clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

from deskhand_platform.api.annotation_models import Annotations as Said
from deskhand_platform.api.annotation_models import MarkModel, NoteModel, ProposalModel
from deskhand_platform.api.models import Page
from deskhand_platform.client import calls
from deskhand_platform.client.connection import AsyncConnection, Connection
from deskhand_platform.client.flows import Call, Flow, Patience, T, exchange


class AsyncAnnotations(AsyncConnection):
    """Marks, notes and proposals, for programs that await."""

    async def annotations(self, id: str) -> Said:
        """What everybody marked and noted of an episode."""
        return await self._do(_annotations(id))

    async def mark_step(
        self, id: str, index: int, score: float, reason: str = "", *, annotator: str | None = None
    ) -> MarkModel:
        """Mark a step of an episode that has ended, or change one's mark.

        Args:
            score: 1 is good, 0 is bad.
            annotator: one's own name; None: the platform is asked for it first.
        """
        return await self._follow(_marked(self._patience, id, index, score, reason, annotator))

    async def unmark_step(self, id: str, index: int, *, annotator: str | None = None) -> None:
        """Take one's mark of a step back; the annotator as for `mark_step`."""
        await self._follow(_unmarked(self._patience, id, index, annotator))

    async def mark_trajectory(
        self, id: str, score: float, reason: str = "", *, annotator: str | None = None
    ) -> MarkModel:
        """Say whether a whole episode did what was asked; the arguments as for `mark_step`."""
        return await self._follow(_marked(self._patience, id, None, score, reason, annotator))

    async def unmark_trajectory(self, id: str, *, annotator: str | None = None) -> None:
        """Take one's mark of an episode back; the annotator as for `mark_step`."""
        await self._follow(_unmarked(self._patience, id, None, annotator))

    async def write_note(self, id: str, index: int, text: str) -> NoteModel:
        """Attach a note to a step; its episode may still run."""
        return await self._do(_write_note(id, index, text))

    async def edit_note(self, note_id: str, text: str) -> NoteModel:
        """Change one's note."""
        return await self._do(_edit_note(note_id, text))

    async def delete_note(self, note_id: str) -> None:
        """Take one's note back."""
        await self._do(_delete_note(note_id))

    def proposals(self) -> AsyncIterator[ProposalModel]:
        """What policies are about to do and wait for a person to accept or replace, the longest first."""
        return self._every(_proposals())

    async def proposal(self, id: str) -> ProposalModel:
        """One of them; for a day also when it is over."""
        return await self._do(_proposal(id))

    async def answer_proposal(
        self, id: str, replace: str | None = None, reason: str = "", answer: str = ""
    ) -> ProposalModel:
        """Accept what a policy is about to do, or do something else in its place.

        Args:
            replace: what to do, in the agent's grammar, thoughts first; None: it is accepted as it stands.
            answer: said to what is asked, where that is accepted; empty: nothing.
        """
        return await self._do(_answer(id, replace, reason, answer))


class Annotations(Connection):
    """Marks, notes and proposals, for programs that block."""

    def annotations(self, id: str) -> Said:
        """What everybody marked and noted of an episode."""
        return self._do(_annotations(id))

    def mark_step(
        self, id: str, index: int, score: float, reason: str = "", *, annotator: str | None = None
    ) -> MarkModel:
        """Mark a step of an episode that has ended, or change one's mark.

        Args:
            score: 1 is good, 0 is bad.
            annotator: one's own name; None: the platform is asked for it first.
        """
        return self._follow(_marked(self._patience, id, index, score, reason, annotator))

    def unmark_step(self, id: str, index: int, *, annotator: str | None = None) -> None:
        """Take one's mark of a step back; the annotator as for `mark_step`."""
        self._follow(_unmarked(self._patience, id, index, annotator))

    def mark_trajectory(
        self, id: str, score: float, reason: str = "", *, annotator: str | None = None
    ) -> MarkModel:
        """Say whether a whole episode did what was asked; the arguments as for `mark_step`."""
        return self._follow(_marked(self._patience, id, None, score, reason, annotator))

    def unmark_trajectory(self, id: str, *, annotator: str | None = None) -> None:
        """Take one's mark of an episode back; the annotator as for `mark_step`."""
        self._follow(_unmarked(self._patience, id, None, annotator))

    def write_note(self, id: str, index: int, text: str) -> NoteModel:
        """Attach a note to a step; its episode may still run."""
        return self._do(_write_note(id, index, text))

    def edit_note(self, note_id: str, text: str) -> NoteModel:
        """Change one's note."""
        return self._do(_edit_note(note_id, text))

    def delete_note(self, note_id: str) -> None:
        """Take one's note back."""
        self._do(_delete_note(note_id))

    def proposals(self) -> Iterator[ProposalModel]:
        """What policies are about to do and wait for a person to accept or replace, the longest first."""
        return self._every(_proposals())

    def proposal(self, id: str) -> ProposalModel:
        """One of them; for a day also when it is over."""
        return self._do(_proposal(id))

    def answer_proposal(
        self, id: str, replace: str | None = None, reason: str = "", answer: str = ""
    ) -> ProposalModel:
        """Accept what a policy is about to do, or do something else in its place.

        Args:
            replace: what to do, in the agent's grammar, thoughts first; None: it is accepted as it stands.
            answer: said to what is asked, where that is accepted; empty: nothing.
        """
        return self._do(_answer(id, replace, reason, answer))


def _annotations(id: str) -> Call[Said]:
    return calls.get(f"/v1/trajectories/{calls.part(id)}/annotations", calls.reading(Said))


def _marked(
    patience: Patience, id: str, index: int | None, score: float, reason: str, annotator: str | None
) -> Flow[MarkModel]:
    body, read = {"score": score, "reason": reason}, calls.reading(MarkModel)

    def call(path: str) -> Call[MarkModel]:
        return Call(method="PUT", path=path, read=read, body=body)

    return _of_ones_own(patience, id, index, annotator, call)


def _unmarked(patience: Patience, id: str, index: int | None, annotator: str | None) -> Flow[None]:
    def call(path: str) -> Call[None]:
        return Call(method="DELETE", path=path, read=calls.nothing, safe=False)

    return _of_ones_own(patience, id, index, annotator, call)


def _of_ones_own(
    patience: Patience, id: str, index: int | None, annotator: str | None, call: Callable[[str], Call[T]]
) -> Flow[T]:
    """A call about one's mark, whose address has one's name."""
    if annotator is None:
        annotator = (yield from exchange(calls.info(), patience)).user
    of = "" if index is None else f"/steps/{index}"
    path = f"/v1/trajectories/{calls.part(id)}{of}/marks/{calls.part(annotator)}"
    return (yield from exchange(call(path), patience))


def _write_note(id: str, index: int, text: str) -> Call[NoteModel]:
    path = f"/v1/trajectories/{calls.part(id)}/steps/{index}/notes"
    return Call(method="POST", path=path, read=calls.reading(NoteModel), body={"text": text}, safe=False)


def _edit_note(note_id: str, text: str) -> Call[NoteModel]:
    path = f"/v1/notes/{calls.part(note_id)}"
    return Call(method="PUT", path=path, read=calls.reading(NoteModel), body={"text": text})


def _delete_note(note_id: str) -> Call[None]:
    return Call(method="DELETE", path=f"/v1/notes/{calls.part(note_id)}", read=calls.nothing, safe=False)


def _proposals() -> Callable[[str | None], Call[Page[ProposalModel]]]:
    return calls.page("/v1/proposals", ProposalModel)


def _proposal(id: str) -> Call[ProposalModel]:
    return calls.get(f"/v1/proposals/{calls.part(id)}", calls.reading(ProposalModel))


def _answer(id: str, replace: str | None, reason: str, answer: str) -> Call[ProposalModel]:
    verdict = "accepted" if replace is None else "replaced"
    body = {"verdict": verdict, "reply": replace or "", "reason": reason, "answer": answer}
    path = f"/v1/proposals/{calls.part(id)}/answer"
    return Call(method="POST", path=path, read=calls.reading(ProposalModel), body=body, safe=False)
