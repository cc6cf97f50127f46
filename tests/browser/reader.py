"""A reader of the site: opens pages in fresh browser contexts and notes everything that fails."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
    WebSocket,
)

from browser import facts

PHONE, DESK = 390, 1280
HEIGHT = {PHONE: 844, DESK: 900}
PATIENCE = 8_000  # milliseconds; a page that needs longer on an idle machine is broken
TAB_ICON = "/_static/specmini-favicon.svg"
UNMOUNTED = "[data-specmini] .sm-fallback"
SETTLED = """async () => {
  await document.fonts.ready;
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
SCROLL_THROUGH = """async () => {
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  for (let top = 0; top < document.documentElement.scrollHeight; top += innerHeight * 0.8) {
    scrollTo({ top, behavior: "instant" });
    await frame();
  }
  scrollTo({ top: 0, behavior: "instant" });
  await frame();
}"""


class Reader:
    """Opens pages of one site, over HTTP or as files, with everything else out of reach.

    `complaints` collects console errors, script errors, failed requests and requests to any other
    origin; `requested` the files of this site that pages asked for. A `lent` tab is used, cleaned,
    for the first page and given back clean: a new context costs as much as the page in it.
    """

    def __init__(self, browser: Browser, site: Path, origin: str, lent: Page | None = None) -> None:
        self.browser, self.site, self.origin, self._lent = browser, site, origin, lent
        self.complaints: list[str] = []
        self.requested: list[str] = []
        self._tabs: list[Page] = []
        self._listeners = {
            "console": self._console,
            "pageerror": self._script_error,
            "request": self._request,
            "requestfailed": self._failed,
            "response": self._answered,
            "websocket": self._socket,
        }
        ours = "|".join(re.escape(start) for start in (f"{origin}/", f"{site.as_uri()}/"))
        self._elsewhere = re.compile(rf"^(?!{ours}|data:|blob:|about:)")

    def address(self, page: str, by: str = "http") -> str:
        return f"{self.origin}/{page}" if by == "http" else (self.site / page).as_uri()

    def open(
        self,
        page: str,
        *,
        by: str = "http",
        width: int = DESK,
        scheme: str = "light",
        scripts: bool = True,
        motion: str = "no-preference",
        fragment: str = "",
        edit: Callable[[str], str] | None = None,
        before: str = "",
        prepare: Callable[[Page], None] | None = None,
        settle: bool = True,
        laid_out: bool = True,
    ) -> Page:
        """Open a page in a tab that knows nothing of others, and wait until it stands still.

        Args:
            page: path of the page in the site.
            by: "http" or "file".
            width: of the window, in CSS pixels.
            scheme: "light" or "dark", what the reader's system prefers.
            scripts: False for a reader without JavaScript.
            motion: "reduce" for a reader who wants no animation.
            fragment: what follows "#" in the address.
            edit: changes the HTML on its way to the browser.
            before: a script to run before the page's own.
            prepare: called with the empty tab, before anything is loaded.
            settle: False to get the page as soon as it has loaded.
            laid_out: False to leave sections that no reader has come near as a phone does, without
                a layout: nothing in them has a text or a place.
        """
        usual = scripts and not before and not prepare and self._lent not in self._tabs
        tab = (self._lent if usual else None) or new_tab(self.browser, java_script_enabled=scripts)
        self._tabs.append(tab)
        tab.set_viewport_size({"width": width, "height": HEIGHT.get(width, 900)})
        tab.emulate_media(media="null", color_scheme=scheme, reduced_motion=motion)
        tab.route(self._elsewhere, lambda route: route.abort())
        for event, note in self._listeners.items():
            tab.on(event, note)
        if before:
            tab.add_init_script(before)
        if prepare:
            prepare(tab)
        address = self.address(page, by)
        if edit:
            html = edit((self.site / page).read_text(encoding="utf-8"))
            tab.route(address, lambda route: route.fulfill(body=html, content_type="text/html"))
        tab.goto(address + (f"#{fragment}" if fragment else ""), wait_until="load")
        if settle and laid_out:
            facts.lay_out(tab)
        if settle and scripts:
            self.settle(tab)
        return tab

    def settle(self, tab: Page) -> None:
        """Wait for fonts and for every widget to take its place."""
        tab.evaluate(SETTLED)
        if tab.locator(UNMOUNTED).count():
            tab.wait_for_function(f"!document.querySelector('{UNMOUNTED}')", timeout=3_000)

    def close(self) -> None:
        for tab in self._tabs:
            if tab is self._lent:
                self._clean(tab)
            else:
                tab.context.close()
        self._tabs.clear()

    def is_ours(self, url: str) -> bool:
        return not self._elsewhere.match(url)

    def _clean(self, tab: Page) -> None:
        for event, note in self._listeners.items():
            tab.remove_listener(event, note)
        if not tab.url.startswith("about:"):
            tab.evaluate("localStorage.clear(), sessionStorage.clear()")
        tab.context.clear_permissions()
        tab.goto("about:blank")
        tab.unroute_all()

    def _note(self, where: str, complaint: str) -> None:
        self.complaints.append(f"{where}: {complaint}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._note(message.location["url"], message.text)

    def _script_error(self, error: Error) -> None:
        self._note(self._tabs[-1].url, f"script error: {error}")

    def _socket(self, socket: WebSocket) -> None:
        self._note(self._tabs[-1].url, f"opens a socket to {socket.url}")

    def _request(self, request: Request) -> None:
        if not self.is_ours(request.url):
            self._note(request.frame.url, f"asks another host for {request.url}")

    def _failed(self, request: Request) -> None:
        # "csp": a script announced by <link rel=preload>, in a browser that runs no scripts. A
        # browser fetches the icon of its tab when it likes, and drops it when the page is left.
        dropped = request.failure == "net::ERR_ABORTED" and request.url.endswith(TAB_ICON)
        if self.is_ours(request.url) and request.failure != "csp" and not dropped:
            self._note(request.frame.url, f"cannot load {request.url}: {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self._note(response.frame.url, f"gets {response.status} for {response.url}")
        elif response.url.startswith(self.origin):
            self.requested.append(unquote(urlsplit(response.url).path).lstrip("/"))


def new_tab(browser: Browser, **options: bool) -> Page:
    """A tab in a context of its own."""
    context = browser.new_context(service_workers="block", **options)
    context.set_default_timeout(PATIENCE)
    return context.new_page()
