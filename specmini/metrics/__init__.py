"""What a running server says about its drafts.

``counts`` turns counters into quantities, and its names are names of this package; ``pages`` reads
them from metrics pages and logs.
"""

from specmini.metrics.counts import (
    DraftCounts,
    between,
)

__all__ = ["DraftCounts", "between"]
