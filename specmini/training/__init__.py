"""Train the tiny pair; ``python -m specmini.training --help`` is the way in.

A ``run`` takes steps with its ``settings`` and ``resume`` goes on with one; their names are names
of this package. Beside them::

    streams      the corpus as streams of token ids
    lessons      what is learned from a batch: its tokens, or what another model expects of them
    optimizer    Muon for matrices, Adam for the rest
    evaluation   bits per byte, and continuations to read
    stages       what a run learned from; log is what it wrote on the way
    model_card   a model's card
    command      the command line; reports are what it does with a model that is trained
"""

from specmini.training.log import Progress
from specmini.training.resume import resume
from specmini.training.run import Run
from specmini.training.settings import Settings

__all__ = ["Progress", "Run", "Settings", "resume"]
