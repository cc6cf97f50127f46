"""specmini: when does speculative decoding win? The theory, executable.

Paper wing (NumPy only), in reading order::

    theory       tokens per round, round cost, speedup, the best draft length, break-even
    conversions  what serving tools print, turned into those quantities
    published    tables from the literature, as data
    roofline     the time of one pass from a machine and a model shape
    catalog      machines and models, each number with its source

Around it: ``palette`` and ``figures`` draw, ``widgets`` let a reader move things, ``sphinxext`` and
``notebooks`` turn the chapters into a site. Importing the paper wing imports none of these.
"""

__version__ = "0.1.0"
