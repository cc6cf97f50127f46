"""What another site shows when a page of the book is linked there: its words, and a picture.

Each page gets a description, Open Graph and Twitter tags, and a card: a PNG with its title, its
answer and the mark of the book. The words are the page's own. Tags that need the site's address
take it from ``html_baseurl`` (``baseurl`` in ``_config.yml``) and are left out while that is empty.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import textwrap
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from docutils import nodes
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Rectangle
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from specmini.figures.style import COLOR
from specmini.files import replaced
from specmini.palette import PAGE
from specmini.practice.unicode_math import as_text
from specmini.site.logo import ROUND

__all__ = ["FOLDER", "HEIGHT", "WIDTH", "Card", "card", "draw", "setup", "tags"]

FOLDER: Final = "cards"  # in _static
WIDTH, HEIGHT = 1200, 630  # pixels, what Open Graph asks for
LONGEST: Final = 270  # characters of an answer that a card has room for
SENTENCE: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z0-9“\"])")
BEFORE_STOP: Final = re.compile(r"\s+(?=[.,;](?:\s|$))")
DPI: Final = 100
MARGIN: Final = 80


@dataclass(frozen=True)
class Card:
    """The words of a card: the page's title, and what it says first."""

    title: str
    text: str

    @property
    def digest(self) -> str:
        """Changes with the words, and with what draws them."""
        code = Path(__file__).read_bytes()
        return hashlib.sha256(repr((self, COLOR, PAGE)).encode() + code).hexdigest()[:16]


def _plain(node: nodes.Node) -> str:
    """Text of a paragraph, or of a block with several; formulas as Unicode."""
    if isinstance(node, nodes.math | nodes.math_block):
        return as_text(node.astext())
    if isinstance(node, nodes.Text):
        return str(node)
    between = " " if isinstance(node, nodes.admonition) else ""
    parts = (part for part in node.children if not isinstance(part, nodes.title))
    return between.join(map(_plain, parts))


def _shortened(text: str, longest: int = LONGEST) -> str:
    """The first sentences that fit; at least one, cut between words if it is too long itself."""
    sentences = SENTENCE.split(" ".join(text.split()))
    kept = sentences[0]
    for sentence in sentences[1:]:
        if len(kept) + 1 + len(sentence) > longest:
            break
        kept += f" {sentence}"
    return textwrap.shorten(kept, longest, placeholder=" …")


def card(document: nodes.document) -> Card | None:
    """Words of the card of a page: its answer, or its first paragraph where it has no answer.

    Returns:
        None for a page without a title or a paragraph.
    """
    title = next(iter(document.findall(nodes.title)), None)
    answers = (
        block for block in document.findall(nodes.admonition) if "answer" in block["classes"]
    )
    said = next(answers, None) or next(iter(document.findall(nodes.paragraph)), None)
    if title is None or said is None:
        return None
    text = BEFORE_STOP.sub("", _plain(said).replace("; =", "="))
    return Card(title=title.astext(), text=_shortened(text))


def draw(words: Card, path: Path) -> None:
    """Draw a card of 1200 by 630 pixels as PNG; the file appears in one step.

    Args:
        words: what it says.
        path: where.
    """
    style: Any = {"font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"]}
    with rc_context(style):
        figure = Figure(figsize=(WIDTH / DPI, HEIGHT / DPI), dpi=DPI, facecolor=PAGE.light)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set(xlim=(0, WIDTH), ylim=(HEIGHT, 0))
        axes.axis("off")
        axes.add_patch(Rectangle((0, 0), 20, HEIGHT, color=COLOR["target"]))
        ink: Any = {"color": COLOR["ink"], "va": "top", "parse_math": False}
        title = textwrap.wrap(words.title, 34)
        axes.text(MARGIN, 66, "\n".join(title), fontsize=34, weight="bold", **ink)
        top = 66 + 64 * len(title) + 30
        answer = "\n".join(textwrap.wrap(words.text, 62))
        axes.text(MARGIN, top, answer, fontsize=21.5, linespacing=1.55, **ink)
        for place, kind in enumerate(ROUND):
            _draw_token(axes, kind, MARGIN + 52 * place, HEIGHT - 98, 40)
        name = "When does speculative decoding win?"
        if words.title != name:
            axes.text(
                WIDTH - 60, HEIGHT - 78, name, fontsize=17, ha="right", va="center",
                color=COLOR["muted"],
            )  # fmt: skip
        plain: Any = {"format": "png", "dpi": DPI, "metadata": {"Software": None}}
        replaced(path, lambda part: figure.savefig(part, **plain))


def _draw_token(axes: Any, kind: str, x: float, y: float, side: float) -> None:
    color = COLOR[kind]
    if kind == "recovered":
        axes.add_patch(Circle((x + side / 2, y + side / 2), side / 2, color=color))
    elif kind == "accepted":
        axes.add_patch(Rectangle((x, y), side, side, color=color))
    else:
        axes.add_patch(Rectangle((x + 2, y + 2), side - 4, side - 4, fill=False, ec=color, lw=4))
        axes.plot([x - 4, x + side + 4], [y + side + 4, y - 4], color=color, lw=4)


def tags(words: Card, page: str, book: str, address: str = "", front: bool = False) -> str:
    """The ``<meta>`` elements of a page.

    Args:
        words: of its card.
        page: its name without suffix, as in ``book/editor``.
        book: title of the book.
        address: of the site; without one there is no picture, as its address would be unknown.
        front: whether it is the front page.
    """
    found = [
        ("name", "description", words.text),
        ("property", "og:type", "website" if front else "article"),
        ("property", "og:site_name", book),
        ("property", "og:title", words.title),
        ("property", "og:description", words.text),
        ("name", "twitter:card", "summary_large_image" if address else "summary"),
    ]
    if address:
        site = address.rstrip("/")
        picture = f"{site}/_static/{_picture(page)}"
        stop = "" if words.title.endswith(("?", "!")) else "."
        alt = f"{words.title}{stop} {words.text}"
        found += [
            ("property", "og:url", f"{site}/{page}.html"),
            ("property", "og:image", picture),
            ("property", "og:image:type", "image/png"),
            ("property", "og:image:width", str(WIDTH)),
            ("property", "og:image:height", str(HEIGHT)),
            ("property", "og:image:alt", alt),
            ("name", "twitter:image", picture),
            ("name", "twitter:image:alt", alt),
        ]
    return "".join(
        f'<meta {kind}="{name}" content="{escape(content)}" />\n' for kind, name, content in found
    )


def _picture(page: str) -> str:
    return f"{FOLDER}/{page.replace('/', '-')}.png"


def _check_address(app: Sphinx, config: Config) -> None:
    address = urlsplit(config.html_baseurl)
    if config.html_baseurl and not (address.scheme in ("http", "https") and address.netloc):
        raise ConfigError(
            "html_baseurl must be empty or an address that starts with https:// or http://, "
            f"got {config.html_baseurl!r}"
        )


def _add_tags(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    # The page that is written has resolved references; titles are whole in the one that was read.
    words = card(app.env.get_doctree(page)) if doctree is not None else None
    if words is None:
        return
    front = page == app.config.root_doc
    config = app.config
    if front:  # its title is the book's, which the browser's tab would say twice
        context["docstitle"] = ""
    found = tags(words, page, config.project, config.html_baseurl, front)
    context["metatags"] = context.get("metatags", "") + found
    # Drawing takes most of the time, and the words change rarely.
    kept = Path(app.outdir).parent / FOLDER / f"{words.digest}.png"
    kept.parent.mkdir(parents=True, exist_ok=True)
    if not kept.exists():
        draw(words, kept)
    place = Path(app.outdir) / "_static" / _picture(page)
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(kept, place)


def setup(app: Sphinx) -> None:
    """Connect to the build; ``specmini.sphinxext`` calls it."""
    app.connect("config-inited", _check_address)
    app.connect("html-page-context", _add_tags)
