"""What somebody runs, as far as it decides whether speculation pays.

``Configuration`` is the plain record; ``defaults`` makes one from words, with a documented default
for each that is missing, and ``wording`` reads what people write about their setting.
"""

from specmini.configuration.configuration import (
    CLASSES,
    Configuration,
    PlainTime,
)

__all__ = ["CLASSES", "Configuration", "PlainTime"]
