"""What the built site is made of beside its chapters; ``specmini.sphinxext`` puts it together.

``formulas`` typesets mathematics once, at build time; ``icons`` cuts the icon font to what is used.
"""
