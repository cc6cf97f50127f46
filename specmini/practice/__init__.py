"""The practice wing: what the chapters teach, asked back.

* ``gather`` reads the chapters' typed blocks; nothing that stands there is written again.
* ``source`` reads what goes beyond them, YAML files in ``specmini/data/practice``, and holds each
  to its schema; ``stated`` computes the numbers that their answers state.
* ``followups``, ``cards`` and ``sheet`` make pages of both; ``markup`` renders a block's Markdown.
* ``passages`` are paragraphs with errors to spot; ``marking`` grades what a reader marked.
* ``expression`` reads formulas; ``grader`` says of one what is right or wrong about it;
  ``interview`` asks for them.
* ``schedule`` says which card is due; ``anki`` and ``sheet_pdf`` write files to take along, and
  ``site`` has the build do so.
"""
