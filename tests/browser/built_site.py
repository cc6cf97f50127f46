"""The built site as the browser tests find it: its pages, its server, its browser."""

import functools
import gzip
import os
import re
import threading
import time
from collections.abc import Callable
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).parents[2]
SITE = Path(os.environ.get("SPECMINI_SITE", ROOT / "_build" / "html"))
HOW_TO_BUILD = "run `make book`, or set SPECMINI_SITE to the folder of a built site"
TEXT = {".html", ".css", ".js", ".svg", ".json", ".txt"}
REDIRECT = re.compile(r'<meta\s+http-equiv="refresh"\s+content="\d+;\s*url=([^"]+)"', re.IGNORECASE)
WIDGET = re.compile(r'class="specmini-host" data-specmini="(\w+)"')
PLAYER_STATE = re.compile(
    r'data-specmini="player">.*?<script type="application/json">(.*?)</script>', re.DOTALL
)


@functools.cache
def html_files(site: Path = SITE) -> list[str]:
    """Every HTML file of a site, without the theme's own templates; sorted."""
    files = (path.relative_to(site) for path in site.rglob("*.html"))
    return sorted(path.as_posix() for path in files if path.parts[0] != "_static")


@functools.cache
def text_of(page: str, site: Path = SITE) -> str:
    return (site / page).read_text(encoding="utf-8")


@functools.cache
def pages(site: Path = SITE) -> list[str]:
    """The HTML files that hold something to read."""
    return [page for page in html_files(site) if not REDIRECT.search(text_of(page, site))]


def pages_with(*marks: str) -> list[str]:
    """The pages that contain any of some pieces of HTML."""
    return [page for page in pages() if any(mark in text_of(page) for mark in marks)]


def widgets(kind: str, site: Path = SITE) -> list[tuple[str, int]]:
    """Where widgets of a kind stand: page, and how many of the kind come before it there."""
    return [
        (page, index)
        for page in pages(site)
        for index in range(WIDGET.findall(text_of(page, site)).count(kind))
    ]


def simulated_players(site: Path = SITE) -> list[tuple[str, int]]:
    """Where round players stand that have no recording: page, and place among its players."""
    return [
        (page, index)
        for page in pages(site)
        for index, state in enumerate(PLAYER_STATE.findall(text_of(page, site)))
        if '"recording": []' in state
    ]


class _Quiet(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # one connection for many files, as real servers do

    def __init__(self, *args, late: Callable[[str], float], zipped: bool, **kwargs) -> None:
        self.late, self.zipped = late, zipped
        super().__init__(*args, **kwargs)

    def do_GET(self) -> None:
        time.sleep(self.late(self.path))
        path = Path(self.translate_path(self.path))
        if self.zipped and path.suffix in TEXT and path.is_file():
            body = gzip.compress(path.read_bytes(), mtime=0)
            self.send_response(200)
            self.send_header("Content-Type", self.guess_type(str(path)))
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        else:
            super().do_GET()

    def log_message(self, *args) -> None:
        pass


class Server:
    """Serves a folder on 127.0.0.1.

    `late` says how many seconds a path is held back; `zipped` compresses text, as hosts do.
    """

    def __init__(
        self, site: Path, late: Callable[[str], float] = lambda path: 0, zipped: bool = False
    ) -> None:
        handler = functools.partial(_Quiet, directory=str(site), late=late, zipped=zipped)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Server":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
