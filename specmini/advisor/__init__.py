"""Should speculation be on? A configuration in, a verdict out, and how far to trust it.

``advice`` decides, and its names are names of this package; ``expected`` has the speedup at every
draft length, ``reasons`` says why, ``terms`` what only the public record tells, and ``errors`` how
wrong all that has been.
"""

from specmini.advisor.advice import (
    Advice,
    advise,
)

__all__ = ["Advice", "advise"]
