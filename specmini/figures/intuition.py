"""Figures of the Intuition part: time drawn as blocks, without a formula."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from specmini import checks
from specmini.figures.style import COLOR, ThemedFigure, canvas

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Schedule:
    """How one way of writing spends its time.

    Attributes:
        label: what stands beside the row.
        drafts: words the junior drafts before each check; 0 for plain writing.
        draft_cost: time of one drafted word, in plain steps.
        check_cost: time of one check, in plain steps.
        words: words gained by each round, in order; from 1 to ``drafts`` + 1 each.

    Raises:
        ValueError: a number is out of range.
    """

    label: str
    drafts: int
    draft_cost: float
    check_cost: float
    words: tuple[int, ...]

    def __post_init__(self) -> None:
        drafts = checks.single("drafts", checks.whole_number("drafts", self.drafts))
        checks.single("draft_cost", checks.non_negative("draft_cost", self.draft_cost))
        checks.single("check_cost", checks.positive("check_cost", self.check_cost))
        if not self.words or not all(1 <= gained <= drafts + 1 for gained in self.words):
            raise ValueError(
                f"words must hold whole numbers in [1, drafts + 1] = [1, {drafts + 1}], one a "
                f"round, got {self.words!r}"
            )

    @property
    def round_time(self) -> float:
        """Time of one round, in plain steps."""
        return self.drafts * self.draft_cost + self.check_cost

    @property
    def total_time(self) -> float:
        """Time until the last word stands, in plain steps."""
        return len(self.words) * self.round_time


def timelines(schedules: Sequence[Schedule]) -> ThemedFigure:
    """Rows of blocks on one time axis: drafting amber and narrow, checking blue.

    Args:
        schedules: two to nine ways of writing, first the plain one; all write the same number of
            words.

    Raises:
        ValueError: there are too few or too many, or they do not write the same number of words.
    """
    if not 2 <= len(schedules) <= len(NUMBERS) + 1:
        raise ValueError(f"schedules must hold 2 to {len(NUMBERS) + 1} ways, got {len(schedules)}")
    counts = {sum(schedule.words) for schedule in schedules}
    if len(counts) != 1:
        raise ValueError(f"schedules must all write the same number of words, got {sorted(counts)}")
    words = counts.pop()
    ways = NUMBERS[len(schedules) - 2]
    claim = f"The same {words} words, {ways} ways: the trick {_outcome(schedules)}"
    with canvas(claim, height=70 + 56 * len(schedules)) as (figure, [axes]):
        for row, schedule in enumerate(schedules):
            _draw_schedule(axes, row, schedule)
        axes.set_ylim(len(schedules) - 0.45, -0.75)
        axes.set_xlim(0, max(schedule.total_time for schedule in schedules) * 1.16)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(visible=False)
        axes.axvline(schedules[0].total_time, color=COLOR["muted"], linestyle=":", linewidth=1.2)
        axes.set_xlabel("time (plain steps: what the editor needs for a word)")
    description = "Time to write the same words. " + " ".join(
        f"{schedule.label}: {len(schedule.words)} rounds of {schedule.round_time:.4g} plain steps, "
        f"{schedule.total_time:.4g} in all."
        for schedule in schedules
    )
    return ThemedFigure("timelines", claim, description, figure)


def _outcome(schedules: Sequence[Schedule]) -> str:
    """What the others' times are beside the first one's, in words."""
    plain, *others = (schedule.total_time for schedule in schedules)
    pays, costs = min(others) < plain, max(others) > plain
    if pays and costs:
        return "pays, or it costs"
    return "pays" if pays else "costs" if costs else "changes nothing"


def _draw_schedule(axes: Axes, row: int, schedule: Schedule) -> None:
    height, start = 0.34, 0.0
    axes.text(0, row - 0.28, schedule.label, va="bottom")
    for gained in schedule.words:
        for _ in range(schedule.drafts):
            axes.barh(row, schedule.draft_cost, height, left=start, color=COLOR["draft"],
                      edgecolor=COLOR["surface"], linewidth=0.4)  # fmt: skip
            start += schedule.draft_cost
        axes.barh(row, schedule.check_cost, height, left=start, color=COLOR["target"],
                  edgecolor=COLOR["surface"], linewidth=1.2)  # fmt: skip
        start += schedule.check_cost
        # Above the block rather than in it: text must read on the page in both modes.
        axes.text(start - schedule.check_cost / 2, row + 0.21, f"+{gained}", ha="center", va="top",
                  fontsize=9.5, color=COLOR["ink"])  # fmt: skip
    axes.text(start + 0.15, row, f"{schedule.total_time:.4g}", va="center", fontweight="bold")
