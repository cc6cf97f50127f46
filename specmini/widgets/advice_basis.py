"""What the advice calculator's script knows beside the catalog: terms, errors, and what words mean.

Everything is asked of the modules that the command asks, so no number is written twice. It travels
with the one page that has a calculator, not with the script of all pages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from specmini import catalog
from specmini.advisor import expected
from specmini.advisor.advice import MOST_REQUESTS
from specmini.advisor.reasons import DISAGREE, SERVER_PARTS
from specmini.advisor.terms import FEW_REQUESTS, fit_terms, half_width
from specmini.commands.advise import VERDICTS
from specmini.configuration import CLASSES, wording
from specmini.configuration.defaults import LOCAL_BITS, configure
from specmini.conversions import metrics
from specmini.cost import round_cost
from specmini.cost.calibrated import ENOUGH_FOR_BEND
from specmini.cost.plain_curve import SHARPEST, TRIED_POWERS
from specmini.record.grid_check import curve_half_width
from specmini.roofline.deployment import Deployment
from specmini.roofline.draft_cost import draft_head
from specmini.roofline.pass_parts import LARGEST_PARTS
from specmini.roofline.shape import Model

__all__ = [
    "DRAFTS",
    "ENGINES",
    "OWN",
    "OWN_MACHINES",
    "WEIGHTS",
    "OwnMachine",
    "basis",
    "convertible",
]

KEPT_DIGITS = 12  # of what was fitted: the last ones differ between libraries of linear algebra
OWN = "own"
# Words that ``specmini.configuration.wording`` reads as the engine, and as weights of so many bits.
ENGINES: Mapping[str, str] = {"server": "vLLM", "local": "llama.cpp"}
WEIGHTS = ("bf16", "FP8", "Q6_K", "Q5_K_M", "Q4_K_M", "NVFP4", "Q3_K_M", "Q2_K")
DRAFTS: Mapping[str, str] = {
    "draft model": "draft model",
    "eagle": "EAGLE",
    "eagle-3": "EAGLE-3",
    "mtp": "MTP",
    "block": "DFlash",
    "lookup": "ngram",
}


@dataclass(frozen=True)
class OwnMachine:
    """A machine that is not in the catalog, by the kind of its kernels.

    Attributes:
        label: what a reader chooses.
        words: what ``specmini.configuration.wording`` reads as this kind.
    """

    label: str
    words: str


OWN_MACHINES: Mapping[str, OwnMachine] = {
    "own data center": OwnMachine("of a data center", "GPU"),
    "own card": OwnMachine("graphics card", "RTX"),
    "own old card": OwnMachine("card without usable tensor cores", "GTX"),
    "own apple": OwnMachine("Apple GPU", "Apple"),
    "own unified": OwnMachine("GPU in the CPU's memory", "APU"),
    "own cpu": OwnMachine("CPU", "CPU"),
}


@cache
def basis() -> dict[str, Any]:
    """Return what the script of the calculator takes from Python, as plain JSON values."""
    terms = fit_terms()
    server = round_cost.SERVER
    return {
        "bandwidth_share": round_cost.BANDWIDTH_SHARE,
        "bend": round_cost.BEND,
        "overhead": {
            "perPass": server.seconds_per_pass,
            "perLayer": server.seconds_per_layer,
            "transfer": server.transfer_latency,
        },
        "head_vocabulary": round_cost.HEAD_VOCABULARY,
        "lookup_share": round_cost.LOOKUP_SHARE,
        "split_draft": round_cost.SPLIT_DRAFT,
        "memory_share": round_cost.MEMORY_SHARE,
        "undocumented_peak": round_cost.UNDOCUMENTED_PEAK,
        "most_smaller": round_cost.MOST_SMALLER,
        "local_bits": LOCAL_BITS,
        "longest": expected.LONGEST,
        "most_requests": MOST_REQUESTS,
        "disagree": DISAGREE,
        "few_requests": FEW_REQUESTS,
        "enough_for_bend": ENOUGH_FOR_BEND,
        "sharpest": SHARPEST,
        "tried_powers": TRIED_POWERS,
        "marginal": _kept(terms.marginal),
        "acceptance": _kept(terms.acceptance),
        "reports": dict(terms.reports),
        "half_widths": _kept(_half_widths()),
        "curve_widths": _kept(
            {
                name: curve_half_width("latencies", waiting)
                for name, waiting in (("running", False), ("waiting", True))
            }
        ),
        "kernels": dict(CLASSES),
        "parts": [[part, SERVER_PARTS[part]] for part in LARGEST_PARTS],
        "verdicts": VERDICTS,
        "platforms": _platforms(),
        "own_machines": {
            key: [own.label, own.words, _platform(own.words)] for key, own in OWN_MACHINES.items()
        },
        "engines": dict(ENGINES),
        "weights": {words: wording.read_bits(words) for words in WEIGHTS},
        "drafters": dict(DRAFTS),
        "shapes": {key: _shape(model) for key, model in catalog.models().items()},
        "metrics": [list(one) for one in convertible()],
    }


def convertible() -> tuple[tuple[str, str, str], ...]:
    """Tool, metric and kind of what tools print, as far as it tells tokens per round."""
    known = (one for one in metrics() if one.kind != "unknown")
    return tuple((one.tool, one.metric, one.kind) for one in known)


def _kept(numbers: Mapping[str, float]) -> dict[str, float]:
    return {name: float(f"{number:.{KEPT_DIGITS}g}") for name, number in numbers.items()}


def _half_widths() -> dict[str, float]:
    """The five intervals of ``specmini.advisor.terms.half_width``, by what decides between them."""
    like = {"supported": "server", "other": "apple"}
    found = {}
    for name, kernels in like.items():
        setting = replace(configure("8B", "EAGLE-3", draft_length="4"), kernels=kernels)
        known = replace(setting, tokens_per_round=2.0)
        found[name], found[f"{name}, known"] = half_width(setting), half_width(known)
    found["untested"] = half_width(replace(setting, concurrency=FEW_REQUESTS + 1))
    return found


def _platforms() -> dict[str, list[Any]]:
    """Platform of each machine of the catalog, and whether its memory is taken as it is."""
    read = {key: wording.read_machine(key) for key in catalog.machines()}
    return {key: [found.platform, found.exact] for key, found in read.items() if found}


def _platform(words: str) -> str:
    found = wording.read_machine(words)
    return found.platform if found else "data center"


def _shape(model: Model) -> dict[str, int | None]:
    """What a layer more adds to a model, and the layer that a head of it has.

    One that is ``lone`` is nearest to no other size, see
    ``specmini.configuration.defaults.shape_of_size``.
    """
    taller = replace(model, layers=model.layers + 1)
    grown = ("parameters", "matmul_parameters", "replicated_parameters")
    head = _head(model)
    table = head.vocabulary * head.hidden
    return {
        **{name: getattr(taller, name) - getattr(model, name) for name in grown},
        "lone": int(model.latent is not None or model.positions > 0),
        "windowed_layers": model.windowed_layers,
        "window": model.window,
        "vocabulary": model.vocabulary,
        "head_parameters": head.parameters - table,
        "head_active": head.active_parameters - table,
        "head_replicated": head.replicated_parameters,
    }


def _head(model: Model) -> Model:
    deployment = draft_head(Deployment(catalog.machine("h100"), model)).deployment
    assert deployment is not None  # a head runs a layer
    return deployment.model
