"""How long one forward pass takes, from the machine, the model's shape and the load.

The time itself is in ``pass_time``, whose names are names of this package. Beside it::

    machine      what one accelerator computes, reads, holds and sends
    shape        the weights of a model, which of them a token meets, and its cache; experts too
    pass_parts   the parts of a pass and how its time adds up
    overhead     what a pass costs beside its bytes and operations
    deployment   a model on a machine; ridge: the tokens from which arithmetic limits it
    draft_cost   what a draft costs on the machine that also runs the target
    batch_speedup  speedup and the best draft length at every batch
    crossover    from which batch on speculation loses, and from which context on it does not
"""

from specmini.roofline.machine import Machine
from specmini.roofline.overhead import Overhead
from specmini.roofline.pass_parts import LARGEST_PARTS, PassTime
from specmini.roofline.pass_time import pass_time, ridge_tokens, verify_cost
from specmini.roofline.shape import Model

__all__ = [
    "LARGEST_PARTS",
    "Machine",
    "Model",
    "Overhead",
    "PassTime",
    "pass_time",
    "ridge_tokens",
    "verify_cost",
]
