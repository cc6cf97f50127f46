"""How fast the built pages are on a slow phone: weight, arrival, layout shift, slider to repaint.

Run by hand after ``make book``: ``python tests/benchmarks/page_speed.py``. The network is held to
1.6 Mbit/s with 150 ms of delay and the processor to a quarter of its speed. Not a test: clocks on
shared machines are not evidence enough to fail a build.
"""

import argparse
import statistics
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1]))
from browser import built_site
from browser.looks import OBSERVE_SHIFTS, wire_bytes
from browser.reader import DESK, PHONE, SCROLL_THROUGH, Reader

from specmini.publish import chromium

BITS_PER_SECOND = 1.6e6
PATIENCE = 60_000  # milliseconds
DELAY = 150  # milliseconds
SLOWDOWN = 4  # of the processor
# A widget is ready once its fallback is gone; the page may hold several.
READY = """
  document.addEventListener("DOMContentLoaded", function look() {
    if (document.querySelector("[data-specmini] .sm-fallback")) requestAnimationFrame(look);
    else if (document.querySelector("[data-specmini]")) window.ready = performance.now();
  });
"""
TIMES = """() => ({
  paint: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  load: performance.getEntriesByType("navigation")[0].loadEventEnd,
  ready: window.ready || null,
})"""
# One move of a slider: until its handler is done, and until the frame that follows is painted.
MOVE = """async ([slider, moves]) => {
  const handled = [], painted = [];
  const low = Number(slider.min), high = Number(slider.max);
  for (let move = 0; move < moves; move += 1) {
    slider.value = low + (high - low) * ((move * 0.37) % 1);
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    handled.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = done;
      channel.port2.postMessage(null);
    }));
    painted.push(performance.now() - start);
    await new Promise((done) => setTimeout(done, 30));
  }
  return { handled, painted };
}"""


def slow_phone(tab: Page) -> None:
    tab.set_default_navigation_timeout(PATIENCE)
    client = tab.context.new_cdp_session(tab)
    client.send("Network.enable")
    client.send(
        "Network.emulateNetworkConditions",
        {
            "offline": False,
            "latency": DELAY,
            "downloadThroughput": BITS_PER_SECOND / 8,
            "uploadThroughput": BITS_PER_SECOND / 8,
        },
    )
    client.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})


def patient(reader: Reader, page: str, width: int) -> Page:
    """Open a page on the slow phone and wait until it is all there."""
    tab = reader.open(
        page,
        width=width,
        before=OBSERVE_SHIFTS + READY,
        prepare=slow_phone,
        settle=False,
    )
    tab.wait_for_function(
        "!document.querySelector('[data-specmini] .sm-fallback')", timeout=PATIENCE
    )
    return tab


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def report_arrival(reader: Reader, page: str, width: int, repeats: int) -> None:
    times, shifts, loaded = [], [], set()
    for _ in range(repeats):
        before = len(reader.requested)
        tab = patient(reader, page, width)
        times.append(tab.evaluate(TIMES))
        tab.evaluate(SCROLL_THROUGH)
        shifts.append(sum(shift["value"] for shift in tab.evaluate("layoutShifts")))
        loaded = set(reader.requested[before:])
        reader.close()
    weight = sum(wire_bytes(reader.site / name) for name in loaded)
    parts = [f"{page:26s}{width:5d} px", f"{weight / 1000:5.1f} KB"]
    for name in ("paint", "load", "ready"):
        known = [run[name] for run in times if run[name] is not None]
        parts.append(f"{name} {statistics.median(known) / 1e3:5.2f} s" if known else " " * 13)
    print("   ".join([*parts, f"shift {max(shifts):.4f}"]))


def report_sliders(reader: Reader, kind: str, page: str, index: int, moves: int) -> None:
    tab = patient(reader, page, PHONE)
    widget = tab.locator(f"[data-specmini={kind}]").nth(index)
    widget.scroll_into_view_if_needed()
    for slider in widget.locator("input[type=range]").all():
        name = slider.evaluate("(node) => node.labels[0].textContent")
        result = slider.evaluate(f"(node, moves) => ({MOVE})([node, moves])", moves)
        handler, repaint = (statistics.median(result[key]) for key in ("handled", "painted"))
        worst = percentile(result["painted"], 0.95)
        print(
            f"{page:26s}{kind} {index + 1}   {name:20s} handler {handler:5.1f} ms"
            f"   repaint {repaint:5.1f} ms, p95 {worst:5.1f} ms"
        )
    reader.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="visits; medians are printed")
    parser.add_argument("--moves", type=int, default=100, help="of each slider")
    parser.add_argument("--pages", nargs="*", help="such as book/editor.html; all by default")
    options = parser.parse_args()
    site = built_site.SITE.resolve()
    if not (site / "index.html").exists():
        sys.exit(f"no site in {site}: {built_site.HOW_TO_BUILD}")
    with sync_playwright() as playwright, built_site.Server(site, zipped=True) as server:
        executable = chromium.find(playwright.chromium.executable_path)
        if executable is None:
            sys.exit(chromium.HOW_TO_GET)
        browser = playwright.chromium.launch(
            executable_path=executable, args=list(chromium.ARGUMENTS)
        )
        reader = Reader(browser, site, server.origin)
        print(f"{BITS_PER_SECOND / 1e6} Mbit/s, {DELAY} ms, processor {SLOWDOWN} times slower")
        chosen = options.pages or built_site.pages()
        for page in chosen:
            for width in (PHONE, DESK):
                report_arrival(reader, page, width, options.repeats)
        for kind in ("explorer", "roof", "player", "overlap"):
            for page, index in built_site.widgets(kind):
                if page not in chosen:
                    continue
                report_sliders(reader, kind, page, index, options.moves)
        browser.close()


if __name__ == "__main__":
    main()
