"""Counters of servers: formats, arithmetic, contradictions, and that no text makes a traceback."""

import math
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmini.metrics import DraftCounts, between
from specmini.metrics.pages import fetch, read_counts


def page(
    drafts=1000, drafted=3000, accepted=1660, positions=(710, 530, 420), prefix="vllm", **more
):
    lines = [
        f"# HELP {prefix}:spec_decode_num_drafts_total Number of spec decoding drafts.",
        f"# TYPE {prefix}:spec_decode_num_drafts_total counter",
        f'{prefix}:spec_decode_num_drafts_total{{engine="0",model_name="m"}} {drafts}',
        f'{prefix}:spec_decode_num_drafts_created{{engine="0",model_name="m"}} 1.76e9',
        f'{prefix}:spec_decode_num_draft_tokens_total{{engine="0",model_name="m"}} {drafted}',
        f'{prefix}:spec_decode_num_accepted_tokens_total{{engine="0",model_name="m"}} {accepted}',
    ]
    lines += [
        f'{prefix}:spec_decode_num_accepted_tokens_per_pos_total{{engine="0",position="{i}"}} {n}'
        for i, n in enumerate(positions)
    ]
    lines += [f"{prefix}:{name} {value}" for name, value in more.items()]
    return "\n".join(lines) + "\n"


def test_a_page_of_vllm():
    counts = read_counts(page(num_requests_running=17.0, num_requests_waiting=2.0))
    assert counts.source == "vLLM metrics page"
    assert (counts.rounds, counts.drafted, counts.accepted) == (1000, 3000, 1660)
    assert counts.tokens_per_round == pytest.approx(2.66)
    assert counts.accepted_share == pytest.approx(1660 / 3000)
    assert counts.survival == (0.71, 0.53, 0.42)
    assert counts.rates_by_position == pytest.approx((0.71, 53 / 71, 42 / 53))
    assert (counts.draft_length, counts.running, counts.waiting) == (3, 17, 2)
    assert counts.remarks == ()
    alpha = counts.acceptance_rate
    assert 1 + alpha + alpha**2 + alpha**3 == pytest.approx(2.66)


def test_names_without_total_and_other_servers():
    assert read_counts(page().replace("_total", "")).tokens_per_round == pytest.approx(2.66)
    assert read_counts(page(prefix="llamacpp")).source == "llama.cpp metrics page"
    assert read_counts(page(prefix="aphrodite")).source == "aphrodite metrics page"


def test_engines_add_up():
    two = page() + page().replace('engine="0"', 'engine="1"')
    counts = read_counts(two)
    assert counts.rounds == 2000
    assert counts.survival == (0.71, 0.53, 0.42)


def test_sglang_gauge():
    counts = read_counts(
        'sglang:num_running_reqs{tp="0"} 4\nsglang:spec_accept_length{tp="0"} 2.5\n'
    )
    assert counts.tokens_per_round == pytest.approx(2.5)
    assert counts.accepted_share is None
    assert counts.running == 4
    assert "mean alone" in counts.remarks[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"text must be a metrics page.*got 0 characters"),
        ("<html>not found</html>", r"text must be a metrics page"),
        ("vllm:num_requests_running 3\n", r"lacks spec_decode_num_drafts.*speculation is off"),
        (page(drafts=0, drafted=0, accepted=0, positions=()), r"nothing was drafted yet"),
        (page(drafts="NaN"), r"counters must be finite"),
        (page(drafts="-3"), r"counters must be finite and at least 0"),
        (page(drafts="many"), r"counters must be numbers, got the line"),
        (page(accepted=4000), r"accepted must be at most drafted, got 4000 of 3000"),
        (page(positions=(530, 710, 420)), r"accepted by position must not rise"),
        (page(positions=(1001, 710, 420)), r"nor exceed the rounds"),
        (page().replace('position="1"', 'position="5"'), r"must not have gaps, got none for 1"),
        (page().replace('position="1"', 'position="99999999"'), r"got none for 1"),
        (page().replace('position="1"', f'position="{"9" * 5000}"'), r"must be in the labels"),
        (page(num_requests_running="+Inf"), r"running must be finite and at least 0, got inf"),
        (page().replace('position="1"', 'place="1"'), r"a position must be in the labels"),
        ("sglang:spec_accept_length 0.0\n", r"an acceptance length must be at least 1, got 0"),
        ("[AR] AVERAGE : 0.61\n", r"it is a rate here"),
        ("draft acceptance rate = 0.5 (    5 accepted /    10 generated)\n", r"not rounds"),
    ],
)
def test_what_cannot_be_used_is_told(text, message):
    with pytest.raises(ValueError, match=message):
        read_counts(text)


VLLM_LINES = """\
INFO 06-01 22:00:42 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.50, Accepted \
throughput: 0.7 tokens/s, Drafted throughput: 0.8 tokens/s, Accepted: 150 tokens, Drafted: 200 \
tokens, Per-position acceptance rate: 0.900, 0.600, Avg Draft acceptance rate: 75.0%
INFO 06-01 22:00:52 [metrics.py:101] SpecDecoding metrics: Mean acceptance length: 2.00, Accepted \
throughput: 0.7 tokens/s, Drafted throughput: 0.8 tokens/s, Accepted: 300 tokens, Drafted: 600 \
tokens, Per-position acceptance rate: 0.700, 0.300, Avg Draft acceptance rate: 50.0%
"""
SGLANG_LINES = """\
[2025-05-27 20:14:38 TP0] Decode batch. #running-req: 18, #token: 16384, token usage: 0.71, \
accept len: 2.40, accept rate: 0.84, cuda graph: True, gen throughput (token/s): 2520.18
[2025-05-27 20:14:40 TP0] Decode batch, #running-req: 6, #token: 900, token usage: 0.71, \
accept len: 2.00, accept rate: 0.69, cuda graph: True, gen throughput (token/s): 900.0
"""
LLAMA_LINES = """\
slot print_timing: id 1 | task 0 | draft acceptance = 0.64479 (  167 accepted /   259 generated), \
mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)
statistics draft-eagle3: #calls(b,g,a) = 1 87 87, #gen drafts = 87, #acc drafts = 70, #gen tokens \
= 259, #acc tokens = 167, #mean acc len = 2.92, #acc rate/pos = (0.805, 0.632, 0.483), dur = 0.0
"""
OLD_LLAMA_LINES = """\
draft acceptance rate = 0.37500 (    3 accepted /     8 generated)
statistics draft-mtp: #calls(b,g,a) = 1 4 4, #gen drafts = 4, #acc drafts = 2, #gen tokens = 8, \
#acc tokens = 3, dur(b,g,a) = 0.006, 21.272, 0.010 ms
"""
TENSORRT_LINES = """\
[AR] MINIMUM          : 1.00
[AR] MAXIMUM          : 3.00
[AR] AVERAGE          : 1.81
"""


def test_vllm_log_adds_up_its_lines():
    counts = read_counts(VLLM_LINES)
    assert (counts.rounds, counts.accepted, counts.drafted) == (400, 450, 800)
    assert counts.tokens_per_round == pytest.approx(1 + 450 / 400)
    assert counts.survival == pytest.approx(((90 + 210) / 400, (60 + 90) / 400))


def test_sglang_log_weighs_by_requests():
    counts = read_counts(SGLANG_LINES)
    assert counts.tokens_per_round == pytest.approx((18 * 2.4 + 6 * 2.0) / 24)


def test_llama_log_uses_the_totals():
    counts = read_counts(LLAMA_LINES)
    assert (counts.rounds, counts.drafted, counts.accepted) == (87, 259, 167)
    assert counts.tokens_per_round == pytest.approx(2.92, abs=0.005)
    assert counts.survival == pytest.approx((0.805, 0.632, 0.483))
    # 259 of 261: the last round stopped early, so no single alpha follows
    assert counts.acceptance_rate is None
    old = read_counts(OLD_LLAMA_LINES)
    assert old.tokens_per_round == pytest.approx(1.75)
    assert old.draft_length == 2


def test_llama_log_without_totals_uses_mean_lengths():
    task = LLAMA_LINES.splitlines()[0]
    counts = read_counts(task)
    assert counts.tokens_per_round == pytest.approx(2.92)
    assert "left out" in counts.remarks[0]


def test_trtllm_bench_printed_a_length_under_the_name_of_a_rate():
    assert read_counts(TENSORRT_LINES).tokens_per_round == pytest.approx(1.81)
    both = TENSORRT_LINES.replace("1.81", "0.41") + "[AL] AVERAGE : 1.81\n"
    assert read_counts(both).tokens_per_round == pytest.approx(1.81)


def test_between_two_readings():
    early, late = read_counts(page()), read_counts(page(1500, 4500, 2660, (1110, 880, 670)))
    counts = between(early, late)
    assert (counts.rounds, counts.drafted, counts.accepted) == (500, 1500, 1000)
    assert counts.by_position == (400, 350, 250)
    assert counts.tokens_per_round == 3


@pytest.mark.parametrize(
    ("early", "late", "message"),
    [
        (page(1500, 4500, 2660, (1110, 880, 670)), page(), "counters went back"),
        (page(), page(), "nothing was drafted between"),
        (page(), page(positions=(710, 530)), "must be of one server.*K = 3.*K = 2"),
        (page(), SGLANG_LINES, "must be of one server"),
    ],
)
def test_readings_that_do_not_fit(early, late, message):
    with pytest.raises(ValueError, match=message):
        between(read_counts(early), read_counts(late))


def test_remarks():
    broken = read_counts(page(691, 2764, 70, (70, 0, 0, 0)))
    assert any("a defect, not a bad drafter" in remark for remark in broken.remarks)
    assert math.isnan(broken.rates_by_position[2])
    few = read_counts(page(10, 30, 16, (7, 5, 4)))
    assert any("only 10 rounds" in remark for remark in few.remarks)
    short = read_counts(page(drafted=2000))
    assert any("2.00 tokens of 3" in remark for remark in short.remarks)
    assert short.acceptance_rate is None


def test_counts_alone():
    with pytest.raises(ValueError, match="counters must be finite"):
        DraftCounts("x", math.inf, 1)
    alone = DraftCounts("x", 300, 150)
    assert (alone.survival, alone.rates_by_position) == ((), ())
    assert alone.draft_length is alone.acceptance_rate is alone.accepted_share is None


def tried(text):
    try:
        counts = read_counts(text)
    except ValueError:
        return
    assert counts.tokens_per_round >= 1
    assert len(counts.rates_by_position) == len(counts.survival)
    assert all(remark for remark in counts.remarks)


@settings(max_examples=60)
@given(st.text())
def test_no_text_makes_the_readers_fail(text):
    tried(text)


WHOLE = page(num_requests_running=3), VLLM_LINES, SGLANG_LINES, LLAMA_LINES, TENSORRT_LINES


@settings(max_examples=100)
@given(st.sampled_from(WHOLE), st.data())
def test_damaged_pages_and_logs_give_an_answer_or_a_reason(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    tried(text[:start] + data.draw(st.text(max_size=5)) + text[end:])


NUMBERS = st.floats(0, 1e12, allow_nan=False) | st.sampled_from([math.nan, math.inf, -1.0])


@settings(max_examples=60)
@given(NUMBERS, NUMBERS, NUMBERS, st.lists(NUMBERS, max_size=5))
def test_any_numbers_give_an_answer_or_a_reason(drafts, drafted, accepted, positions):
    tried(page(drafts, drafted, accepted, positions))


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/metrics" else 404)
        self.end_headers()
        self.wfile.write(page().encode())

    def log_message(self, *words):
        pass


def test_fetch_reads_a_server_and_a_file(tmp_path):
    server = HTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_port}"
        assert read_counts(fetch(f"{address}/metrics")).rounds == 1000
        with pytest.raises(ValueError, match=r"cannot read.*404"):
            fetch(f"{address}/nothing")
    finally:
        server.shutdown()
        server.server_close()
    (tmp_path / "page.txt").write_text(page())
    assert read_counts(fetch(str(tmp_path / "page.txt"))).rounds == 1000


@pytest.mark.parametrize("source", ["no/such/file", "http://127.0.0.1:1/metrics", "http://["])
def test_what_cannot_be_fetched_is_told(source):
    with pytest.raises(ValueError, match="cannot read"):
        fetch(source)


def test_only_http_is_asked():
    with pytest.raises(ValueError, match="source must be a file or an http address"):
        fetch("file:///etc/hostname")


def test_a_source_without_end_is_read_in_part(monkeypatch):
    monkeypatch.setattr("specmini.metrics.pages.LARGEST", 1000)
    assert fetch("/dev/zero") == "\0" * 1000
