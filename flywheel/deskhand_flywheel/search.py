"""Full-text search over instructions and thoughts, alike on SQLite (FTS5) and PostgreSQL (tsvector).

A word is a run of letters and digits, without regard to case; whether marks on its letters are part of it is
the database's to say, which splits a query as it does what it has indexed. Words are found together in one
instruction or one thought: `login "sign in" pass* -admin` wants "login", the phrase "sign in" and a word that
begins with "pass", and no "admin". The indexes are kept by the databases themselves; revisions 0004 and 0007
make them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Text, cast, func, literal
from sqlalchemy.dialects.postgresql import TSQUERY
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from deskhand_flywheel.errors import InvalidQuery
from deskhand_flywheel.parts import column_text
from deskhand_flywheel.tables import trajectories

_TERM = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')
_LETTER = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Term:
    """Words that follow each other."""

    text: str
    """What they stand in, as columns hold it."""
    begins: bool
    """The last of them may go on."""
    wanted: bool


def terms_of(query: str) -> tuple[Term, ...]:
    """What a query asks for.

    Raises:
        InvalidQuery: it holds no word, or only words that are not wanted.
    """
    terms: list[Term] = []
    for minus, phrase, word in _TERM.findall(query):
        text = column_text(phrase or word)
        if _LETTER.search(text):
            terms.append(Term(text, begins=word.endswith("*"), wanted=not minus))
    if not any(term.wanted for term in terms):
        raise InvalidQuery(f"nothing to search for in {query!r}: name at least one word")
    return tuple(terms)


def says(query: str, *, since: str = "") -> ColumnElement[bool]:
    """The query as a condition on the `trajectories` table.

    Args:
        since: id that those looked for do not come before; a database may look at no others.

    Raises:
        InvalidQuery: it holds no word that is wanted.
    """
    terms = terms_of(query)
    return _Says(trajectories.c.id, literal(fts5_query(terms)), literal(since), *map(tsquery, terms))


def fts5_query(terms: tuple[Term, ...]) -> str:
    """In the language of SQLite's FTS5 (https://www.sqlite.org/fts5.html#full_text_query_syntax)."""

    def one(term: Term) -> str:
        return '"{}"'.format(term.text.replace('"', " ")) + ("*" if term.begins else "")

    wanted = " AND ".join(one(term) for term in terms if term.wanted)
    unwanted = "".join(f" NOT {one(term)}" for term in terms if not term.wanted)
    return f"said : (({wanted}){unwanted})"


def tsquery(term: Term) -> ColumnElement[Any]:
    """Of PostgreSQL's type, split as `words_of` splits (revision 0004)."""
    words = func.regexp_replace(term.text, "[^[:alnum:]]+", " ", "g")
    asked = func.phraseto_tsquery("simple", words)
    if term.begins:
        # of what is no word here nothing begins
        begun = func.nullif(cast(asked, Text), "").op("||")(":*")
        asked = func.coalesce(cast(begun, TSQUERY), asked)
    return asked if term.wanted else func.tsquery_not(asked)


class _Says(FunctionElement[bool]):
    type = Boolean()
    inherit_cache = True


@compiles(_Says, "sqlite")
def _sqlite(element: _Says, compiler: Any, **options: Any) -> str:
    column, query, *_ = element.clauses
    asked = compiler.process(query, **options)
    # a row's number says whose words it holds
    owners = f"SELECT rowid >> 20 FROM words WHERE words MATCH {asked}"
    return f"{compiler.process(column)} IN (SELECT trajectory_id FROM words_owner WHERE number IN ({owners}))"


@compiles(_Says, "postgresql")
def _postgresql(element: _Says, compiler: Any, **options: Any) -> str:
    column, _, since, *terms = (compiler.process(each, **options) for each in element.clauses)
    asked = f"({' && '.join(terms)})"
    said = f"SELECT trajectory_id FROM steps WHERE trajectory_id >= {since} AND words_of(said) @@ {asked}"
    told = f"SELECT id FROM trajectories WHERE id >= {since} AND words_of(instruction) @@ {asked}"
    return f"{column} IN ({told} UNION ALL {said})"
