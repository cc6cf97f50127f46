"""Every figure of the book is a function here; a chapter calls it and shows what it returns.

``style`` holds the one look; each other module draws the figures of one part of the book.
"""

from specmini.figures.style import ThemedFigure

__all__ = ["ThemedFigure"]
