"""Real rounds and real contexts as plain data, for players and explorers in the page.

``rounds`` records what came of each guess and how long it took, ``contexts`` what the pair expects
next (found by ``choosing``, made small by ``condensing``), and ``excerpts`` freezes the texts that
they start from.
"""
