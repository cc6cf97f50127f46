"""How well a reader marked the errors of a paragraph, and the hints on the way.

A mark is a phrase that is judged, or a run of neighboring words that are not. Marking any word of a
phrase marks all of it. Precision is the share of marks that are errors, recall the share of errors
that are marked, and the score is their harmonic mean: twice the errors found over marks plus errors
(the F measure of van Rijsbergen 1979 with equal weights; Dice's coefficient).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from specmini import checks
from specmini.practice.passages import Passage, bare

__all__ = ["HINTS", "Grade", "completed", "grade", "hint", "percent"]

HINTS: Final = 3  # how many errors, in which sentences, and how the next one begins


@dataclass(frozen=True)
class Grade:
    """What some marks are worth.

    Attributes:
        found: ids of the errors that are marked.
        missed: ids of the errors that are not.
        wrongly: ids of the phrases that are marked and right.
        strays: runs of marked words that belong to no phrase.
    """

    found: tuple[str, ...]
    missed: tuple[str, ...]
    wrongly: tuple[str, ...]
    strays: int

    @property
    def marks(self) -> int:
        """How many marks there are."""
        return len(self.found) + len(self.wrongly) + self.strays

    @property
    def errors(self) -> int:
        """How many errors there are, found or not."""
        return len(self.found) + len(self.missed)

    @property
    def precision(self) -> float:
        """Share of the marks that are errors; 0 without a mark."""
        return len(self.found) / self.marks if self.marks else 0.0

    @property
    def recall(self) -> float:
        """Share of the errors that are marked."""
        return len(self.found) / self.errors

    @property
    def score(self) -> float:
        """Twice the errors found over marks plus errors, in [0, 1]; 1 for exactly the errors."""
        return 2 * len(self.found) / (self.marks + self.errors)

    def __str__(self) -> str:
        if not self.marks:
            return f"Nothing is marked yet; {_count(self.errors, 'error')} to find."
        found = len(self.found)
        return (
            f"{found} of {_count(self.errors, 'error')} found with {_count(self.marks, 'mark')}. "
            f"Precision {found}/{self.marks}: the marks that are errors. "
            f"Recall {found}/{self.errors}: the errors that are marked. "
            f"Score {percent(self.score)}: twice the errors found over marks plus errors."
        )


def completed(passage: Passage, marks: Iterable[int]) -> tuple[int, ...]:
    """Return the marked words in order, with all words of every phrase that has a marked one.

    Args:
        passage: the paragraph.
        marks: positions of words.

    Raises:
        ValueError: a position is not of the paragraph.
    """
    most = len(passage.words) - 1
    given = set()
    for mark in marks:
        if isinstance(mark, bool) or not isinstance(mark, int) or not 0 <= mark <= most:
            raise ValueError(
                f"marks must be whole numbers in [0, {most}], got {checks.shown(mark)}"
            )
        given.add(mark)
    for span in passage.spans:
        if given.intersection(span.positions):
            given.update(span.positions)
    return tuple(sorted(given))


def grade(passage: Passage, marks: Iterable[int]) -> Grade:
    """Return what the marks are worth.

    Args:
        passage: the paragraph.
        marks: positions of the marked words.

    Raises:
        ValueError: a position is not of the paragraph.
    """
    given = set(completed(passage, marks))
    in_spans = {position for span in passage.spans for position in span.positions}
    plain = given - in_spans
    return Grade(
        found=tuple(span.id for span in passage.errors if span.first in given),
        missed=tuple(span.id for span in passage.errors if span.first not in given),
        wrongly=tuple(
            span.id for span in passage.spans if not span.is_error and span.first in given
        ),
        strays=sum(position - 1 not in plain for position in plain),
    )


def hint(passage: Passage, marks: Iterable[int], step: int) -> str:
    """Return a hint about the errors that are not marked, the more telling the later its step.

    Args:
        passage: the paragraph.
        marks: positions of the marked words.
        step: 1 how many errors there are, 2 in which sentences, 3 how the next one begins.

    Raises:
        ValueError: there is no such step, or a position is not of the paragraph.
    """
    if step not in range(1, HINTS + 1):
        raise ValueError(f"step must be a whole number in [1, {HINTS}], got {checks.shown(step)}")
    missed = grade(passage, marks).missed
    left = [span for span in passage.errors if span.id in missed]
    if step == 1:
        verb = "is" if len(passage.errors) == 1 else "are"
        return f"There {verb} {_count(len(passage.errors), 'error')} in this paragraph."
    if not left:
        return "All errors are marked."
    if step == 2:
        places = Counter(sum(start <= span.first for start in passage.sentences) for span in left)
        listed = "; ".join(f"sentence {place}: {count}" for place, count in sorted(places.items()))
        return f"Errors not yet marked: {listed}."
    return f"The next error begins with “{bare(passage.words[left[0].first])}”."


def percent(score: float) -> str:
    """A score in whole percent, halves rounded up as the page's script does."""
    return f"{math.floor(100 * score + 0.5)}%"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
