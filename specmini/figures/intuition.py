"""Figures of the Intuition part: time drawn as blocks, without a formula."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from specmini.figures.style import COLOR, ThemedFigure, canvas


@dataclass(frozen=True)
class Schedule:
    """How one way of writing spends its time.

    Attributes:
        label: what stands beside the row.
        drafts: words the junior drafts before each check; 0 for plain writing.
        draft_cost: time of one drafted word, in plain steps.
        check_cost: time of one check, in plain steps.
        words: words gained by each round, in order.
    """

    label: str
    drafts: int
    draft_cost: float
    check_cost: float
    words: tuple[int, ...]

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
        schedules: the ways of writing, first the plain one; all write the same number of words.

    Raises:
        ValueError: if the schedules do not write the same number of words.
    """
    counts = {sum(schedule.words) for schedule in schedules}
    if len(counts) != 1:
        raise ValueError(f"schedules must all write the same number of words, got {sorted(counts)}")
    words = counts.pop()
    claim = f"The same {words} words, four ways: the trick pays, or it costs"
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
