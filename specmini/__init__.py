"""specmini: when does speculative decoding win? The theory, executable.

Paper wing, in reading order (NumPy alone)::

    theory       tokens per round, round cost, speedup, the best draft length, break-even
    hit_rate     the same when some rounds have no draft
    conversions  what serving tools print, turned into those quantities
    engines      what they offer and what its settings are called; what providers say they use
    published    tables from the literature, as data
    roofline     the time of one pass from a machine and a model shape
    overhead     what a pass costs beside its bytes and operations
    experts      mixture of experts: how many a pass touches
    catalog      machines and models, each number with its source
    claims       what is said about speculation: verdict, condition, evidence
    deployment   a model on a machine; draft_cost adds what proposes
    ridge        tokens a pass from which arithmetic limits a deployment, experts included
    batch_speedup  speedup and the best draft length at every batch
    tree_shape   the best tree of N guesses, and the best N
    crossover    from which batch on speculation loses, and from which context on it does not
    configuration  what somebody runs; configured makes one from words, which wording reads
    round_cost   what a round of it costs; calibrated does so from measured plain times
    record       public reports as data; terms are fitted to them, record_check has the errors
    advisor      a verdict on a configuration, an interval, and the reasons
    metrics      what a server counted; metrics_text reads pages and logs
    load         a server under arriving requests, simulated pass by pass
    command      all that on the command line, one command a file in commands

Lab wing, from text to speedup. What runs, or measures, a trained model needs torch; the engine
itself, which is sampling to generate, does not::

    corpus       training text that needs no download
    tokenizer    byte-pair encoding, in a file one can read
    gpt          a tiny GPT with a cache; trained by training, stored by checkpoints
    sampling     from logits to the distribution that is sampled
    verify       accept, recover, bonus: the rule that keeps the output exact
    block_verify  accept more of the same draft, just as exactly; tree verifies guesses that branch
    drafters     what guesses tokens, one idea a file
    table_model  a model that is a table, for proofs; cached_model says what any model must do
    generate     plain and speculative decoding in one loop, with a record of every round
    generate_tree  the same with trees; tree_model says what a model must do to see one
    audit        a rule tried on all that can happen; lossless compares what engines write
    pair         the trained target and draft; torch_model, numpy_model and fast_model run them
    measure      where the wings meet: measured speedup beside predicted; trial adds a verdict
    hugging_face  the pair for other engines, their models for ours; engine_runs has the results
    batch        many sequences at once: ragged acceptance, continuous batching
    calibration  the roofline's constants for the computer at hand

Around them: ``palette``, ``tables`` and ``figures`` show, ``widgets`` let a reader move things,
``practice`` asks back what the chapters teach, ``sphinxext``, ``formulas`` and ``notebooks`` turn
the chapters into a site, ``publish`` packs it. The paper wing imports neither the lab nor these.
``specmini.theory`` and the others are loaded when first used.
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
