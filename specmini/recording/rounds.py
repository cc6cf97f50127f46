"""Real rounds as plain data: the text pieces, what came of each guess, and how long it took.

A recording is small enough to lie in a page, where ``RoundPlayer`` plays it on a true clock. The
package carries recordings of its own pair of models. They are made anew, with the times of the
machine at hand, by ``python -m specmini.recording.rounds specmini/data/recordings.json``.
"""

from __future__ import annotations

import argparse
import codecs
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any, Final, TypedDict

import numpy as np

from specmini import json_files
from specmini.corpus import Kind
from specmini.drafters import ModelDrafter
from specmini.engine.cached_model import CachedModel
from specmini.engine.threads import single_thread
from specmini.generate import Generation, generate
from specmini.recording import excerpts
from specmini.sampling import Sampling, greedy, plain
from specmini.tokenizer import Tokenizer

__all__ = [
    "RecordedRound",
    "RecordedText",
    "pieces",
    "record",
    "record_both_kinds",
    "recorded_checkpoints",
    "stored",
]

longest_character: Final = 4  # bytes, in UTF-8
visible_controls: Final = {code: 0x2400 + code for code in range(32) if code not in (9, 10)}


class RecordedRound(TypedDict):
    """One round for a reader.

    ``drafted`` are the pieces of text that were drafted, ``accepted`` of them stand, ``next`` is
    the piece the target added. ``ms`` has three times in milliseconds: of drafting, of the
    target's pass, and of the whole round.
    """

    drafted: list[str]
    accepted: int
    next: str
    ms: list[float]


class RecordedText(TypedDict):
    """A text and how it was written.

    ``about`` says what was recorded and where, ``prompt`` is the end of the text before the first
    round, and ``plain_ms`` the time of one plain decoding step in milliseconds.
    """

    kind: Kind
    about: str
    prompt: str
    plain_ms: float
    rounds: list[RecordedRound]


def pieces(tokenizer: Tokenizer, tokens: Sequence[int], text: Sequence[int] = ()) -> list[str]:
    """What each token adds to a text, for a reader.

    Joined, the pieces are the text, but for three things that would be invisible: a token that
    ends inside a character shows its new bytes, as ``‹E2 80›``, and the token that completes the
    character shows the character; control characters show as their pictures; the end of a text
    shows its name.

    Args:
        tokenizer: of the tokens.
        tokens: new tokens.
        text: tokens before them; the last may have left a character unfinished.

    Raises:
        ValueError: a token is not in the vocabulary.
    """
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    decoder.decode(tokenizer.decode(text[-longest_character:]))
    shown = []
    for token in tokens:
        content = tokenizer.decode([token])
        whole = decoder.decode(content).translate(visible_controls)
        unfinished = decoder.getstate()[0][-len(content) :] if content else b""
        hexed = f"‹{unfinished.hex(' ').upper()}›" if unfinished else ""
        shown.append(whole + hexed if content else "<|endoftext|>")
    return shown


def record(
    kind: Kind,
    about: str,
    prompt: Sequence[int],
    generation: Generation,
    tokenizer: Tokenizer,
    plain_seconds: float,
) -> RecordedText:
    """Turn a generation into a recording.

    Args:
        kind: of the text.
        about: what was recorded and where, such as ``"greedy, K = 4, 1 CPU thread"``.
        prompt: the tokens before the generation.
        generation: of speculative decoding.
        tokenizer: of the tokens.
        plain_seconds: time of one plain decoding step, in seconds.

    Raises:
        ValueError: the plain step takes no time, or a stop token cut a draft short, so that the
            target's own token is not in the text.
    """
    if not 0 < plain_seconds < np.inf:
        raise ValueError(f"plain_seconds must be in (0, inf), got {plain_seconds}")
    text = list(prompt)
    rounds: list[RecordedRound] = []
    for number, round in enumerate(generation.rounds):
        if len(round.tokens) != round.n_accepted + 1:
            raise ValueError(
                f"generation must have {round.n_accepted + 1} tokens in round {number}, "
                f"got {len(round.tokens)}: a stop token cut its draft"
            )
        accepted = [*text, *round.drafted[: round.n_accepted]]
        times = (round.draft_seconds, round.target_seconds, round.seconds)
        rounds.append(
            {
                "drafted": pieces(tokenizer, round.drafted, text),
                "accepted": round.n_accepted,
                "next": pieces(tokenizer, round.tokens[-1:], accepted)[0],
                "ms": [_milliseconds(seconds) for seconds in times],
            }
        )
        text += round.tokens
    return {
        "kind": kind,
        "about": about,
        "prompt": _ending("".join(pieces(tokenizer, prompt))),
        "plain_ms": _milliseconds(plain_seconds),
        "rounds": rounds,
    }


@single_thread()
def record_both_kinds(
    target: CachedModel,
    draft: CachedModel,
    tokenizer: Tokenizer,
    sampling: Sampling,
    draft_length: int,
    machine: str,
    *,
    new_tokens: int = 64,
    prompts: int = 20,
    repeats: int = 5,
    seed: int = 0,
) -> list[RecordedText]:
    """Record prose and code on a typical prompt each, on one core as all clocks here run.

    Typical is the frozen excerpt whose tokens per round are the median of all that are tried. It
    is then written ``repeats`` times with the same random numbers, speculatively and plainly in
    turn. The recording is the run of median time, as it happened.

    Args:
        target: whose text is wanted.
        draft: guesses tokens.
        tokenizer: of both.
        sampling: of both.
        draft_length: most tokens to guess a round, K.
        machine: where this runs, for the reader.
        new_tokens: tokens of each text.
        prompts: how many excerpts of each kind are tried.
        repeats: runs, an odd number for one of them to be the median.
        seed: of each run's randomness.

    Raises:
        ValueError: a setting that ``generate`` refuses; fewer or more prompts than there are, or
            no repeats.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")

    def run(prompt: list[int], drafter: ModelDrafter | None) -> Generation:
        return generate(
            target,
            prompt,
            new_tokens,
            np.random.default_rng(seed),
            sampling=sampling,
            drafter=drafter,
            draft_length=draft_length if drafter else 0,
        )

    drafter = ModelDrafter(draft, sampling)
    how = "greedy" if sampling.temperature == 0 else f"temperature {sampling.temperature:g}"
    texts: list[RecordedText] = []
    kinds: tuple[Kind, ...] = ("prose", "code")
    for kind in kinds:
        frozen = excerpts.frozen(kind)
        if not 1 <= prompts <= len(frozen):
            raise ValueError(f"prompts must be in [1, {len(frozen)}], got {prompts}")
        tried = [tokenizer.encode(_opening(excerpt.text)) for excerpt in frozen[:prompts]]
        tried.sort(key=lambda prompt: len(run(prompt, drafter).rounds))
        typical = tried[len(tried) // 2]
        runs = [(run(typical, drafter), run(typical, None)) for _ in range(repeats)]
        step = median(fmean(round.seconds for round in plainly.rounds) for _, plainly in runs)
        fast = sorted((speculative for speculative, _ in runs), key=lambda g: g.seconds)
        about = f"{how}, K = {draft_length}, {machine}"
        texts.append(record(kind, about, typical, fast[len(fast) // 2], tokenizer, step))
    return texts


def stored(sampling: str = "greedy") -> list[RecordedText]:
    """The package's recordings of its pair: prose and code.

    Args:
        sampling: ``"greedy"`` or ``"temperature 1"``.

    Raises:
        ValueError: there is no such recording.
    """
    recordings: Mapping[str, list[RecordedText]] = _package_file()["recordings"]
    if sampling not in recordings:
        raise ValueError(f"sampling must be one of {', '.join(recordings)}, got {sampling!r}")
    return recordings[sampling]


def recorded_checkpoints() -> dict[str, str]:
    """SHA-256 of the checkpoints the package's recordings were made with."""
    hashes: dict[str, str] = _package_file()["checkpoints"]
    return hashes


def _package_file() -> dict[str, Any]:
    content: dict[str, Any] = json_files.packaged("recordings.json")
    return content


def _opening(text: str, least: int = 150) -> str:
    """Whole lines from the beginning of a text."""
    return text[: text.index("\n", least) + 1]


def _ending(text: str, most: int = 120) -> str:
    """The last whole lines of a text; of a longer last line, its end."""
    if len(text) <= most:
        return text
    start = text.find("\n", len(text) - most, len(text) - 1)
    return "…" + (text[start:] if start >= 0 else text[-most:])


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1e3, 3)


def _main() -> None:
    from specmini import pair

    parser = argparse.ArgumentParser(description="Record real rounds of the package's pair.")
    parser.add_argument("file", type=Path, help="where to write the recordings, as JSON")
    parser.add_argument("--draft-length", type=int, default=4, help="K, most tokens to draft")
    parser.add_argument("--machine", default="1 CPU thread", help="in words")
    parser.add_argument("--prompts", type=int, default=20, help="tried to find a typical one")
    parser.add_argument("--pair", type=Path, help="folder of another pair than the package's")
    given = parser.parse_args()
    models = pair.load_pair(given.pair)
    recordings = {
        name: record_both_kinds(
            models.target_model(),
            models.draft_model(),
            models.tokenizer,
            sampling,
            given.draft_length,
            given.machine,
            prompts=given.prompts,
        )
        for name, sampling in (("greedy", greedy), ("temperature 1", plain))
    }
    made = {"checkpoints": pair.checkpoint_hashes(given.pair), "recordings": recordings}
    content = json.dumps(made, ensure_ascii=False, indent=None, separators=(",", ":"))
    # one round a line: a new recording is then a readable change
    json_files.write(given.file, content.replace('{"', '\n{"').lstrip() + "\n")
    for text in (text for texts in recordings.values() for text in texts):
        rounds = text["rounds"]
        gained = sum(one["accepted"] + 1 for one in rounds)
        pace = sum(one["ms"][2] for one in rounds) / gained
        print(
            f"{text['kind']}, {text['about']}: {gained} tokens in {len(rounds)} rounds, "
            f"{pace:.2f} ms a token against {text['plain_ms']:.2f}, "
            f"{text['plain_ms'] / pace:.2f} times as fast"
        )


if __name__ == "__main__":
    _main()
