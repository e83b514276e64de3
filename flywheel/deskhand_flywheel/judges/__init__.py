"""Judges: a vision-language model behind any OpenAI-compatible endpoint reads a step, or a whole episode,
against a written rubric, and says how good it was and why.

    judge = ProcessJudge(JudgeSettings(model="…", base_url="http://127.0.0.1:8000/v1"))
    report = await judge_store(store, judge)

`verdicts` reads replies, `prompts` says what is shown, `judge` asks, `judging` goes through a store.
"""

from deskhand_flywheel.judges.judge import JudgeSettings, OutcomeJudge, ProcessJudge
from deskhand_flywheel.judges.judging import JudgeReport, judge_store
from deskhand_flywheel.judges.rubrics import Rubric, read_rubric, rubric_of
from deskhand_flywheel.judges.verdicts import Verdict, read_verdict

__all__ = [
    "JudgeReport",
    "JudgeSettings",
    "OutcomeJudge",
    "ProcessJudge",
    "Rubric",
    "Verdict",
    "judge_store",
    "read_rubric",
    "read_verdict",
    "rubric_of",
]
