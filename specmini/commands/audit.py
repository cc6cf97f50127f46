"""``specmini audit``: is your engine lossless?

Exit code 1 says that the texts differ, so that a script can stop a deployment.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from specmini.commands.printing import as_json
from specmini.commands.progress import progress_bar
from specmini.commands.setting import Commands, generator
from specmini.lossless.comparison import Comparison, compare
from specmini.lossless.counts import Text
from specmini.lossless.endpoint import Endpoint
from specmini.lossless.engine import Engine, Prompt
from specmini.lossless.faulty import WrongTemperature
from specmini.sampling import Sampling

__all__ = ["add", "answered", "comparison_lines"]

EXAMPLE = (
    "specmini audit http://localhost:8000/v1 --plain http://localhost:8001/v1 "
    "--temperature 0.7 --prompt 'The capital of France' --prompt 'def main('"
)
PROMPT = "for i in range("  # leaves little open, so that few texts show much


def add(commands: Commands) -> None:
    """Add the command to those of ``specmini``."""
    one = commands.add_parser("audit", epilog=EXAMPLE, help="is your engine lossless?")
    one.add_argument("engine", help="address of a server with speculation; 'pair' for the pair "
                     "of this package; or MODULE:NAME, a function without arguments that returns "
                     "two engines, without and with it (specmini.lossless.engine)")  # fmt: skip
    sides = one.add_argument_group("servers")
    sides.add_argument("--plain", default="", metavar="ADDRESS", help="the same without "
                       "speculation; the same address if --plain-fields turns it off")  # fmt: skip
    sides.add_argument("--plain-fields", default="", metavar="JSON", help="fields of its requests")
    sides.add_argument("--fields", default="", metavar="JSON", help="fields of the other's")
    sides.add_argument("--model", default="", help="name on both servers (the first they list)")
    sides.add_argument("--at-once", type=int, default=8, metavar="N", help="requests in flight (8)")
    sides.add_argument("--remote", action="store_true", help="allow addresses of other computers")
    own = one.add_argument_group("the pair of this package")
    own.add_argument("--draft-length", type=int, default=4, metavar="K", help="(4)")
    own.add_argument("--faulty", action="store_true", help="with a fault that a real engine had")
    how = one.add_argument_group("sampling")
    how.add_argument("--temperature", type=float, help="(1)")
    how.add_argument("--top-p", type=float, help="(1)")
    how.add_argument("--top-k", type=int, help="(all)")
    how.add_argument("--prompt", action="append", default=[], help="repeat for several")
    test = one.add_argument_group("test")
    test.add_argument("--tokens", type=int, default=6, metavar="J",
                      help="to write; more than a draft has (6)")  # fmt: skip
    test.add_argument("--samples", type=int, default=2000, metavar="N",
                      help="texts a prompt, with speculation and without (2000)")  # fmt: skip
    test.add_argument("--seconds", type=float, default=120, help="begin no more after (120)")
    test.add_argument("--level", type=float, default=0.01, help="chance of a false alarm (0.01)")
    test.add_argument("--catch", type=float, default=0.1, metavar="D",
                      help="total variation distance a sample must show (0.1)")  # fmt: skip
    test.add_argument("--seed", type=int, help="of what this command draws itself")
    one.add_argument("--json", action="store_true", help="print JSON")
    one.set_defaults(answer=answered)


def answered(given: argparse.Namespace) -> str:
    """What the command prints; sets the exit code."""
    rng = generator(given.seed)
    prompts: list[Prompt] = given.prompt or [PROMPT]
    if given.engine == "pair":
        plain, speculative, prompts = _pair(given, prompts, rng)
    elif "://" in given.engine:
        plain, speculative = _servers(given)
    else:
        plain, speculative = _named(given)
    found = compare(
        plain,
        speculative,
        prompts,
        rng,
        new_tokens=given.tokens,
        samples=given.samples,
        seconds=given.seconds,
        level=given.level,
        catch=given.catch,
        report=progress_bar("texts", given.seconds),
    )
    given.code = 1 if found.finding == "differs" else 0
    if given.json:
        return as_json(_told(found))
    return "\n".join(comparison_lines(found, prompts))


def comparison_lines(found: Comparison, prompts: list[Prompt]) -> list[str]:
    """A comparison as lines of plain text."""
    said = {
        "differs": "Not lossless: the texts with speculation are distributed otherwise",
        "no difference found": "No difference found",
        "too few samples to tell": "Too few samples to tell",
    }
    lines = [
        said[found.finding],
        f"  texts                   {found.samples:,} a prompt with speculation, as many without, "
        f"in {found.seconds:.0f} s",
        f"  false alarm             {100 * found.level:g} % chance, over all "
        f"{len(found.places)} comparisons together",
        f"  would catch             a total variation distance of {found.least_distance:.3f} at "
        "any token, with 90 % chance",
    ]
    if found.least_distance > found.catch:
        lines.append(
            f"  for a distance of {found.catch:<6g}{found.samples_needed:,} texts a prompt"
        )
    lines.append("  place              distance   by chance   p after Holm")
    for place in found.places:
        mark = " differs" if place in found.alarms else ""
        where = f"{place.prompt + 1}: {place.name}" if len(prompts) > 1 else place.name
        lines.append(
            f"  {where:<19}{place.distance:<11.3f}{place.distance_by_chance:<12.3f}"
            f"{place.adjusted:.4f}{mark}"
        )
    rare = max(place.rare for place in found.tokens)
    if rare > 0.2:
        lines.append(
            f"note: up to {100 * rare:.0f} % of the tokens are too rare to be told apart; a prompt "
            "that leaves less open shows more"
        )
    return lines


def _pair(
    given: argparse.Namespace, prompts: list[Prompt], rng: np.random.Generator
) -> tuple[Engine, Engine, list[Prompt]]:
    try:
        from specmini.lossless.pair import pair_engines
    except ImportError as error:
        raise ValueError(f"the pair needs {error.name}: pip install specmini[lab]") from None
    fault = WrongTemperature if given.faulty else None
    plain, speculative, encode = pair_engines(_sampling(given), given.draft_length, rng, fault)
    return plain, speculative, [encode(str(prompt)) for prompt in prompts]


def _servers(given: argparse.Namespace) -> tuple[Engine, Engine]:
    if not given.plain and not given.plain_fields:
        raise ValueError(
            "--plain must be the address of the same model without speculation, or --plain-fields "
            "what turns it off"
        )
    sides = []
    for address, name in ((given.plain or given.engine, "plain_fields"), (given.engine, "fields")):
        one = Endpoint(
            address,
            model=given.model,
            sampling=_sampling(given),
            fields=_fields(name, getattr(given, name)),
            at_once=given.at_once,
            remote=given.remote,
        )
        sides.append(one)
    for one in sides:
        print(f"sends {one.sends}", file=sys.stderr)
    return sides[0], sides[1]


def _named(given: argparse.Namespace) -> tuple[Engine, Engine]:
    """Two engines from a function of the reader's."""
    module, _, name = given.engine.partition(":")
    if not name:
        raise ValueError(f"engine must be an address, 'pair' or MODULE:NAME, got {given.engine!r}")
    for option in ("temperature", "top_p", "top_k"):
        if getattr(given, option) is not None:
            raise ValueError(
                f"--{option.replace('_', '-')} must be left to {given.engine}, whose engines have "
                "sampling settings of their own"
            )
    sys.path.insert(0, os.getcwd())  # a console script does not look there
    try:
        plain, speculative = getattr(importlib.import_module(module), name)()
    except Exception as error:  # code of the reader's may fail in any way
        raise ValueError(f"{given.engine} must return two engines: {_failure(error)}") from None
    finally:
        sys.path.remove(os.getcwd())
    return _Own(plain, given.engine), _Own(speculative, given.engine)


@dataclass(frozen=True)
class _Own:
    """An engine of the reader's, whose failures are told as those of a server."""

    engine: Engine
    name: str

    def write(self, prompt: Prompt, new_tokens: int, count: int) -> Sequence[Text]:
        try:
            texts = [tuple(text) for text in self.engine.write(prompt, new_tokens, count)]
            hash(tuple(texts))  # what cannot be told apart cannot be counted
        except Exception as error:  # code of the reader's may fail in any way
            raise ValueError(
                f"an engine of {self.name} must write lists of tokens: {_failure(error)}"
            ) from None
        return texts


def _failure(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _sampling(given: argparse.Namespace) -> Sampling:
    return Sampling(
        1.0 if given.temperature is None else given.temperature,
        given.top_k,
        1.0 if given.top_p is None else given.top_p,
    )


def _fields(name: str, text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text or "{}")
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError(f"--{name.replace('_', '-')} must be a JSON object, got {text!r}")
    return fields


def _told(found: Comparison) -> dict[str, Any]:
    return {
        "finding": found.finding,
        "samples": found.samples,
        "seconds": found.seconds,
        "level": found.level,
        "catch": found.catch,
        "least_distance": found.least_distance,
        "samples_needed": found.samples_needed,
        "places": [{"name": place.name, **asdict(place)} for place in found.places],
    }
