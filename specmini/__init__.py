"""specmini: when does speculative decoding win? The theory, executable.

Paper wing, in reading order (NumPy alone)::

    theory       tokens per round, round cost, speedup, the best draft length, break-even
    conversions  what serving tools print, turned into those quantities
    roofline     the time of one pass from a machine, a model's shape and the load
    catalog      machines and models, each number with its source
    configuration  what somebody runs, read from words; cost is what a round of it costs
    record       public reports, papers and engines as data, and the theory held against them
    advisor      a verdict on a configuration, an interval, and the reasons
    metrics      what a server counted
    load         a server under arriving requests, simulated pass by pass
    command      all that on the command line, one command a file in commands

Lab wing, from text to speedup. What runs, or measures, a trained model needs torch; the loop
itself, which is sampling to generate, does not::

    corpus       training text that needs no download
    tokenizer    byte-pair encoding, in a file one can read
    gpt          a tiny GPT with a cache; trained by training, stored by checkpoints
    sampling     from logits to the distribution that is sampled
    verify       accept, recover, bonus: the rule that keeps the output exact, also for trees
    drafters     what guesses tokens, one idea a file; heads read the target's features
    generate     plain and speculative decoding in one loop, with a record of every round
    generate_tree  the same with trees
    engine       what runs a model: a table for proofs, torch anywhere, the fastest for a clock
    exact        a rule summed over all that can happen; lossless compares what engines write
    pair         the trained target and draft
    measure      where the wings meet: measured speedup beside predicted
    ladder       every drafter beside the others; recording keeps rounds to be replayed
    batch        many sequences at once: ragged acceptance, continuous batching
    hugging_face  the pair for other engines, their models for ours

Around them: ``palette``, ``tables`` and ``figures`` show, ``widgets`` let a reader move things,
``practice`` asks back what the chapters teach, ``sphinxext``, ``site`` and ``notebooks`` turn
the chapters into a site, and ``publish`` packs it. The paper wing imports neither the lab nor
these. ``specmini.theory`` and the others are loaded when first used.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if not TYPE_CHECKING:  # a type checker finds modules by itself, and should miss those that are not

    def __getattr__(name: str) -> object:
        if name in _modules():
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*globals(), *_modules()])


def _modules() -> set[str]:
    return {module.name for module in iter_modules(__path__)}
