"""The calculator's script against the advisor, on random settings, and against its command."""

import math
import shlex

import numpy as np
import pytest

from specmini import catalog
from specmini.advisor.advice import MOST_REQUESTS, advise
from specmini.advisor.expected import cost_of, plain_steps, speedup_by_length
from specmini.advisor.terms import expected_tokens, fit_terms
from specmini.configuration import wording
from specmini.widgets import AdviceCalculator, advice, advice_basis
from specmini.widgets.advice_basis import DRAFTS, ENGINES, OWN_MACHINES, WEIGHTS
from specmini.widgets.settings import RANGES

TOLERANCE = 1e-9
SETTINGS, LOADS = 300, 8  # 2,400 rounds
ADVICES = 45
TIMES = ((), ("1:28",), ("1:28", "64:41"), ("4:30", "1:28", "64:41"))


@pytest.fixture(scope="module")
def calculator():
    return AdviceCalculator()


def near(rng, name, low=None, high=None):
    """A number of a setting's range, even in its logarithm."""
    allowed = RANGES[name]
    ends = np.log([low or max(allowed.low, 1e-2), high or allowed.high])
    number = math.exp(rng.uniform(*ends))
    return round(number) if allowed.whole else float(f"{number:.3g}")


def random_printed(rng, kind, length):
    """What a tool might print; one in ten is impossible."""
    share = rng.random() if rng.random() < 0.9 else 1.5 + rng.random()
    rates = [share, *rng.random(length - 1)]
    tokens = 1 + length * share
    values = {
        "tokens": [tokens],
        "tokens_plus_one": [tokens + 1],
        "accepted": [tokens - 1],
        "filled": [tokens / (length + 1)],
        "share": [share],
        "output_share": [1 - 1 / tokens],
        "alpha": [share],
        "survival": sorted(rates, reverse=True),
        "conditional": rates,
    }[kind]
    return ", ".join(f"{value:.6f}" for value in values)


def random_times(rng):
    """Some plain times, "N:MS", of a curve that rises; a few of one that does not."""
    number = int(rng.choice((0, 0, 1, 2, 3, 4, 7)))
    loads = np.unique(np.exp(rng.uniform(0, np.log(512), number)).astype(int))
    seconds = rng.uniform(2, 40) * (1 + (loads / rng.uniform(10, 200)) ** 1.3) ** (1 / 1.3)
    if rng.random() < 0.1:
        seconds = seconds[::-1]
    pairs = [f"{load}:{one:.3f}" for load, one in zip(loads, seconds, strict=True)]
    rng.shuffle(pairs)
    return ", ".join(pairs)


def random_setting(rng):
    """Values for every setting, most of which fit together."""

    def one(options):
        return options[int(rng.integers(len(options)))]

    kinds = {f"{tool}: {metric}": kind for tool, metric, kind in advice_basis.convertible()}
    meaning = one([advice.TOKENS, *kinds])
    length = int(rng.integers(1, 17))
    billions = near(rng, "billions")
    active = 0.0 if rng.random() < 0.5 else near(rng, "active_billions", high=billions)
    own = rng.random() < 0.3
    printed = random_printed(rng, kinds.get(meaning, "tokens"), length)
    return {
        "machine": one(list(OWN_MACHINES) if rng.random() < 0.3 else list(catalog.machines())),
        "bandwidth": near(rng, "bandwidth"),
        "peak": near(rng, "peak"),
        "memory": near(rng, "memory"),
        "devices": one((1, 1, 1, 2, 4, 8)),
        "engine": one(list(ENGINES)),
        "model": "own" if own else one(list(catalog.models())),
        "billions": billions,
        "active_billions": active,
        "weights": one(WEIGHTS),
        "drafter": one(list(DRAFTS)),
        "draft": one(advice.DRAFT_MODELS),
        "draft_billions": near(rng, "draft_billions", high=20),
        "draft_length": length,
        "concurrency": near(rng, "concurrency"),
        "context": int(rng.choice((0, 512, near(rng, "context", low=1)))),
        "acceptance": printed if rng.random() < 0.6 else "",
        "acceptance_is": meaning,
        "cost_ratio": f"{rng.random():.3f}" if rng.random() < 0.3 else "",
        "plain_times": random_times(rng),
    }


def configured(calculator, setting):
    """The configuration, or None where Python refuses the setting."""
    for name, value in setting.items():
        setattr(calculator, name, value)
    try:
        found = calculator.configuration
        cost_of(found, 1.0)
    except ValueError:
        return None
    return found


def assert_near(answer, expected, where):
    np.testing.assert_allclose(
        np.array(answer, dtype=float), expected, rtol=TOLERANCE, atol=1e-12, err_msg=str(where)
    )


def test_rounds_agree_on_thousands_of_settings(javascript, calculator):
    rng, terms = np.random.default_rng(11), fit_terms()
    asked, expected = [], []
    for _ in range(SETTINGS):
        setting = random_setting(rng)
        loads = np.unique([near(rng, "concurrency") for _ in range(LOADS)])
        asked.append((setting, loads.tolist()))
        found = configured(calculator, setting)
        if found is None:
            expected.append(None)
            continue
        gained = expected_tokens(found, terms)
        cost = cost_of(found, gained, loads)
        columns = (
            *(cost.check, cost.drafting, cost.plain_seconds, cost.plain_running, cost.running),
            *(np.full(len(loads), gained), plain_steps(found, cost, terms)),
        )
        expected.append(np.stack(np.broadcast_arrays(*columns), axis=1))
    answers = javascript(rounds=[[calculator.basis, asked]])[0]
    refused = [one is None for one in expected]
    assert [one is None for one in answers] == refused, [
        one
        for one, (ours, theirs) in zip(asked, zip(expected, answers, strict=True), strict=True)
        if (ours is None) != (theirs is None)
    ][:2]
    assert 0.05 * SETTINGS < sum(refused) < 0.4 * SETTINGS
    for answer, one, setting in zip(answers, expected, asked, strict=True):
        if one is not None:
            assert_near(answer, one, setting)


def test_advice_agrees_in_numbers_and_words(javascript, calculator):
    rng, terms = np.random.default_rng(12), fit_terms()
    settings, expected = [], []
    while len(settings) < ADVICES:
        setting = random_setting(rng)
        if (found := configured(calculator, setting)) is not None:
            settings.append(setting)
            expected.append((found, advise(found), calculator.arguments))
    [answers] = javascript(advice=[[calculator.basis, settings]])
    for setting, answer, (found, ours, words) in zip(settings, answers, expected, strict=True):
        numbers = {
            "speedup": ours.speedup,
            "low": ours.low,
            "high": ours.high,
            "throughput": ours.throughput,
            "tokens": ours.tokens_per_round,
            "total": ours.round_cost,
            "breakEven": ours.break_even_acceptance,
            "gains": speedup_by_length(found, terms)[1],
            "seconds": np.nan if ours.plain_seconds is None else ours.plain_seconds,
            "moves": list(ours.sensitivities.values()),
        }
        answer["moves"] = list(answer["moves"].values())
        answer["seconds"] = "NaN" if answer["seconds"] is None else answer["seconds"]
        for name, value in numbers.items():
            assert_near(answer[name], value, (name, setting))
        said = (ours.verdict, ours.best_length, ours.break_even_concurrency)
        assert (answer["verdict"], answer["best"], answer["breakEvenLoad"]) == said, setting
        assert (answer["bound"], answer["mattersMost"]) == (ours.bound, ours.matters_most), setting
        assert tuple(answer["warnings"]) == ours.warnings, setting
        assert answer["words"] == words, setting
        if answer["spilled"]:
            assert answer["spilled"] in ours.assumed


def test_loads_that_are_tried_agree(javascript):
    steps = np.unique(np.geomspace(1, MOST_REQUESTS, 200).round().astype(int))
    basis = {"most_requests": MOST_REQUESTS}
    assert javascript(asked_concurrencies=[[basis]]) == [steps.tolist()]


def test_both_sides_refuse_the_same_texts(javascript, calculator):
    texts = ["", " ", "1", ".5", "1.", "a", "1,2", "1,,2", "-1", "1e3", "10", "10.5", "1:28"]
    texts += ["1:28, 64:41", "64:41,1:28", "1:28,1:29", "0:28", "1:0", "1.5:3", "1:28:3", "1:"]
    texts += [",".join(f"{load}:9" for load in range(1, count + 1)) for count in (12, 13)]
    rules = {"acceptance": advice.wrong_numbers, "cost_ratio": advice.wrong_cost}
    rules["plain_times"] = advice.wrong_times
    asked = [[calculator.basis, name, text] for name in rules for text in texts]
    expected = [rules[name](text) for _, name, text in asked]
    assert javascript(wrong_text=asked) == expected
    assert len({one is None for one in expected}) == 2


# --- the Python side -----------------------------------------------------------------------------


def test_every_choice_means_what_it_says():
    for key in catalog.machines():
        assert wording.read_machine(key).key == key
    for key in catalog.models():
        assert wording.read_size(key).key == key
    assert {wording.read_drafter(words): words for words in DRAFTS.values()} == {
        kind: words for kind, words in DRAFTS.items()
    }
    for kind, words in ENGINES.items():
        assert wording.read_engine(words) == kind
    for key, own in OWN_MACHINES.items():
        found = wording.read_machine(f"{own.words} 24GB")
        assert f"own {found.platform if found else 'data center'}" == key


def test_the_command_gives_the_advice(capsys):
    from specmini.command import main

    widget = AdviceCalculator(
        drafter="draft model",
        acceptance="0.47",
        acceptance_is="vLLM: draft acceptance rate",
        plain_times="1:28, 64:41",
    )
    name, *words = shlex.split(widget.command)
    assert name == "specmini"
    assert main(words) == 0
    out = capsys.readouterr().out
    assert f"{widget.advice.speedup:.2f} times as fast" in out
    assert "basis: your plain times" in out


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"draft_length": 0}, "draft_length must be a whole number in [1, 16], got 0"),
        ({"cost_ratio": "11"}, "cost_ratio must be a number in [0, 10], or nothing, got '11'"),
        ({"acceptance": "high"}, "acceptance must be numbers separated by commas, or nothing"),
        ({"acceptance": 2.4}, "acceptance must be a string, got 2.4"),
        ({"plain_times": "28"}, "plain_times must be up to 12 pairs N:MS such as 1:28, 64:41"),
        ({"plain_times": "1:41, 64:28"}, "plain_times must rise with concurrency"),
        ({"acceptance": "9"}, "tokens_per_round must be in [1, 4]"),
        ({"machine": "rtx-4090", "devices": 2}, "devices must be 1 on NVIDIA GeForce RTX 4090"),
        ({"machine": "own card", "devices": 2}, "devices must be 1 on own card, whose inter"),
        ({"model": "own", "active_billions": 9}, "active_billions must be at most billions = 8"),
        ({"basis": {}}, 'The "basis" trait is read-only'),
    ],
)
def test_a_refused_setting_says_why(setting, sentence):
    import re

    with pytest.raises(Exception, match=re.escape(sentence)) as refused:
        AdviceCalculator(**setting)
    assert "basis" in setting or isinstance(refused.value, ValueError)


def test_it_falls_back_to_words_and_the_command():
    widget = AdviceCalculator(model="llama-3.1-8b", acceptance="2.5")
    html = widget.fallback_html()
    assert f"{widget.advice.speedup:.2f} times as fast" in html
    assert f"<code>{widget.command}</code>" in html
    assert "acceptance" in html
    assert repr(widget) == f"AdviceCalculator({widget.command})"
