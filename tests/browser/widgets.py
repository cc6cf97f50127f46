"""A widget on an open page, as a reader finds it: its controls, their names, what it shows."""

import json
import re
from collections.abc import Iterator
from urllib.parse import quote, unquote

from playwright.sync_api import Locator, Page

CONTROLS = "input, select, button, summary, a[href], [tabindex='0']"
SAID_AFTER = 700  # milliseconds; the widgets speak once the reader has stopped for less than this

# Everything a reader sees but the controls' own values: those change even if nothing else does.
EVIDENCE = """(widget) => {
  const copy = widget.cloneNode(true);
  copy.querySelectorAll("[role=status], input, select").forEach((node) => node.remove());
  const drawn = [...widget.querySelectorAll("svg path, svg circle")]
    .map((node) => node.getAttribute("d") + node.getAttribute("transform"));
  const open = [...widget.querySelectorAll("details")].map((node) => node.open);
  return copy.textContent + drawn.join() + open.join();
}"""

LISTEN = """(widget) => {
  window.announced = [];
  const live = "[role=status], [role=alert], [aria-live], output";
  for (const node of widget.querySelectorAll(live))
    new MutationObserver(() => announced.push(node.textContent))
      .observe(node, { childList: true, characterData: true, subtree: true });
}"""
HOST = re.compile(r'<div class="specmini-host" data-specmini="\w+">.*?</script></div>', re.DOTALL)


class Widget:
    """One widget of a page, the `index`-th of its kind there."""

    def __init__(self, tab: Page, kind: str, index: int = 0) -> None:
        self.tab, self.kind, self.index = tab, kind, index
        self.box = tab.locator(f"[data-specmini={kind}]").nth(index).locator(".sm")
        self.box.wait_for()
        self.name = f"{kind} {index + 1} on {tab.url.split('/')[-1]}"

    def evidence(self) -> str:
        """Everything it shows, as one string to compare with a later one."""
        return self.box.evaluate(EVIDENCE)

    def said(self) -> str:
        """The last announcement for screen readers."""
        self.tab.wait_for_timeout(SAID_AFTER)
        return self.box.locator("[role=status]").inner_text()

    def listen(self) -> None:
        """Note from now on whatever a screen reader would be told."""
        self.box.evaluate(LISTEN)

    def heard(self) -> list[str]:
        return self.tab.evaluate("announced")

    def slider(self, label: str) -> Locator:
        return self.box.get_by_role("slider", name=label)

    def number(self, label: str) -> Locator:
        return self.box.get_by_role("spinbutton", name=label)

    def button(self, label: str) -> Locator:
        return self.box.get_by_role("button", name=label, exact=True)

    def press(self, label: str, key: str = "Enter") -> None:
        """Press a button from the keyboard."""
        self.button(label).focus()
        self.tab.keyboard.press(key)

    def type_number(self, label: str, text: str) -> Locator:
        """Replace what a number field holds, key by key, and leave it with Enter."""
        field = self.number(label)
        field.focus()
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.press("Delete")
        self.tab.keyboard.type(text)
        self.tab.keyboard.press("Enter")
        return field

    def set(self, **values: object) -> None:
        """Give an explorer new settings, through the address as a link would."""
        query = "&".join(f"{name}={quote(str(value))}" for name, value in values.items())
        anchor = self.box.locator("a.sm-link").get_attribute("href").split("?")[0]
        self.tab.evaluate("(hash) => { location.hash = hash; }", f"{anchor[1:]}?{query}")
        self.tab.wait_for_function("(hash) => location.hash === hash", arg=f"{anchor}?{query}")
        self.tab.evaluate("() => new Promise(requestAnimationFrame)")

    def setting(self) -> dict[str, str]:
        """The settings that its link holds."""
        query = self.box.locator("a.sm-link").get_attribute("href").split("?")[1]
        return {
            name: unquote(text) for name, text in (pair.split("=") for pair in query.split("&"))
        }

    def expected_stops(self) -> list[str]:
        """Every control a reader can use now, in the order of the page."""
        return self.box.evaluate(
            """(widget, what) => [...widget.querySelectorAll(what)]
              .filter((node) => !node.disabled && node.checkVisibility())
              .map((node, number) => (node.dataset.stop = String(number)))""",
            CONTROLS,
        )

    def tabbed_stops(self) -> Iterator[tuple[str, str, str]]:
        """Press Tab through the widget; yields stop number, role and accessible name of each."""
        self.box.locator(CONTROLS).first.focus()
        self.tab.keyboard.press("Shift+Tab")
        client = self.tab.context.new_cdp_session(self.tab)
        for _ in range(60):
            self.tab.keyboard.press("Tab")
            focused = "document.activeElement"
            if not self.box.evaluate("(widget) => widget.contains(document.activeElement)"):
                client.detach()
                return
            node = client.send("Runtime.evaluate", {"expression": focused})["result"]["objectId"]
            query = {"objectId": node, "fetchRelatives": False}
            (known,) = client.send("Accessibility.getPartialAXTree", query)["nodes"]
            stop = self.tab.evaluate(f"{focused}.dataset.stop")
            yield stop, known["role"]["value"], known.get("name", {}).get("value", "")
        raise AssertionError(f"{self.name}: Tab never leaves")


class AnyExplorer(Widget):
    """An explorer of any kind: a verdict, lines of numbers, and what it refused."""

    def terms(self) -> dict[str, str]:
        """Label and text of each line of the formula."""
        return self.box.locator("dl.sm-formula").evaluate(
            """(list) => Object.fromEntries([...list.querySelectorAll("dt")]
              .map((term) => [term.textContent, term.nextElementSibling.textContent]))"""
        )

    def verdict(self) -> str:
        return self.box.locator(".sm-verdict").inner_text()

    def result(self) -> tuple[str, dict[str, str]]:
        return self.verdict(), self.terms()

    def notice(self) -> str:
        return self.box.locator(":scope > .sm-error").inner_text()

    def table(self) -> list[list[str]]:
        """Rows of the numbers that are folded away below the drawing, where there are some."""
        if not self.box.locator("details").evaluate("(node) => node.open"):
            self.box.locator("summary").click()
        rows = self.box.locator("details tbody tr")
        rows.first.wait_for()
        return [row.locator("th, td").all_inner_texts() for row in rows.all()]


class Explorer(AnyExplorer):
    """The speedup explorer."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "explorer", index)

    def marks(self) -> str:
        return " / ".join(self.box.locator("svg .sm-strong").all_text_contents())

    def curve(self) -> list[float]:
        """Speedup at each draft length, read off the drawn line and its axis."""
        drawn = self.box.locator("svg").evaluate(
            """(svg) => ({
              ticks: [...svg.querySelectorAll("text[text-anchor=end]:not(.sm-strong)")]
                .map((text) => [parseFloat(text.textContent), Number(text.getAttribute("y")) - 4]),
              line: svg.querySelector("path.sm-line.sm-full").getAttribute("d"),
            })"""
        )
        (low, bottom), (high, top) = drawn["ticks"][0], drawn["ticks"][-1]
        heights = [float(point.split(",")[1]) for point in drawn["line"].strip("M").split("L")]
        return [low + (high - low) * (y - bottom) / (top - bottom) for y in heights]


class Roof(AnyExplorer):
    """The roofline explorer."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "roof", index)

    def bill(self) -> dict[str, list[str]]:
        """Each part of the table with what it says of step and check."""
        rows = self.box.locator(".sm-bill tbody tr")
        return {
            row.locator("th").inner_text(): row.locator("td").all_inner_texts()
            for row in rows.all()
        }

    def places(self) -> dict[str, list[tuple[float, float]]]:
        """Operations per byte and TFLOP/s of the roof's corners and of the marks, as drawn."""
        drawn = self.box.locator("svg").evaluate(
            """(svg) => {
              const texts = [...svg.querySelectorAll("text:not(.sm-halo)")].map((text) =>
                [text.textContent, Number(text.getAttribute("x")), Number(text.getAttribute("y"))]);
              const digits = ([words]) => /^[\\d.,]+$/.test(words);
              const numbers = texts.filter(digits)
                .map(([words, x, y]) => [Number(words.replaceAll(",", "")), x, y]);
              const across = numbers.filter(([, , y]) => y === numbers.at(-1)[2]);
              const at = (node) => node.getAttribute("transform").match(/[\\d.]+/g).map(Number);
              return {
                across: across.map(([value, x]) => [value, x]),
                up: numbers.filter((one) => !across.includes(one))
                  .map(([value, , y]) => [value, y - 4]),
                roof: svg.querySelector("path.sm-roof").getAttribute("d").slice(1).split("L")
                  .map((point) => point.split(",").map(Number)),
                linear: [...svg.querySelectorAll(".sm-mark.sm-full")].map(at),
                attention: [...svg.querySelectorAll(".sm-mark.sm-ring")].map(at),
              };
            }"""
        )

        def value(position: float, ticks: list[list[float]]) -> float:
            (low, start), (high, end) = ticks[0], ticks[-1]
            return low * (high / low) ** ((position - start) / (end - start))

        return {
            kind: [(value(x, drawn["across"]), value(y, drawn["up"])) for x, y in drawn[kind]]
            for kind in ("roof", "linear", "attention")
        }


class Player(Widget):
    """The round player."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "player", index)

    def tally(self) -> list[str]:
        """Rounds, words, passes saved, mean so far, mean expected, as they stand there."""
        return self.box.locator("dl.sm-tally dd").all_inner_texts()

    def counts(self) -> tuple[int, int, int]:
        rounds, words, saved = (int(text.replace(",", "")) for text in self.tally()[:3])
        return rounds, words, saved

    def words_shown(self) -> int:
        return self.box.locator(".sm-text .sm-word").count()

    def status(self) -> str:
        return self.box.locator(".sm-status").inner_text()

    def race(self) -> tuple[str, str, str]:
        """Of a recording: the clock, tokens with a draft, tokens by plain decoding."""
        counts = self.box.locator(".sm-count").all_inner_texts()
        return (self.box.locator(".sm-clock").inner_text(), *counts)

    def history(self) -> list[str]:
        return self.box.locator("ol.sm-history li").all_inner_texts()


class Overlap(AnyExplorer):
    """The overlap explorer."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "overlap", index)

    def bars(self, side: str) -> list[float]:
        """Lengths of one side's bars, read off the drawing and its axis."""
        drawn = self.box.locator("svg").evaluate(
            """(svg, side) => {
              const shape = /M([\\d.]+),[\\d.]+H([\\d.]+)/;
              const ends = (path) => path.getAttribute("d").match(shape);
              const lines = svg.querySelector(".sm-grid").getAttribute("d").match(/M[\\d.]+/g);
              return {
                scale: [lines.at(0), lines.at(-1)].map((line) => Number(line.slice(1))),
                bars: [...svg.querySelectorAll(`.sm-${side}-bar`)]
                  .map((path) => ends(path).slice(1).map(Number)),
              };
            }""",
            side,
        )
        zero, one = drawn["scale"]
        return [(end - start) / (one - zero) for start, end in drawn["bars"]]


class InterviewBox(Widget):
    """The interview."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "interview", index)
        self.stage = self.box.locator(".sm-stage")

    def go(self, number: int) -> None:
        """Choose a step, counted from 0, in the list of steps."""
        self.box.get_by_label("Step").select_option(str(number))

    def title(self) -> str:
        return self.stage.locator(".sm-label").first.inner_text()

    def feedback(self) -> str:
        return self.stage.locator(".sm-feedback").inner_text()

    def write(self, text: str) -> Locator:
        """Replace what the answer's field holds, from the keyboard."""
        field = self.stage.get_by_role("textbox").first
        field.focus()
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.press("Delete")
        self.tab.keyboard.insert_text(text)
        return field

    def tick(self, *texts: str) -> None:
        """Tick exactly these boxes, with the space bar."""
        for box in self.stage.get_by_role("checkbox").all():
            wanted = box.evaluate("(node) => node.labels[0].textContent") in texts
            if box.is_checked() != wanted:
                box.press("Space")

    def lines(self) -> list[str]:
        return self.stage.locator(".sm-lines li > span:last-child").all_inner_texts()


class Spot(Widget):
    """A paragraph to spot errors in."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "spot", index)

    def option(self, position: int) -> Locator:
        return self.box.locator("[role=option]").nth(position)

    def words(self) -> list[str]:
        return self.box.locator("[role=option]").all_text_contents()

    def position(self) -> int:
        """The word that has the focus."""
        return self.box.locator("[role=option]").evaluate_all(
            "(options) => options.indexOf(document.activeElement)"
        )

    def at(self, position: int) -> None:
        """Go to a word from the keyboard."""
        self.box.locator("[role=option][tabindex='0']").focus()
        way = position - self.position()
        for _ in range(abs(way)):
            self.tab.keyboard.press("ArrowRight" if way > 0 else "ArrowLeft")

    def mark(self, position: int) -> None:
        """Mark or unmark a word from the keyboard."""
        self.at(position)
        self.tab.keyboard.press("Enter")

    def marked(self) -> list[int]:
        return self.box.locator("[role=option]").evaluate_all(
            "(options) => options.flatMap((option, position) =>"
            " option.ariaSelected === 'true' ? [position] : [])"
        )

    def told(self) -> str:
        return self.box.locator(".sm-told").inner_text()

    def reasons(self) -> list[str]:
        return self.box.locator(".sm-reasons li").all_inner_texts()

    def focused(self) -> str:
        return self.tab.evaluate("document.activeElement.textContent")

    def stored(self) -> dict[str, float]:
        """The scores that the browser keeps of the page's paragraphs."""
        text = self.tab.evaluate("localStorage.getItem('specmini:progress')")
        return json.loads(text)["pages"].get("spot", {}) if text else {}


class Calculator(AnyExplorer):
    """The advice calculator."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "advice", index)

    def command(self) -> str:
        return self.box.locator(".sm-command code").inner_text()

    def warnings(self) -> list[str]:
        return self.box.locator(".sm-warnings li").all_inner_texts()

    def type_text(self, label: str, text: str) -> Locator:
        """Replace what a text field holds, and leave it with Enter."""
        field = self.box.get_by_role("textbox", name=label, exact=True)
        field.focus()
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.press("Delete")
        self.tab.keyboard.type(text)
        self.tab.keyboard.press("Enter")
        return field


class Drafters(AnyExplorer):
    """The drafter explorer."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "drafters", index)

    def places(self) -> dict[str, list[tuple[float, float]]]:
        """Acceptance rate and cost of the marks, as drawn: known, measured, and the reader's."""
        drawn = self.box.locator("svg").evaluate(
            """(svg) => {
              const texts = [...svg.querySelectorAll("text:not(.sm-halo)")].map((text) =>
                [Number(text.textContent), Number(text.getAttribute("x")),
                 Number(text.getAttribute("y")), text.getAttribute("text-anchor")])
                .filter(([value]) => !Number.isNaN(value));
              const at = (node) => node.getAttribute("transform").match(/[\\d.]+/g).map(Number);
              return {
                across: texts.filter(([, , , anchor]) => anchor === "middle"),
                up: texts.filter(([, , , anchor]) => anchor === "end"),
                known: [...svg.querySelectorAll(".sm-mark.sm-known")].map(at),
                measured: [...svg.querySelectorAll(".sm-mark.sm-measured")].map(at),
                you: [...svg.querySelectorAll(".sm-mark.sm-full")].map(at),
              };
            }"""
        )
        (left, x0, *_), (right, x1, *_) = drawn["across"][0], drawn["across"][-1]
        (low, _, y0, _), (high, _, y1, _) = drawn["up"][0], drawn["up"][-1]

        def value(x: float, y: float) -> tuple[float, float]:
            rate = left + (right - left) * (x - x0) / (x1 - x0)
            return rate, low * (high / low) ** ((y - (y0 - 4)) / (y1 - y0))

        return {
            kind: [value(*place) for place in drawn[kind]] for kind in ("known", "measured", "you")
        }


class Cards(Widget):
    """The flash cards."""

    def __init__(self, tab: Page, index: int = 0) -> None:
        super().__init__(tab, "cards", index)

    def question(self) -> str:
        return self.box.locator(".sm-question").inner_text()

    def answer(self) -> str:
        return self.box.locator(".sm-answer").inner_text()

    def counts(self) -> list[int]:
        """Cards due, new, and to repeat today."""
        return [
            int(n) for n in re.findall(r"\d+", self.box.locator(".sm-verdict strong").inner_text())
        ]

    def grades(self) -> dict[str, str]:
        """What the grade buttons promise: grade to day."""
        words = self.box.locator(".sm-cards > .sm-actions, .sm-actions").first.inner_text()
        return dict(re.findall(r"\d (\w+): ([^\n]+)", words))

    def kept(self) -> str | None:
        """What the browser stores of it."""
        return self.tab.evaluate("localStorage.getItem('specmini:cards')")


WIDGET_CLASSES = {
    **{"explorer": Explorer, "roof": Roof, "player": Player, "overlap": Overlap},
    **{"drafters": Drafters, "advice": Calculator, "interview": InterviewBox, "spot": Spot},
    "cards": Cards,
}


def with_first_widget_twice(html: str) -> str:
    """A page on which the first widget stands two times, one below the other."""
    return HOST.sub(lambda host: host.group() * 2, html, count=1)


def last_number(text: str) -> str:
    """The first number after the last equals sign, as it is written there."""
    found = re.search(r"-?\d[\d,]*(?:\.\d+)?", text.replace("−", "-").split("=")[-1])
    assert found, f"no number in {text!r}"
    return found.group().replace(",", "")


def shows(text: str, value: float) -> bool:
    """Whether a number as written is `value`, rounded to the digits it has."""
    digits = len(text.split(".")[1]) if "." in text else 0
    return abs(float(text) - value) <= 0.5 * 10**-digits + 1e-9
