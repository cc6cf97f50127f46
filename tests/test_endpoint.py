"""A server as an engine: what is sent, what is read back, and what is refused."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from specmini.lossless.comparison import compare
from specmini.lossless.endpoint import Endpoint
from specmini.sampling import Sampling

FORMS = {
    "OpenAI's completions": lambda tokens: {"logprobs": {"tokens": [f"<{t}>" for t in tokens]}},
    "llama.cpp": lambda tokens: {"logprobs": {"content": [{"id": t} for t in tokens]}},
    "vLLM's ids": lambda tokens: {"token_ids": tokens, "logprobs": None},
}


class Handler(BaseHTTPRequestHandler):
    """Tokens drawn from ``chances``, in the server's form; a broken server has its own answers."""

    def do_GET(self):
        self.answer(self.server.listed)

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        if self.server.broken is not None:
            self.answer(self.server.broken)
            return
        with self.server.lock:
            drawn = self.server.rng.choice(
                len(self.server.chances), (body["n"], body["max_tokens"]), p=self.server.chances
            ).tolist()
        self.answer({"choices": [FORMS[self.server.form](tokens) for tokens in drawn]})

    def answer(self, content):
        if callable(content):
            content(self)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def serve():
    """Start a server on this computer."""
    running = []

    def start(chances=(0.5, 0.3, 0.2), form="OpenAI's completions", broken=None):
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.asked, server.form, server.broken = [], form, broken
        server.listed = {"data": [{"id": "small"}]}
        server.chances, server.rng = chances, np.random.default_rng(len(running))
        server.lock = threading.Lock()
        server.address = f"http://127.0.0.1:{server.server_port}/v1"
        running.append(server)
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        return server

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


def test_what_is_sent(serve):
    server = serve()
    engine = Endpoint(
        server.address, sampling=Sampling(0.7, 20, 0.9), fields={"speculative.n_max": 0}, choices=2
    )
    assert len(engine.write("Once", 3, 5)) == 5
    assert sorted(body["n"] for _, body in server.asked) == [1, 2, 2]
    path, body = server.asked[0]
    assert path == "/v1/completions"
    assert body == {
        "model": "small", "prompt": "Once", "max_tokens": 3, "n": body["n"], "temperature": 0.7,
        "top_p": 0.9, "top_k": 20, "logprobs": 1, "speculative.n_max": 0,
    }  # fmt: skip
    assert engine.sends == (
        f"the prompt, to {server.address}/completions, with temperature 0.7, top-p 0.9, top-k 20, "
        '{"speculative.n_max": 0}'
    )


@pytest.mark.parametrize("form", FORMS)
def test_tokens_in_every_form(serve, form):
    texts = Endpoint(serve(form=form).address).write([1, 2], 3, 4)
    assert [len(text) for text in texts] == [3] * 4
    assert {str(token).strip("<>") for text in texts for token in text} <= {"0", "1", "2"}


def test_servers_are_compared(serve):
    """The chance of a false alarm is 0.01 for the first two."""
    same = [Endpoint(serve().address) for _ in range(2)]
    rng = np.random.default_rng(1)
    found = compare(*same, ["x"], rng, new_tokens=2, samples=150, turn=50, catch=0.4)
    assert found.finding == "no difference found"
    other = Endpoint(serve((0.1, 0.1, 0.8)).address)
    assert compare(same[0], other, ["x"], rng, samples=60).finding == "differs"


def redirect(handler):
    handler.send_response(302)
    handler.send_header("Location", "http://example.org/")
    handler.end_headers()


def overloaded(handler):
    handler.send_error(503, "overloaded")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"choices": []}, r"must give 1 choices, got \[\]"),
        ({"choices": [{"text": "hello"}]}, "must give the tokens of a text, as logprobs.tokens"),
        ({"choices": [{"logprobs": {"content": [3]}}]}, "must give the tokens of a text"),
        ([1], "must answer with an object"),
        (redirect, "redirected to http://example.org/"),
        (overloaded, "503"),
        (lambda handler: handler.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n{"), "gave no answer"),
        (lambda handler: handler.wfile.write(b"tea\r\n"), "gave no answer: tea"),
    ],
)
def test_broken_answers_are_explained(serve, broken, message):
    server = serve(broken=broken)
    with pytest.raises(ValueError, match=message):
        Endpoint(server.address, model="small").write("x", 1, 1)


def test_a_server_without_models_needs_a_name(serve):
    server = serve()
    server.listed = {"data": []}
    with pytest.raises(ValueError, match="model must be given"):
        Endpoint(server.address).write("x", 1, 1)


def test_nobody_there():
    with pytest.raises(ValueError, match="gave no answer"):
        Endpoint("http://127.0.0.1:9/v1", model="small").write("x", 1, 1)


@pytest.mark.parametrize(
    "address",
    [
        "localhost:8000",
        "ftp://localhost/",
        "http://",
        "http://[::1",
        "file:///etc",
        "http://localhost:99999/",
        "http://localhost:x/",
        "http://localhost/v 1",
        "http://localhost/\u00fc",
    ],
)
def test_addresses_must_be_of_the_web(address):
    with pytest.raises(ValueError, match="address must be such as http://localhost:8000/v1"):
        Endpoint(address)


@pytest.mark.parametrize(
    "address", ["http://example.org/v1", "http://10.0.0.1/v1", "http://localhost.example.org/v1"]
)
def test_other_computers_must_be_meant(address):
    with pytest.raises(ValueError, match="address must be of this computer"):
        Endpoint(address)
    assert Endpoint(address, remote=True).address == address


@pytest.mark.parametrize("address", ["http://localhost/v1", "http://127.0.0.2/v1", "http://[::1]/"])
def test_addresses_of_this_computer(address):
    assert Endpoint(address).address == address


@pytest.mark.parametrize("change", [{"choices": 0}, {"at_once": 0}, {"timeout": 0}])
def test_options_are_checked(change):
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
        Endpoint("http://localhost/v1", **change)
