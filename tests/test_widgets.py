"""The Python side of the widgets: settings, outputs, fallbacks, and the assembled files."""

import gzip
import json
import math
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
import traitlets

from specmini import catalog, palette, roofline, theory, widgets
from specmini.exact.rules import RULES, accepted
from specmini.roofline.crossover import largest_batch
from specmini.roofline.deployment import Deployment
from specmini.roofline.ridge import model_ridge_tokens
from specmini.widgets import (
    AdviceCalculator,
    OverlapExplorer,
    PageWidget,
    ProgressPanel,
    RooflineExplorer,
    RoundPlayer,
    SpeedupExplorer,
    SpotTheErrors,
    assemble,
    passage,
)
from specmini.widgets.load import MACHINES, peak_of
from specmini.widgets.page import MIME
from specmini.widgets.player import FALLBACK_ROUNDS
from specmini.widgets.settings import RANGES, Number, SettingError

KIB = 1024
ROUNDS = [
    {"drafted": [" the", " c", "at"], "accepted": 1, "next": " dog", "ms": [0.9, 2.5, 3.5]},
    {"drafted": [" <b>"], "accepted": 1, "next": "\n", "ms": [0.3, 2.5, 3]},
    {"drafted": [], "accepted": 0, "next": " ", "ms": [0.0, 2.5, 2.5]},
]


def text_of(rounds, kind="prose"):
    return {"kind": kind, "about": "a <b>", "prompt": "x\n", "plain_ms": 2.7, "rounds": rounds}


RECORDING = [text_of(ROUNDS)]


class Cells(HTMLParser):
    """The text of every table cell of a fragment, and the tags that were left open."""

    def __init__(self, html):
        super().__init__()
        self.open, self.cells, self.text = [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if "td" in self.open:
            self.cells[-1] += data


def output(widget):
    data, _ = widget._repr_mimebundle_()
    return data


# --- settings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("alpha", 1.5, "alpha must be a number in [0, 1], got 1.5"),
        ("alpha", float("nan"), "alpha must be a number in [0, 1], got nan"),
        ("alpha", True, "alpha must be a number in [0, 1], got True"),
        ("alpha", "0.5", "alpha must be a number in [0, 1], got '0.5'"),
        ("c", -0.01, "c must be a number in [0, 1], got -0.01"),
        ("c", None, "c must be a number in [0, 1], got None"),
        ("K", 4.5, "K must be a whole number in [0, 16], got 4.5"),
        ("K", 17, "K must be a whole number in [0, 16], got 17"),
        ("batch", 0, "batch must be a whole number in [1, 512], got 0"),
        ("batch", np.int64(513), "batch must be a whole number in [1, 512], got 513"),
        ("batch", np.bool_(True), "batch must be a whole number in [1, 512], got True"),
        ("batch", 10**400, f"batch must be a whole number in [1, 512], got 1{'0' * 56}..."),
        ("c", -(10**400), f"c must be a number in [0, 1], got -1{'0' * 55}..."),
        ("alpha", "x" * 3000, f"alpha must be a number in [0, 1], got '{'x' * 56}..."),
        ("context", -1, "context must be a whole number in [0, 131072], got -1"),
        ("machine", "h1000", "machine must be one of a100, h100"),
        ("model", None, "model must be one of llama-3.2-1b"),
        ("controls", ["alpha", "machine"], "controls must be some of alpha, c, K, batch, got"),
        ("weight_bits", 5, "weight_bits must be one of 16, 8, 4, got 5"),
        ("weight_bits", "8", "weight_bits must be one of 16, 8, 4, got '8'"),
        ("devices", 3, "devices must be one of 1, 2, 4, 8, got 3"),
        ("devices", True, "devices must be one of 1, 2, 4, 8, got True"),
    ],
)
def test_a_refused_setting_says_why_and_changes_nothing(name, value, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        SpeedupExplorer(**{name: value})
    widget = SpeedupExplorer()
    before = widget.page_state()
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        setattr(widget, name, value)
    assert widget.page_state() == before


def test_numbers_lose_what_a_slider_added():
    widget = SpeedupExplorer(alpha=0.8700000000000001, K=4.0, c=np.float64(0.1), batch=np.int64(8))
    assert (widget.alpha, widget.K, widget.c, widget.batch) == (0.87, 4, 0.1, 8)
    assert isinstance(widget.K, int)
    json.dumps(widget.page_state())


def test_a_number_that_python_cannot_print_is_refused():
    with pytest.raises(SettingError, match=r"batch must be .*, got an int too long to print"):
        SpeedupExplorer(batch=10**5000)


def test_a_misspelled_setting_is_refused():
    known = "must be some of K, alpha, recording, seed, title, got 'Alpha'"
    with pytest.raises(ValueError, match=re.escape(f"settings of RoundPlayer {known}")):
        RoundPlayer(Alpha=0.5)


def test_a_refused_change_from_the_front_end_is_rolled_back():
    widget = SpeedupExplorer(alpha=0.8)
    with pytest.raises(traitlets.TraitError):
        widget.set_state({"alpha": 2.0})
    assert widget.alpha == 0.8
    widget.set_state({"alpha": 0.8100000000000001})
    assert widget.alpha == 0.81


def test_settings_are_observed_and_linked():
    first, second, seen = SpeedupExplorer(), SpeedupExplorer(alpha=0.3), []
    first.observe(lambda change: seen.append(change["new"]), "alpha")
    traitlets.link((second, "alpha"), (first, "alpha"))
    second.alpha = 0.55
    assert seen == [0.3, 0.55]


def test_settings_that_exclude_each_other_are_refused_together():
    poor, rich = (
        next(key for key in MACHINES if (peak_of(catalog.machine(key), 4) is None) is lacking)
        for lacking in (True, False)
    )
    sentence = f"arithmetic_bits must be 16 on {catalog.machine(poor).name}"
    with pytest.raises(ValueError, match=re.escape(sentence)):
        RooflineExplorer(machine=poor, arithmetic_bits=4)
    widget = RooflineExplorer(machine=rich, arithmetic_bits=4)
    before = widget.page_state()
    with pytest.raises(traitlets.TraitError, match=re.escape(sentence)):
        widget.machine = poor
    assert widget.page_state() == before
    # What the page sends when a reader chooses that machine: both at once.
    widget.set_state({"machine": poor, "arithmetic_bits": 16})
    assert (widget.machine, widget.arithmetic_bits) == (poor, 16)


def test_devices_must_divide_the_heads_and_be_able_to_talk():
    linked = next(key for key in MACHINES if catalog.machine(key).interconnect is not None)
    mute = next(key for key in MACHINES if catalog.machine(key).interconnect is None)
    assert RooflineExplorer(machine=linked, devices=8).step.communication_time > 0
    with pytest.raises(ValueError, match=r"devices must divide the 14 heads of Qwen2.*, got 4"):
        SpeedupExplorer(machine=linked, model="qwen2.5-0.5b", devices=4)
    with pytest.raises(ValueError, match="whose interconnect is not documented, got 2"):
        SpeedupExplorer(machine=mute, devices=2)


def test_a_machine_without_a_documented_peak_is_no_choice():
    unknown = [key for key in catalog.machines() if key not in MACHINES]
    for key in unknown:
        with pytest.raises(ValueError, match="machine must be one of a100"):
            RooflineExplorer(machine=key)
    assert [key for key, machine in catalog.machines().items() if machine.peak_flops] == MACHINES


# --- what the explorers compute ------------------------------------------------------------------


def test_the_explorer_uses_the_roofline_and_the_theory():
    widget = SpeedupExplorer(alpha=0.7, c=0.05, K=6, batch=200, machine="a100", context=4000)
    machine, model = catalog.machine("a100"), catalog.model("llama-3.1-8b")
    verify = roofline.verify_cost(machine, model, 200, 6, 4000)
    assert verify > 1.5
    assert widget.verify_cost == verify
    assert widget.tokens_per_round == theory.tokens_per_round(0.7, 6)
    assert widget.round_cost == theory.round_cost(0.05, 6, verify)
    assert widget.speedup == theory.speedup(0.7, 0.05, 6, verify)
    speedups = [
        theory.speedup(0.7, 0.05, k, roofline.verify_cost(machine, model, 200, k, 4000))
        for k in range(17)
    ]
    assert widget.best_draft_length == int(np.argmax(speedups))


def test_the_explorer_takes_narrow_weights_and_several_devices():
    plain, narrow = SpeedupExplorer(batch=128), SpeedupExplorer(batch=128, weight_bits=4)
    machine, model = catalog.machine("h100"), catalog.model("llama-3.1-8b")
    assert narrow.verify_cost == roofline.verify_cost(machine, model, 128, 4, 1024, 0.5)
    # A quarter of the bytes is a quarter of the ridge: 640 tokens are far past it.
    assert narrow.verify_cost > plain.verify_cost > 1.2


def test_the_roofline_explorer_reports_the_roofline():
    widget = RooflineExplorer(batch=100, K=7, weight_bits=8, context=5000, overhead_ms=0.5)
    machine, model = catalog.machine("h100"), catalog.model("llama-3.1-8b")
    overhead = roofline.Overhead(seconds_per_pass=0.0005)
    check = roofline.pass_time(machine, model, 100, 8, 5000, 1, overhead=overhead)
    assert widget.check == check
    assert widget.step == roofline.pass_time(machine, model, 100, 1, 5000, 1, overhead=overhead)
    assert widget.verify_cost == check.time / widget.step.time
    assert widget.ridge_tokens == pytest.approx(roofline.ridge_tokens(machine, 1), rel=1e-14)
    assert widget.largest_batch == largest_batch(widget.deployment, 0.0, 5008)
    # 80 GB less 8.03 GB of weights, 5008 positions of 128 KiB each
    assert widget.largest_batch == (80e9 - 8_030_261_248) // (5008 * 131072)


def test_the_ridge_of_experts_is_where_the_limits_change():
    sparse = [model for model in catalog.models().values() if model.experts]
    assert sparse
    for model in sparse:
        deployment = Deployment(catalog.machine("h100"), model)
        ridge = model_ridge_tokens(deployment)
        around = np.array([math.floor(ridge * 0.99), math.ceil(ridge * 1.01)])
        bounds = deployment.pass_time(around, 1, 0).bound
        assert list(bounds) == ["memory", "compute"]
        assert ridge > roofline.ridge_tokens(catalog.machine("h100"))


def test_the_number_to_know():
    widget = SpeedupExplorer(alpha=0.8, c=0.1, K=4, batch=1)
    assert widget.tokens_per_round == pytest.approx(3.3616, abs=1e-12)
    # 2.4011 when checking is free; reading the cache of five positions costs a little.
    assert widget.speedup == pytest.approx(2.4011, abs=5e-4)


@pytest.mark.parametrize(("alpha", "c", "best"), [(0.0, 0.0, 0), (0.0, 0.3, 0), (1.0, 0.0, 16)])
def test_the_ends_of_the_ranges(alpha, c, best):
    widget = SpeedupExplorer(alpha=alpha, c=c)
    assert widget.best_draft_length == best
    widget.K = 0
    assert widget.speedup == 1.0


# --- what the overlap explorer computes ----------------------------------------------------------

TWO = {
    "key": "two",
    "name": "Two",
    "before": "a <b>",
    "tokens": ["\n", " <i>"],
    "logits": "0 0; 0 0",
}


@pytest.mark.parametrize("rule", RULES)
def test_the_overlap_explorer_uses_the_rules(rule):
    widget = OverlapExplorer(rule=rule, target_temperature=0.7, draft_temperature=1.4)
    p, q = widget.distributions
    assert p.shape == q.shape == (1024,)
    assert widget.rates == {name: accepted(name, p, q).sum() for name in RULES}
    assert widget.total_variation == pytest.approx(1 - widget.rates["textbook"])
    bars = widget.bars
    assert bars["p"].shape == (8,)
    assert bars["p"].sum() == pytest.approx(1)
    assert bars["accepted"].sum() == pytest.approx(widget.rates[rule])
    assert bars["accepted"] + bars["recovered"] == pytest.approx(bars["p"])
    assert bars["accepted"] + bars["rejected"] == pytest.approx(bars["drafted"])


@pytest.mark.parametrize("heat", [0, 0.5, 1, 2])
def test_at_draft_temperature_0_the_three_rules_are_one(heat):
    widget = OverlapExplorer(target_temperature=heat, draft_temperature=0)
    for context in widget.contexts:
        widget.context = context["key"]
        rates = list(widget.rates.values())
        assert rates == pytest.approx([rates[1]] * 3)
        widget.draft_temperature = 1.7
        assert widget.rates["greedy draft"] == pytest.approx(rates[1])
        widget.draft_temperature = 0


def test_tied_temperatures_move_together():
    widget = OverlapExplorer(draft_temperature=0.4)
    widget.together = True
    assert widget.draft_temperature == 1
    widget.draft_temperature = 0.3
    assert widget.target_temperature == 0.3
    widget.target_temperature = 1.2
    assert widget.draft_temperature == 1.2
    assert OverlapExplorer(together=True, draft_temperature=0.6).target_temperature == 0.6
    with pytest.raises(ValueError, match=r"draft_temperature must be 1 .* if together, got 0.6"):
        OverlapExplorer(together=True, draft_temperature=0.6, target_temperature=1)


def test_a_context_of_ones_own_takes_the_place_of_the_others():
    widget = OverlapExplorer(contexts=[TWO])
    assert widget.context == "two"
    assert widget.rates == {"textbook": 1, "greedy draft": 0.5, "exact match": 0.5}
    widget.contexts = [{**TWO, "key": "other"}]
    assert widget.context == "other"
    mine = [{**TWO, "tokens": ["a", "b"]}]
    widget.contexts = mine
    mine[0]["tokens"].append("c")
    assert widget.contexts[0]["tokens"] == ["a", "b"]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"context": "x"}, "context must be one of typical, differ, agree, surer, wrong, hand, go"),
        ({"rule": "greedy"}, "rule must be one of textbook, greedy draft, exact match, got 'gree"),
        ({"target_temperature": 2.1}, "target_temperature must be a number in [0, 2], got 2.1"),
        ({"draft_temperature": -1}, "draft_temperature must be a number in [0, 2], got -1"),
        ({"together": 1}, "together must be True or False, got 1"),
        ({"contexts": []}, "contexts must be a list of at least one context, got []"),
        ({"contexts": [{}]}, "contexts[0] must be a dict with the keys key, name, before, tokens"),
        ({"contexts": [{**TWO, "name": 1}]}, "contexts[0]['name'] must be a string, got 1"),
        ({"contexts": [{**TWO, "tokens": []}]}, "['tokens'] must be a list of 1 to 7 strings"),
        ({"contexts": [{**TWO, "tokens": "ab"}]}, "['tokens'] must be a list of 1 to 7 strings"),
        ({"contexts": [{**TWO, "logits": "x"}]}, "contexts[0]['logits']: logits must be pairs of"),
        ({"contexts": [{**TWO, "logits": "0 0"}]}, "begin with one pair for each token, got '0 0'"),
        ({"contexts": [{**TWO, "logits": "0 0 2; 0 0"}]}, "begin with one pair for each token"),
        (
            {"contexts": [{**TWO, "logits": "0 0; 0 0; 1 0 2"}]},
            "not share the pair of a favorite",
        ),
        ({"contexts": [TWO, TWO]}, "contexts must hold each key once, got ['two', 'two']"),
    ],
)
def test_a_refused_setting_of_the_overlap_explorer_says_why(setting, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        OverlapExplorer(**setting)


# --- what a notebook stores ----------------------------------------------------------------------


def test_outputs_are_the_same_in_every_run():
    recorded = partial(RoundPlayer, recording=RECORDING, title="t")
    explorers = (SpeedupExplorer, RooflineExplorer, OverlapExplorer, AdviceCalculator)
    for make in (*explorers, RoundPlayer, recorded, SpotTheErrors, ProgressPanel):
        first, second = output(make()), output(make())
        assert first.keys() == second.keys()
        for mime in ("text/plain", MIME):
            assert json.dumps(first[mime]) == json.dumps(second[mime])
        assert set(first[MIME]) == {"widget", "key", "state", "fallback"}


def test_reprs_are_short_and_stable():
    assert repr(SpeedupExplorer()) == "SpeedupExplorer(alpha=0.8, c=0.1, K=4, batch=1)"
    assert output(SpeedupExplorer())["text/plain"] == repr(SpeedupExplorer())
    elsewhere = SpeedupExplorer(K=2, machine="a100", context=0)
    assert repr(elsewhere) == (
        "SpeedupExplorer(alpha=0.8, c=0.1, K=2, batch=1, machine='a100', context=0)"
    )
    roofs = RooflineExplorer(), RooflineExplorer(machine="l4", weight_bits=8, overhead_ms=1)
    assert [repr(roof) for roof in roofs] == [
        "RooflineExplorer(batch=64, K=4)",
        "RooflineExplorer(batch=64, K=4, machine='l4', weight_bits=8, overhead_ms=1.0)",
    ]
    assert repr(RoundPlayer(seed=7)) == "RoundPlayer(alpha=0.8, K=4, seed=7)"
    assert repr(OverlapExplorer(target_temperature=0.5)) == (
        "OverlapExplorer(context='typical', rule='textbook', target_temperature=0.5, "
        "draft_temperature=1)"
    )
    assert repr(OverlapExplorer(contexts=[TWO], together=True)).endswith("=1, together=True)")
    both = [text_of(ROUNDS, "code"), text_of(ROUNDS)]
    assert repr(RoundPlayer(recording=both)) == "RoundPlayer(recording of code and prose)"


def test_the_page_gets_every_setting_and_nothing_else():
    state = output(SpeedupExplorer(alpha=0.6))[MIME]["state"]
    assert state == {
        "alpha": 0.6,
        "c": 0.1,
        "K": 4,
        "batch": 1,
        "machine": "h100",
        "model": "llama-3.1-8b",
        "context": 1024,
        "weight_bits": 16,
        "devices": 1,
        "controls": ["alpha", "c", "K", "batch"],
    }
    assert output(RooflineExplorer(overhead_ms=2))[MIME]["state"] == {
        "machine": "h100",
        "model": "llama-3.1-8b",
        "weight_bits": 16,
        "arithmetic_bits": 16,
        "devices": 1,
        "batch": 64,
        "K": 4,
        "context": 1024,
        "overhead_ms": 2.0,
    }
    assert set(output(RoundPlayer())[MIME]["state"]) == {"alpha", "K", "seed", "recording", "title"}


def test_keys_tell_settings_apart():
    keys = {SpeedupExplorer(K=k).page_key() for k in range(17)} | {RoundPlayer().page_key()}
    assert len(keys) == 18


def test_a_widget_of_its_own_needs_a_fallback():
    class Bare(PageWidget):
        script_name = "player"
        alpha = Number("alpha", 0.5)

    with pytest.raises(NotImplementedError):
        Bare()._repr_mimebundle_()


# --- fallbacks -----------------------------------------------------------------------------------


def test_the_explorer_falls_back_to_a_table():
    widget = SpeedupExplorer(alpha=0.6, c=0.2, K=8, batch=64)
    page = Cells(widget.fallback_html())
    assert not page.open
    rows = [page.cells[start : start + 4] for start in range(0, len(page.cells), 4)]
    at_8 = next(row for row in rows if row[0] == "8")
    assert at_8 == [
        "8",
        f"{widget.tokens_per_round:.2f}",
        f"{widget.round_cost:.2f}",
        f"{widget.speedup:.2f}×",
    ]
    for said in ("α = 0.6", "c = 0.2", "batch 64", "NVIDIA H100", f"{widget.best_draft_length}"):
        assert said in page.text


def test_the_roofline_explorer_falls_back_to_a_drawing_and_two_bills():
    widget = RooflineExplorer(batch=8, K=3, overhead_ms=1.5)
    page = Cells(widget.fallback_html())
    assert not page.open
    columns = [
        [1e3 * float(part) for part in (one.weights_time, one.attention_time, 0, 0.0015, one.time)]
        for one in (widget.step, widget.check)
    ]
    assert page.cells == [f"{ms:.3f}" for row in zip(*columns, strict=True) for ms in row]
    for said in ("32 tokens", "ridge is at 295", f"{widget.verify_cost:.2f} plain steps"):
        assert said in page.text
    assert f"It fits: the largest batch is {widget.largest_batch}" in page.text
    assert "It does not fit" in RooflineExplorer(model="llama-3.1-70b").fallback_html()


def test_the_drawing_without_script_puts_marks_on_the_roof():
    html = RooflineExplorer(batch=1, K=4).fallback_html()
    roof = re.search(r'sm-roof" d="M(.*?)"', html).group(1)
    (left, low), (ridge, top), (right, end) = (
        map(float, point.split(",")) for point in roof.split("L")
    )
    assert left < ridge < right
    assert low > top == end
    marks = re.findall(r'sm-mark sm-full" cx="([\d.]+)" cy="([\d.]+)"', html)
    for x, y in ((float(x), float(y)) for x, y in marks):  # both read weights: on the slope
        slope = low + (top - low) * (x - left) / (ridge - left)
        assert y == pytest.approx(slope, abs=0.3)  # px; coordinates are rounded to 0.1


def test_the_player_falls_back_to_worked_rounds():
    page = Cells(RoundPlayer(alpha=0.5).fallback_html())
    assert not page.open
    assert page.cells[:5] == ["1", "An editor keeps a", "2 of 4", "owns", "3"]
    for length in (1, 2, 4, 8):
        assert f"{theory.tokens_per_round(0.5, length):.2f} with K = {length}" in page.text


def test_the_overlap_explorer_falls_back_to_bars_and_numbers():
    widget = OverlapExplorer(context="hand", rule="textbook")
    page = Cells(widget.fallback_html())
    assert not page.open
    assert page.cells[:4] == ["A", "0.60", "0.50", ""]
    assert 'aria-label="accepted 0.50, recovered 0.10"' in widget.fallback_html()
    assert 'style="width:50.0%"' in widget.fallback_html()
    for said in ("rule 0.800 = 1 − TV with TV = 0.200", "draft 0.600", "exact match 0.390"):
        assert said in page.text
    page = Cells(OverlapExplorer(contexts=[TWO]).fallback_html())
    assert "a <b>" in page.text
    assert [page.cells[0], page.cells[4]] == ["⏎", "␣<i>"]
    assert "1,017 others" in OverlapExplorer().fallback_html()
    # The state that a page carries, beside the script that all widgets share.
    assert len(gzip.compress(json.dumps(AdviceCalculator().page_state()).encode(), 9)) < 3.5 * KIB
    assert len(gzip.compress(json.dumps(OverlapExplorer().page_state()).encode(), 9)) < 3.5 * KIB


def test_a_recording_falls_back_to_its_first_rounds():
    player = RoundPlayer(recording=[text_of(ROUNDS * 10)], title="A <real> pair")
    html = player.fallback_html()
    page = Cells(html)
    assert not page.open
    assert "<real>" not in html
    assert "<b>" not in html
    assert len(page.cells) == 5 * FALLBACK_ROUNDS
    # tokens are joined as they are, in what stands and in what falls
    assert page.cells[:5] == ["1", " the cat", "1 of 3", " dog", "3.5"]
    assert "<td> the<del> cat</del></td>" in html
    assert page.cells[5:10] == ["2", " <b>", "1 of 1", "⏎", "3.0"]
    assert page.cells[10:15] == ["3", "", "0 of 0", "␣", "2.5"]
    assert player.expected_tokens_per_round == pytest.approx(5 / 3)
    # 10 x 9 ms for 50 tokens, and 50 x 2.7 ms
    assert "Prose: 50 tokens in 30 rounds, 1.67 tokens per round; 90.0 ms" in page.text
    assert "plain decoding takes 135.0 ms, so the speedup is 1.50×" in page.text


# --- recordings ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"drafted": "ab"}, "['drafted'] must be a list of strings, got 'ab'"),
        ({"drafted": [1]}, "['drafted'] must be a list of strings, got [1]"),
        ({"accepted": 4}, "['accepted'] must be a whole number in [0, 3], got 4"),
        ({"accepted": True}, "['accepted'] must be a whole number in [0, 3], got True"),
        ({"next": None}, "['next'] must be a string, got None"),
        ({"ms": [1.0, 2.0]}, "['ms'] must be three times"),
        ({"ms": [1.0, 2.0, 2.9]}, "['ms'] must be three times"),
        ({"ms": [-1.0, 2.0, 3.0]}, "['ms'] must be three times"),
        ({"ms": [0.0, 0.0, 0.0]}, "['ms'] must be three times"),
        ({"ms": [0.0, 1.0, float("nan")]}, "['ms'] must be three times"),
        ({"more": 1}, " must be a dict with the keys drafted, accepted, next, ms, got"),
    ],
)
def test_a_malformed_round_is_refused(change, sentence):
    where = "recording[0]['rounds'][1]"
    with pytest.raises(ValueError, match=re.escape(where + sentence)):
        RoundPlayer(recording=[text_of([ROUNDS[0], {**ROUNDS[0], **change}])])


@pytest.mark.parametrize(
    ("recording", "sentence"),
    [
        (["x"], "recording[0] must be a dict with the keys kind, about, prompt, plain_ms, rounds"),
        ([text_of(ROUNDS, "verse")], "recording[0]['kind'] must be one of prose, code, got"),
        ([text_of([])], "recording[0]['rounds'] must be a list of at least one round, got []"),
        ([{**RECORDING[0], "plain_ms": 0}], "['plain_ms'] must be a number in (0, inf), got 0"),
        ([{**RECORDING[0], "prompt": 1}], "recording[0]['prompt'] must be a string, got 1"),
        (RECORDING * 2, "recording must hold each kind once, got ['prose', 'prose']"),
    ],
)
def test_a_malformed_text_is_refused(recording, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        RoundPlayer(recording=recording)


def test_a_recording_is_copied():
    mine = [{"drafted": ["a"], "accepted": 1, "next": "b", "ms": [1, 1, 2]}]
    player = RoundPlayer(recording=[text_of(mine)])
    mine[0]["drafted"].append("c")
    mine[0]["ms"].append(0)
    assert player.recording[0]["rounds"] == [
        {"drafted": ["a"], "accepted": 1, "next": "b", "ms": [1, 1, 2]}
    ]


# --- the passage ---------------------------------------------------------------------------------


def test_every_word_of_the_passage_has_a_different_guess():
    pairs = [pair.split("/") for pair in passage.text().split()]
    assert 140 <= len(pairs) <= 180
    for pair in pairs:
        assert len(pair) == 2
        word, guess = pair
        assert word.lower() != guess.lower()
        assert word[0].isupper() == guess[0].isupper()
        assert re.sub(r"\w", "", word) == re.sub(r"\w", "", guess)  # the same punctuation


def test_the_worked_rounds_are_rounds_over_the_passage():
    pairs = [pair.split("/") for pair in passage.text().split()]
    position = 0
    for entry in passage.examples():
        accepted = entry["accepted"]
        for offset, word in enumerate(entry["drafted"]):
            assert word == pairs[position + offset][offset == accepted]
        assert entry["next"] == pairs[position + accepted][0]
        position += accepted + 1
    assert position / len(passage.examples()) == 3.0


# --- the assembled files -------------------------------------------------------------------------


def test_the_files_stay_small():
    limits = {"specmini.js": 30, "specmini-all.js": 60}
    for name, script in assemble.files().items():
        packed = gzip.compress(script.encode(), 9, mtime=0)
        assert len(packed) <= limits.get(name, 42) * KIB, name
    assert len(gzip.compress(assemble.stylesheet().encode(), 9, mtime=0)) <= 6 * KIB


def test_the_files_ask_nobody_for_anything():
    for text in (assemble.javascript(), assemble.stylesheet()):
        hosts = set(re.findall(r"https?://[^\s\"'`)]+", text))
        assert hosts <= {"http://www.w3.org/2000/svg"}  # a name, never fetched
        assert not re.search(r"@import|\bimport\(|\bfetch\(|XMLHttpRequest|\beval\(", text)


def test_the_script_is_classic_and_the_module_ends_in_its_export():
    script = assemble.javascript()
    assert script.startswith("var specmini = (function () {\n")
    assert not re.search(r"(?m)^\s*(import|export)\b", script)
    assert assemble.module("player") == script + '\nexport default specmini.esm("player");\n'
    assert SpeedupExplorer._esm == assemble.module("explorer")
    with pytest.raises(
        ValueError,
        match=r"widget must be one of explorer, roof, player, .*, got 'x'",
    ):
        assemble.module("x")


def test_sources_survive_assembly():
    """Assembly strips lines, which must not reach into a string that spans several."""
    sources = resources.files("specmini.widgets").joinpath("src")
    listed = {f"{name}.js" for name in assemble.SCRIPTS}
    listed |= {f"{name}.css" for name in assemble.STYLES}
    present = {file.name for file in sources.iterdir() if file.name.endswith((".js", ".css"))}
    assert listed == present
    for name in listed:
        text = sources.joinpath(name).read_text("utf-8")
        assert text.startswith("/* ")  # says what it is for
        assert len(text.splitlines()) <= 250
        if name.endswith(".js"):
            assert all(line.count("`") % 2 == 0 for line in text.splitlines())


def test_the_style_sheet_knows_no_color_but_the_palette():
    variables, rules = palette.css_variables(), assemble.stylesheet()
    assert rules.startswith(variables)
    rules = rules.removeprefix(variables)
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgb|\bhsl", rules)
    used = set(re.findall(r"var\((--sm-[a-z]+)", rules))
    assert used <= {palette.css_variable(role) for role in palette.ROLES}


def test_text_on_a_widget_is_readable():
    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for mode in ("light", "dark"):
        ground = luminance(getattr(palette.ROLES["surface"], mode))
        for role in ("ink", "muted", "draft", "target", "accepted", "rejected", "recovered"):
            light = luminance(getattr(palette.ROLES[role], mode))
            contrast = (max(light, ground) + 0.05) / (min(light, ground) + 0.05)
            assert contrast >= 4.5, (mode, role, contrast)


def test_the_script_carries_the_catalog_and_the_ranges():
    data = assemble.data()
    assert list(data["machines"]["rows"]) == list(catalog.machines())
    assert list(data["models"]["rows"]) == list(catalog.models())
    assert set(data["ranges"]) == set(RANGES)


def test_the_paper_wing_does_not_import_the_widgets():
    code = (
        "import sys, specmini, specmini.theory, specmini.catalog\n"
        "assert not {'anywidget', 'ipywidgets', 'specmini.widgets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_text_of_a_recording_can_end_the_script_element_early():
    from specmini.sphinxext import _mount_point

    rounds = [
        {"drafted": ["<!--", "<script>"], "accepted": 1, "next": "</script>", "ms": [1, 1, 2]}
    ]
    mounted = _mount_point(RoundPlayer(recording=[text_of(rounds)])._repr_mimebundle_()[0][MIME])
    data = mounted.partition('<script type="application/json">')[2].removesuffix("</script></div>")
    assert "<" not in data
    assert json.loads(data)["state"]["recording"][0]["rounds"] == rounds


def test_a_widget_is_imported_when_it_is_asked_for():
    program = (
        "import sys; from specmini.widgets import SpeedupExplorer;"
        "assert not {'jsonschema', 'specmini.widgets.spot'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    for name in widgets.__all__:
        assert getattr(widgets, name).__name__ == name
    assert set(widgets.__all__) <= set(dir(widgets))
    with pytest.raises(AttributeError, match="has no attribute 'Explorer'"):
        widgets.Explorer  # noqa: B018
