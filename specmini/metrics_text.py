"""Metrics pages and logs of serving engines, read into ``specmini.metrics.DraftCounts``.

Formats, each read in stored public files in December 2026:

* **vLLM metrics page** (Prometheus text): counters ``vllm:spec_decode_num_drafts``,
  ``..._num_draft_tokens``, ``..._num_accepted_tokens`` and ``..._num_accepted_tokens_per_pos``
  with a label ``position`` from 0, each with ``_total`` appended where it is exposed
  (vllm/v1/spec_decode/metrics.py). Servers derived from vLLM, and llama.cpp since autumn 2026
  (prefix ``llamacpp:``), use the same names. Counters of several engines add up.
* **SGLang metrics page**: gauges ``sglang:spec_accept_length`` and ``sglang:spec_accept_rate``.
* **vLLM log**: lines "SpecDecoding metrics: Mean acceptance length: 2.71, ..., Accepted: 169
  tokens, Drafted: 198 tokens, Per-position acceptance rate: 0.919, 0.788, ...".
* **SGLang log**: "Decode batch, #running-req: 18, ..., accept len: 2.40, accept rate: 0.84, ...".
  The accept rate changed its meaning in April 2026 (pull request 23530) and is not used.
* **llama.cpp log**: "draft acceptance = 0.64479 (167 accepted / 259 generated), mean acceptance
  length = 2.92, acceptance rate per position = (0.805, 0.632, 0.483)" (pull request 24536), "draft
  acceptance rate = ..." before, and "statistics draft-mtp: ..., #gen drafts = 4, ..., #gen tokens
  = 8, #acc tokens = 3", which counts since the start.
* **trtllm-bench report**: "[AL] AVERAGE" since June 2026 (pull request 14998), "[AR] AVERAGE"
  before, which printed a length under the name of a rate (pull request 5206).
"""

from __future__ import annotations

import math
import re
import urllib.request
from collections import defaultdict
from http.client import HTTPException
from pathlib import Path

from specmini.metrics import DraftCounts

__all__ = ["fetch", "read_counts"]

SECONDS = 5.0
LARGEST = 64 * 2**20  # bytes of a page or log; more is read by nobody on purpose
PREFIXES = {"vllm": "vLLM", "llamacpp": "llama.cpp"}
NUMBER = r"([\d.]+)"

SAMPLE = re.compile(
    r"^(?P<prefix>[a-zA-Z_]\w*):(?P<name>\w+?)(?:_total)?(?:\{(?P<labels>.*)\})?\s+(?P<value>\S+)"
)
COUNTERS = {
    "spec_decode_num_drafts": "rounds",
    "spec_decode_num_draft_tokens": "drafted",
    "spec_decode_num_accepted_tokens": "accepted",
}
VLLM_LINE = re.compile(
    rf"Mean acceptance length: {NUMBER},.*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: ([\d., ]+?), Avg"
)
SGLANG_LINE = re.compile(rf"Decode batch.*?#running-req: (\d+).*?accept len: {NUMBER}")
LLAMA_LINE = re.compile(
    r"draft acceptance(?: rate)? = [\d.]+ \(\s*(\d+) accepted /\s*(\d+) generated\)"
    rf"(?:, mean acceptance length =\s*{NUMBER})?"
)
LLAMA_TOTALS = re.compile(
    r"statistics\s+([\w-]+):.*?#gen drafts =\s*(\d+).*?#gen tokens =\s*(\d+), "
    r"#acc tokens =\s*(\d+)"
)
LLAMA_POSITIONS = re.compile(r"#acc rate/pos = \(([\d., ]+)\)")
TENSORRT_LINE = re.compile(rf"\[(A[RL])\]\s+AVERAGE\s*[:|]?\s*{NUMBER}", re.IGNORECASE)


def read_counts(text: str) -> DraftCounts:
    """Read a metrics page or a log.

    Args:
        text: of one of the formats of this module.

    Raises:
        ValueError: it is none of them, or says nothing of drafts; the message says what is
            missing.
    """
    for reader in (_page, _vllm_log, _sglang_log, _llama_log, _tensorrt_report):
        found = reader(text)
        if found is not None:
            return found
    raise ValueError(
        "text must be a metrics page of vLLM, SGLang or llama.cpp, one of their logs, or a report "
        f"of trtllm-bench, with numbers about drafts, got {len(text)} characters without"
    )


def fetch(source: str) -> str:
    """Text of a file or of an http address.

    Args:
        source: a path, or an address that begins with http:// or https://.

    Raises:
        ValueError: it cannot be read; the message says why.
    """
    if not re.match(r"[a-zA-Z][\w+.-]*://", source):
        try:
            with Path(source).open("rb") as file:
                return file.read(LARGEST).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            raise ValueError(f"cannot read {source!r}: {error}") from None
    if not re.match(r"https?://", source, re.IGNORECASE):
        raise ValueError(f"source must be a file or an http address, got {source!r}")
    try:
        with urllib.request.urlopen(source, timeout=SECONDS) as answer:
            page: bytes = answer.read(LARGEST)
    except (OSError, ValueError, HTTPException) as error:
        raise ValueError(f"cannot read {source!r}: {error}") from None
    return page.decode("utf-8", "replace")


def _page(text: str) -> DraftCounts | None:
    """A Prometheus page; ``None`` if no line is a sample of a known server."""
    sums: dict[str, float] = defaultdict(float)
    positions: dict[int, float] = defaultdict(float)
    server = gauge = None
    for line in text.splitlines():
        sample = SAMPLE.match(line)
        if sample is None:
            continue
        name, value = sample["name"], _number(sample["value"])
        if name.startswith("spec_decode_num") and value is None:
            raise ValueError(f"counters must be numbers, got the line {line.strip()!r}")
        if value is None:
            continue
        if sample["prefix"] in (*PREFIXES, "sglang") or name.startswith("spec_decode_num"):
            server = sample["prefix"]
        if name == "spec_decode_num_accepted_tokens_per_pos":
            place = re.search(r'pos(?:ition)?="(\d{1,9})"', sample["labels"] or "")
            if place is None:
                raise ValueError(f"a position must be in the labels, got {line.strip()!r}")
            positions[int(place[1])] += value
        elif name in COUNTERS:
            sums[COUNTERS[name]] += value
        elif name == "spec_accept_length" and server == "sglang":
            gauge = value
        elif name in ("num_requests_running", "num_running_reqs"):
            sums["running"] += value
        elif name in ("num_requests_waiting", "num_queue_reqs"):
            sums["waiting"] += value
    if server is None:
        return None
    if server == "sglang" and gauge is not None:
        return _from_length("SGLang metrics page", gauge, sums.get("running"))
    missing = [name for name, short in COUNTERS.items() if short not in sums]
    if missing:
        raise ValueError(
            f"the page is of {PREFIXES.get(server, server)} and lacks {', '.join(missing)}: "
            "speculation is off, or the server keeps no statistics"
        )
    lacking = [place for place in range(len(positions)) if place not in positions]
    if lacking:
        raise ValueError(f"counters by position must not have gaps, got none for {lacking}")
    return DraftCounts(
        f"{PREFIXES.get(server, server)} metrics page",
        sums["rounds"],
        sums["accepted"],
        sums["drafted"],
        tuple(positions[place] for place in sorted(positions)) or None,
        sums.get("running"),
        sums.get("waiting"),
    )


def _vllm_log(text: str) -> DraftCounts | None:
    rounds = accepted = drafted = 0.0
    by_position: list[float] = []
    for line in VLLM_LINE.findall(text):
        shares = [_number(part) for part in line[3].split(",")]
        known = [share for share in shares if share is not None]
        here = float(line[2]) / max(len(known), 1)  # every round drafts as many as are listed
        rounds, accepted, drafted = (
            rounds + here,
            accepted + float(line[1]),
            drafted + float(line[2]),
        )
        by_position += [0.0] * (len(known) - len(by_position))
        for place, share in enumerate(known):
            by_position[place] += share * here
    if rounds == 0:
        return None
    falling = tuple(min(by_position[: place + 1]) for place in range(len(by_position)))
    return DraftCounts("vLLM log", rounds, accepted, drafted, falling)


def _sglang_log(text: str) -> DraftCounts | None:
    lines = [(float(running), _number(length)) for running, length in SGLANG_LINE.findall(text)]
    told = [(running, length) for running, length in lines if length is not None and running > 0]
    if not told:
        return None
    weight = sum(running for running, _ in told)
    mean = sum(running * length for running, length in told) / weight
    return _from_length("SGLang log", mean, weight / len(told))


def _llama_log(text: str) -> DraftCounts | None:
    totals = {name: (float(a), float(b), float(c)) for name, a, b, c in LLAMA_TOTALS.findall(text)}
    tasks = LLAMA_LINE.findall(text)
    if totals:  # they count since the start, so the last of each drafter
        columns = zip(*totals.values(), strict=True)
        all_rounds, all_drafted, all_accepted = (sum(column) for column in columns)
        positions = LLAMA_POSITIONS.findall(text)
        by_position = None
        if positions and len(totals) == 1:
            shares = [_number(part) or 0.0 for part in positions[-1].split(",")]
            by_position = tuple(all_rounds * min(shares[: i + 1]) for i in range(len(shares)))
        return DraftCounts("llama.cpp log", all_rounds, all_accepted, all_drafted, by_position)
    if not tasks:
        return None
    rounds, accepted, drafted = 0.0, 0.0, 0.0
    for own_accepted, own_drafted, length in tasks:
        mean = _number(length)
        if mean is None:
            raise ValueError(
                "the log tells accepted and generated tokens but not rounds: it needs the lines "
                "that begin with 'statistics', or 'mean acceptance length' of newer builds"
            )
        if mean > 1:
            rounds += float(own_accepted) / (mean - 1)
            accepted, drafted = accepted + float(own_accepted), drafted + float(own_drafted)
    if rounds == 0:
        raise ValueError("the log has no round with an accepted draft")
    note = "requests without an accepted draft are left out: their rounds are not printed"
    return DraftCounts("llama.cpp log", rounds, accepted, drafted, notes=(note,))


def _tensorrt_report(text: str) -> DraftCounts | None:
    found = {kind.upper(): _number(value) for kind, value in TENSORRT_LINE.findall(text)}
    length = found.get("AL", found.get("AR"))
    if length is None:
        return None
    if length < 1:
        raise ValueError(
            f"[AR] must be an acceptance length of at least 1, got {length:g}: it is a rate here, "
            "and the report has no [AL]"
        )
    return _from_length("trtllm-bench report", length, None)


def _from_length(source: str, length: float, running: float | None) -> DraftCounts:
    """Counts of a source that prints E alone: they stand for 1,000 rounds."""
    if not (math.isfinite(length) and length >= 1):
        raise ValueError(f"an acceptance length must be at least 1, got {length:g}")
    note = "the source prints a mean alone, so rounds and drafted tokens are not known"
    return DraftCounts(source, 1000.0, 1000.0 * (length - 1), running=running, notes=(note,))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value
