"""What the built site is made of beside its chapters; ``specmini.sphinxext`` puts it together.

``formulas`` typesets mathematics once, at build time; ``icons`` cuts the icon font to what is used,
``dead_rules`` the style sheet, and ``bundle`` joins what all pages load. ``logo`` draws the mark,
``social`` what other sites show of a page. ``structure`` reads the package's own source.
"""
