"""Accept, recover, bonus: the rule that makes speculative decoding exact, and its relatives.

``chain`` is the rule for one chain of tokens, and its names are names of this package; ``block``
verifies a chain as a whole, ``tree`` guesses that branch, and ``lossy`` holds the rules that accept
more than they may.
"""

from specmini.verify.chain import (
    Draft,
    Verdict,
    Verify,
    empty_draft,
    verify,
)

__all__ = ["Draft", "Verdict", "Verify", "empty_draft", "verify"]
