"""The commands of ``specmini``, one a file; ``specmini.command`` puts them together.

A command's file has ``add``, which adds its parser with its options and sets ``answer``: a function
of the options that returns the text to print. A ``ValueError`` it raises becomes one line.
"""
