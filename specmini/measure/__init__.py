"""Where the wings meet: speedup by the clock, beside what the theory makes of α, c and v.

``comparison`` times plain and speculative decoding side by side, and its names are names of this
package. Beside it::

    tallies      counts and clocks of rounds, added up; tree_tallies those of trees
    cell         one setting, measured and predicted; results keeps them on disk
    speedup_interval  how sure a speedup is, on student's distribution
    latency      the time of a pass by itself; rehearsal times whole rounds before any decision
    trial        a pair on trial on this machine; engine_runs the pair in engines people use
    repetition   how often a text loops
"""

from specmini.measure.comparison import (
    Comparison,
    Progress,
    Write,
    compare,
    in_turn,
    take_turns,
)

__all__ = ["Comparison", "Progress", "Write", "compare", "in_turn", "take_turns"]
