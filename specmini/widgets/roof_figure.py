"""The roofline as a small drawing for readers without JavaScript."""

from __future__ import annotations

import math
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from specmini import catalog
from specmini.roofline.machine import Machine
from specmini.roofline.pass_parts import PassTime

if TYPE_CHECKING:
    from specmini.widgets.roofline_explorer import RooflineExplorer

WIDTH, HEIGHT = 340, 230
LEFT, RIGHT, TOP, BOTTOM = 50, 314, 24, 190
# Powers of ten, of operations per byte: no layer does less than one, and its label wants some room.
LEAST = -0.5
FEWEST_DECADES = 4


@cache
def speeds() -> tuple[int, int]:
    """Powers of ten between which the catalog's machines compute, in FLOP/s at 1 a byte and more.

    One axis for all of them: another machine then moves its roof and not the axis.
    """
    machines = catalog.machines().values()
    peaks = [(one.peak_flops, one.peak_flops_8bit, one.peak_flops_4bit) for one in machines]
    highest = max(peak for of_machine in peaks for peak in of_machine if peak is not None)
    lowest = min(machine.bandwidth for machine in machines)
    return math.floor(math.log10(lowest)), math.ceil(math.log10(highest))


def roof_svg(machine: Machine, widget: RooflineExplorer) -> str:
    """Return an SVG that draws the machine's roofline and the linear layers of both passes.

    Args:
        machine: the accelerator.
        widget: whose step and check are drawn.
    """
    peak = machine.peak(widget.arithmetic_bits)
    ridge, (low, high) = peak / machine.bandwidth, speeds()
    last = max(FEWEST_DECADES, math.ceil(math.log10(_intensity(widget.check))))

    def place(intensity: float, speed: float) -> tuple[float, float]:
        across = (math.log10(intensity) - LEAST) / (last - LEAST)
        up = (math.log10(speed) - low) / (high - low)
        return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)

    def mark(one: PassTime, words: str, lift: int, anchor: str) -> str:
        x, y = place(_intensity(one), float(one.linear_flops / one.weights_time))
        circle = f'<circle class="sm-mark sm-full" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        return circle + _text(x, y + lift, words, anchor, "sm-strong")

    start = max(10**LEAST, 10**low / machine.bandwidth)
    corners = [(start, machine.bandwidth * start), (ridge, peak), (10**last, peak)]
    roof = "L".join(f"{x:.1f},{y:.1f}" for x, y in (place(*corner) for corner in corners))
    floor = 10.0**low
    marks = [
        *(
            _text(place(10**power, floor)[0], BOTTOM + 16, f"{10**power:,}", "middle")
            for power in range(last + 1)
        ),
        *(
            _text(LEFT - 6, place(1, 10.0**power)[1] + 4, f"{10.0 ** (power - 12):,g}", "end")
            for power in range(low, high + 1)
        ),
        _text(place(ridge, floor)[0], BOTTOM - 6, f"ridge: {ridge:.0f} a byte", "middle"),
        _text((LEFT + RIGHT) / 2, HEIGHT - 6, "operations per byte read", "middle"),
        _text(2, 12, "TFLOP/s", "start"),
        mark(widget.step, "step", -10, "end"),
        mark(widget.check, "check", 20, "start"),
    ]
    title = (
        f"Roofline of {machine.name}: {machine.bandwidth / 1e12:.3g} TB/s up to {ridge:.0f} "
        f"operations a byte, then {peak / 1e12:,.4g} TFLOP/s. The plain step is at "
        f"{_intensity(widget.step):.3g}, the check at {_intensity(widget.check):.3g}."
    )
    return (
        f'<svg class="sm-chart" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{escape(title)}">'
        f'<path class="sm-line sm-roof" d="M{roof}"/>{"".join(marks)}</svg>'
    )


def _intensity(one: PassTime) -> float:
    return float(one.linear_flops / one.weight_bytes)


def _text(x: float, y: float, words: str, anchor: str, css_class: str = "") -> str:
    styled = f' class="{css_class}"' if css_class else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{styled}>{words}</text>'
