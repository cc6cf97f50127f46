"""Words, pages, servers and numbers that are broken: an answer or one line that names the thing."""

import math
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini import theory
from specmini.checks import whole_number
from specmini.command import main
from specmini.commands.printing import draw as draw_figure
from specmini.configuration import wording
from specmini.configuration.defaults import shape_of_size
from specmini.engine.table_model import TableModel, random_table
from specmini.lossless.endpoint import Endpoint
from specmini.metrics import DraftCounts
from specmini.metrics.pages import fetch, read_counts
from specmini.record import read_report
from specmini.sampling import Sampling, draw
from specmini.theory import hit_rate, tree_shape
from specmini.verify import Draft, verify

RUN = ["advise", "--target", "Qwen3-32B", "--machine", "h100", "--drafter", "draft model 1B"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--plain", "inf:3"], "--plain must be N:MS"),
        (["--plain", "nan:3"], "--plain must be N:MS"),
        (["--plain", "1e400:3"], "--plain must be N:MS"),
        (["--weights", "0bpw"], "bits must be a finite number in"),
        (["--draft-weights", "0bpw"], "draft_bits must be a finite number in"),
        (["--target", "0b"], "target must have between 0 and 1e+15 parameters"),
        (["--target", "9" * 400 + "b"], "target must have between 0 and 1e+15 parameters"),
        (["--drafter", "draft model 0b"], "drafter must have between 0 and 1e+15 parameters"),
        (["--draft-length", "9" * 5000], "draft_length must have at most 300 digits"),
        (["--drafter", "eagle steps" + "9" * 5000], "draft_length must have at most 300 digits"),
    ],
)
def test_words_that_cannot_be_used_are_named(capsys, words, message):
    assert main([*RUN, *words]) == 2
    said = capsys.readouterr()
    assert said.err.startswith(f"specmini advise: {message}")
    assert said.err.count("\n") == 1
    assert not said.out


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"speedup": "9" * 400}, "speedup must be a number or a range"),
        ({"speedup": "1.2", "workload": "9" * 5000 + "-token prompt"}, "context must have at most"),
        ({"speedup": "1.2", None: ["too", "many"]}, "row must have a cell for each column"),
    ],
)
def test_reports_that_cannot_be_used_are_named(cells, message):
    with pytest.raises(ValueError, match=message):
        read_report({"drafter": "eagle", "target": "7b", **cells})


def test_a_raised_two_is_no_number_of_requests():
    report = read_report({"drafter": "eagle", "target": "7b", "speedup": "1", "concurrency": "²"})
    assert report.configuration.concurrency == 1


@pytest.mark.parametrize("parameters", [0.0, math.inf, math.nan])
def test_a_model_has_parameters(parameters):
    with pytest.raises(ValueError, match="parameters must be a finite number in"):
        shape_of_size(wording.Size(parameters, 1e9))


# --- pages and logs -------------------------------------------------------------------------

PAGE = (
    "vllm:spec_decode_num_drafts 10\nvllm:spec_decode_num_draft_tokens 40\n"
    "vllm:spec_decode_num_accepted_tokens 20\n"
)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('vllm:spec_decode_num_accepted_tokens_per_pos{position="999999999"} 3', "must not have g"),
        ('vllm:spec_decode_num_accepted_tokens_per_pos{position="9999999999"} 3', "a position mus"),
        ("vllm:num_requests_running NaN", "running must be finite and at least 0, got nan"),
        ("vllm:num_requests_running +Inf", "running must be finite and at least 0, got inf"),
        ("vllm:num_requests_waiting -3", "waiting must be finite and at least 0, got -3"),
        ("vllm:spec_decode_num_draft_tokens 1e300", "rounds must be such that one drafts at most"),
    ],
)
def test_numbers_of_a_page_that_mean_nothing_are_named(line, message):
    with pytest.raises(ValueError, match=message.replace("+", r"\+")):
        read_counts(f"{PAGE}{line}\n")


def test_rounds_that_are_next_to_none_are_refused():
    with pytest.raises(ValueError, match="rounds must be such that one drafts at most 1,000,000"):
        DraftCounts("x", 5e-324, 1.0)


@pytest.mark.parametrize(
    "piece",
    [
        "Mean acceptance length: 1, ",
        "Mean acceptance length: 1, Accepted: 1 tokens, ",
        "Decode batch #running-req: 1 ",
        "Decode batch #running-req: 1 accept len: ",
        "statistics a: #gen drafts = 1 ",
        "statistics a: #gen drafts = 1 #gen tokens = 1",
        "[AR] AVERAGE" + " " * 50_000,
        "draft acceptance = 1 (",
        "vllm:a_total",
    ],
)
def test_a_line_that_repeats_itself_takes_no_quadratic_time(piece):
    line = piece * (1_000_000 // len(piece))
    begun = time.process_time()
    with pytest.raises(ValueError, match="text must be a metrics page"):
        read_counts(line)
    assert time.process_time() - begun < 5.0  # quadratic: minutes


def test_a_source_without_end_is_read_to_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("specmini.metrics.pages.LARGEST", 1000)
    path = tmp_path / "log"
    path.write_bytes(b"x" * 5000)
    assert len(fetch(str(path))) == 1000

    def whole(*_):
        raise MemoryError

    monkeypatch.setattr("pathlib.Path.read_bytes", whole)
    assert len(fetch(str(path))) == 1000


ADDRESSES = ["http://localhost:abc/", "http://local host:1/", "http://localhost:1\r\nX: y/"]


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_that_are_none_are_told(address):
    with pytest.raises(ValueError, match="cannot read"):
        fetch(address)
    with pytest.raises(ValueError, match=r"must be such as http|gave no answer|of this computer"):
        Endpoint(address, model="m", timeout=1.0).write([1], 1, 1)


ANSWERS = [
    b"",
    b"nonsense\r\n\r\n",
    b"HTTP/1.1 999999999 x\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 500 + b"\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"a" * 100_000 + b"\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
    b"HTTP/1.1 200 OK\r\n\r\n\xff\xfe",
]


@pytest.fixture
def answering():
    """A server that sends whatever bytes it is given."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self):
            self.raw_requestline = self.rfile.readline(100_000)
            self.close_connection = True
            if self.raw_requestline:
                self.parse_request()
                length = int(self.headers["Content-Length"] or 0)
                self.rfile.read(length)
                self.wfile.write(self.server.content)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,)).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("content", ANSWERS, ids=range(len(ANSWERS)))
def test_answers_that_are_none_are_told(answering, content):
    answering.content = content
    address = f"http://127.0.0.1:{answering.server_port}"
    with pytest.raises(ValueError, match=r"gave no answer|must answer with"):
        Endpoint(address, model="m", timeout=5.0).write([1], 1, 1)
    try:
        read_counts(fetch(address))
    except ValueError as error:
        said = str(error)
    assert "cannot read" in said or "text must be" in said


# --- numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8, np.uint64])
def test_whole_numbers_of_any_type(kind):
    assert whole_number("K", kind(4)) == 4
    assert theory.tokens_per_round(0.8, kind(4)) == theory.tokens_per_round(0.8, 4)
    with pytest.raises(ValueError, match="K must be a whole number"):
        whole_number("K", np.float16(0.5))


@pytest.mark.filterwarnings("error::RuntimeWarning")
@settings(deadline=None, max_examples=60)
@given(
    st.floats(0, 1), st.floats(0, allow_infinity=False), st.integers(1, 2**53),
    st.floats(0, exclude_min=True, allow_infinity=False), st.floats(0, 1e300),
)  # fmt: skip
def test_a_cost_past_every_double_is_infinite_and_never_nan(hit, cost, length, verify, search):
    whole = hit_rate.round_cost(hit, cost, length, verify, search)
    assert whole >= 0
    assert not hit_rate.speedup(hit, 0.5, cost, length, verify, search) < 0
    by_length = hit_rate.round_cost_by_length([1 - hit, hit], cost, verify, search)
    assert by_length >= 0
    if hit == 0:
        assert by_length == whole == search + 1.0


def test_a_tree_of_infinite_cost_wins_nothing():
    choice = tree_shape.best_choice([[0.5], [0.5]], 1e308, [1.0, 1e308])
    assert 0 <= choice.speedup < 1e-300


NO_NUMBERS = [None, "x", [["a"]], [[1j]], [[0.5, 0.5], [1.0]], [[True, False]], object()]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=range(len(NO_NUMBERS)))
def test_arrays_of_something_else_are_named(value):
    rng = np.random.default_rng(0)
    for name, call in {
        "target_probs": lambda: verify(value, Draft(np.array([0])), rng),
        "logits": lambda: Sampling().probs(value),
        "weights": lambda: draw(value, rng),
        "table": lambda: TableModel(value),
    }.items():
        with pytest.raises(ValueError, match=f"{name} must "):
            call()


@pytest.mark.parametrize("dtype", ["U1", "O", "c16", "?"])
def test_a_draft_holds_real_numbers(dtype):
    with pytest.raises(ValueError, match="probs must be an array of numbers"):
        Draft(np.array([0]), np.ones((1, 1)).astype(dtype))


def test_read_only_and_strided_arrays_give_the_same_verdict():
    rows = np.random.default_rng(1).dirichlet(np.ones(6), size=8)
    strided = np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]
    frozen = rows.copy()
    frozen.setflags(write=False)
    tokens = np.array([1, 2, 3])
    found = {
        (verdict.n_accepted, verdict.next_token)
        for p in (rows, strided, frozen, np.asfortranarray(rows))
        for verdict in [verify(p[:4], Draft(tokens, p[4:7]), np.random.default_rng(3))]
    }
    assert len(found) == 1


@pytest.mark.parametrize(
    "setting",
    [{"temperature": "1"}, {"temperature": None}, {"temperature": True}, {"temperature": [1.0]},
     {"top_p": "x"}, {"top_p": None}, {"top_p": math.nan}, {"top_k": [1, 2]}, {"top_k": 1.5}],
    ids=str,
)  # fmt: skip
def test_settings_of_something_else_are_named(setting):
    with pytest.raises(ValueError, match=next(iter(setting))):
        Sampling(**setting)


@pytest.mark.parametrize(
    "setting",
    [{"vocabulary": 0}, {"vocabulary": 1.5}, {"order": -1}, {"concentration": 0.0},
     {"concentration": math.inf}, {"concentration": "x"}],
    ids=str,
)  # fmt: skip
def test_a_random_table_has_tokens_and_an_order(setting):
    whole = {"vocabulary": 3, "order": 1, "rng": np.random.default_rng(0), **setting}
    with pytest.raises(ValueError, match=next(iter(setting))):
        random_table(**whole)


@pytest.mark.parametrize("context", [0, 2.5, "x", None, True])
def test_a_context_is_a_whole_number(context):
    with pytest.raises(ValueError, match="context must be a whole number"):
        TableModel([[1.0]], context)


def test_a_figure_that_cannot_be_drawn_leaves_the_old_one(tmp_path, monkeypatch):
    def fails(_):
        raise ValueError("no figure")

    path = tmp_path / "figure.svg"
    path.write_text("old")
    monkeypatch.setattr("specmini.figures.record.advice_by_length", fails)
    with pytest.raises(ValueError, match="no figure"):
        draw_figure(None, str(path))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
