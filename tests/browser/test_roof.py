"""The roofline explorer on the page: its numbers are the roofline's, and it says what it cannot."""

import math

import pytest

from browser import built_site
from browser.facts import nothing_wrong
from browser.reader import PHONE
from browser.test_access import violations
from browser.widgets import Roof, last_number, shows
from specmini import catalog
from specmini.widgets import RooflineExplorer

NEAR = 0.02  # a pixel is a fiftieth of a decade at most
SETTINGS = [
    {"batch": 1, "K": 4},
    {"batch": 512, "K": 16, "context": 0},
    {"batch": 8, "K": 0, "weight_bits": 4},
    {"batch": 32, "K": 3, "model": "llama-3.1-70b", "context": 131072},
    {"batch": 40, "K": 7, "machine": "l4", "model": "qwen3-8b", "overhead_ms": 2.5},
    {"batch": 16, "K": 4, "model": "qwen3-30b-a3b", "machine": "h200"},
    {
        **{"batch": 64, "K": 2, "model": "deepseek-v3", "machine": "b200"},
        **{"devices": 8, "weight_bits": 8, "arithmetic_bits": 8},
    },
]
# Each setting is fine by itself, so none of the link is taken.
EXCLUDED = {
    "arithmetic_bits must be 16 on NVIDIA H100 SXM": "arithmetic_bits=4",
    "devices must be 1 on NVIDIA GeForce RTX 4090": "machine=rtx-4090&devices=2",
    "devices must divide the 14 heads of Qwen2.5-0.5B, got 4": "model=qwen2.5-0.5b&devices=4",
}
REFUSED = {
    "batch=0": "[1, 512], got 0",
    "weight_bits=5": "weight_bits must be one of 16, 8, 4, got 5",
    **{f"{query}&K=9": words for words, query in EXCLUDED.items()},
    "devices=3": "devices must be one of 1, 2, 4, 8, got 3",
    "machine=__proto__": "machine must be one of",
    "alpha=0.5": "no setting “alpha”",
}


def python_side(roof):
    def value(name, text):
        return text if name in ("machine", "model") else float(text)

    return RooflineExplorer(**{name: value(name, text) for name, text in roof.setting().items()})


def number(words):
    return words.split()[0].replace(",", "")


def assert_shows_the_roofline(roof):
    ours, terms, where = python_side(roof), roof.terms(), f"{roof.name} at {roof.setting()}"
    assert shows(last_number(terms["Verify cost"]), ours.verify_cost), f"{where}: {terms}"
    ridge = terms["Tokens"].split("ridge is at ")[1]
    assert shows(number(ridge), ours.ridge_tokens), f"{where}: {ridge}"
    tokens = ours.batch * (ours.K + 1)
    assert f"= {tokens:,} in the check" in terms["Tokens"], f"{where}: {terms['Tokens']}"
    if ours.largest_batch:
        assert terms["Largest batch"].startswith(f"{ours.largest_batch:,} sequence"), where
    else:
        assert "not one" in terms["Largest batch"], where
    assert ("Does not fit" in roof.box.locator(".sm-memory").inner_text()) != ours.check.fits, where
    experts = catalog.model(ours.model).experts
    if experts:
        shown = terms["Experts"].split(" ")
        assert shows(shown[0], float(ours.step.experts_touched)), f"{where}: {terms['Experts']}"
        assert shown[2] == str(experts.count), where
    assert_bills(roof.bill(), ours, where)
    assert_places(roof.places(), ours, where)
    verdict = roof.verdict()
    if ours.K:
        side = "past" if tokens > ours.ridge_tokens else "below"
        assert f"costs {ours.verify_cost:.2f} plain steps" in verdict, f"{where}: {verdict}"
        assert f"{tokens:,} tokens, {side} the ridge of {ours.ridge_tokens:,.0f}" in verdict, where
    assert verdict in roof.box.locator("svg title").text_content()


def assert_bills(bill, ours, where):
    names = {"weights": "weights", "attention": "attention", "transfers": "communication"}
    names |= {"overhead": "overhead"}
    for shown, part in names.items():
        for words, one in zip(bill[shown], (ours.step, ours.check), strict=True):
            seconds = float(getattr(one, f"{part}_time"))
            assert shows(number(words), 1e3 * seconds), f"{where}: {shown} {words}"
    for shown, bound in (("weights", "bound"), ("attention", "attention_bound")):
        for words, one in zip(bill[shown], (ours.step, ours.check), strict=True):
            limit = "arithmetic" if getattr(one, bound) == "compute" else "reads"
            assert words.endswith(limit), f"{where}: {shown} {words}"
    for words, one in zip(bill["together"], (ours.step, ours.check), strict=True):
        assert shows(number(words), 1e3 * float(one.time)), f"{where}: together {words}"


def assert_places(places, ours, where):
    machine = catalog.machine(ours.machine)
    peak = machine.peak(ours.arithmetic_bits)
    _, corner, end = places["roof"]
    expected = [(corner, (peak / machine.bandwidth, peak / 1e12)), (end, (end[0], peak / 1e12))]
    passes = [ours.step, ours.check][: 2 if ours.K else 1]
    for kind, parts in (
        ("linear", ("linear_flops", "weight_bytes", "weights_time")),
        ("attention", ("attention_flops", "kv_bytes", "attention_time")),
    ):
        assert len(places[kind]) == len(passes), where
        for place, one in zip(places[kind], passes, strict=True):
            flops, read, seconds = (float(getattr(one, part)) for part in parts)
            expected.append((place, (flops / read, flops / seconds / 1e12)))
    for place, (intensity, speed) in expected:
        assert place[0] == pytest.approx(intensity, rel=NEAR), f"{where}: {place}"
        assert place[1] == pytest.approx(speed, rel=NEAR), f"{where}: {place}"


@pytest.fixture
def opened(reader, roof):
    page, index = roof
    return Roof(reader.open(page), index)


def test_it_shows_the_numbers_of_the_roofline(opened):
    assert_shows_the_roofline(opened)
    for setting in SETTINGS:
        opened.press("Reset")
        opened.set(**setting)
        assert_shows_the_roofline(opened)


def test_it_opens_past_the_ridge_and_says_so(opened):
    ours = python_side(opened)
    assert ours.step.bound == "memory"
    assert ours.check.bound == "compute"
    assert "The check holds 320 tokens, past the ridge of 295" in opened.verdict()


def test_a_link_that_asks_for_the_impossible_is_refused_whole(opened):
    before = opened.result()
    for query, words in REFUSED.items():
        opened.tab.evaluate("(hash) => { location.hash = hash; }", f"roof?{query}")
        opened.box.get_by_text(words).wait_for()
        if words in EXCLUDED:
            assert opened.result() == before, query
        opened.press("Reset")
        assert opened.result() == before, query
        assert opened.notice() == "", query


@pytest.mark.parametrize("by", ["http", "file"])
def test_link_restores_the_setting_elsewhere(reader, roof, by):
    page, index = roof
    first = Roof(reader.open(page, by=by), index)
    first.set(**SETTINGS[-1])
    fragment = first.box.locator("a.sm-link").evaluate("(link) => link.href").split("#")[1]
    second = Roof(reader.open(page, by=by, fragment=fragment), index)
    assert second.setting() == first.setting()
    assert second.result() == first.result()


def test_what_a_choice_makes_impossible_goes_back_and_is_said(opened):
    opened.set(machine="b200", arithmetic_bits=4, devices=8)
    opened.box.get_by_label("Machine").select_option("rtx-4090")
    assert opened.setting()["arithmetic_bits"] == "16"
    assert opened.setting()["devices"] == "1"
    assert "Back to 16-bit arithmetic" in opened.notice()
    assert "Back to one device" in opened.notice()
    assert opened.box.get_by_label("Devices").is_disabled()
    assert "interconnect" in opened.box.locator(".sm-memory").inner_text()
    assert_shows_the_roofline(opened)


def test_a_machine_without_a_documented_peak_is_listed_and_no_choice(opened):
    unknown = [one for one in catalog.machines().values() if one.peak_flops is None]
    assert unknown
    for machine in unknown:
        option = opened.box.locator("option", has_text=machine.name)
        assert option.inner_text() == f"{machine.name}: no peak documented"
        assert option.is_disabled()


def test_it_speaks_politely_and_once_after_a_burst(opened):
    opened.listen()
    opened.slider("Batch").focus()
    for _ in range(12):
        opened.tab.keyboard.press("ArrowLeft")
    assert opened.said() == opened.verdict()
    assert len(opened.heard()) == 1, opened.heard()


def test_axe_finds_nothing_while_it_complains(reader, roof):
    page, index = roof
    opened = Roof(reader.open(page, motion="reduce", width=PHONE), index)
    opened.set(model="llama-3.1-405b" if "llama-3.1-405b" in catalog.models() else "llama-3.1-70b")
    field = opened.number("Batch")
    field.fill("9999")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    nothing_wrong(opened.name, violations(opened.tab, ".specmini-host"))


def test_without_script_the_drawing_and_the_bills_are_there(reader, roof):
    page, _ = roof
    tab = reader.open(page, scripts=False)
    fallback = tab.locator(".sm-fallback-roof")
    box = fallback.locator("svg").first.bounding_box()
    assert box["width"] > 250
    assert box["height"] > 150
    assert "Roofline of" in fallback.locator("svg").first.get_attribute("aria-label")
    assert len(fallback.locator("td").all()) == 10
    assert math.isclose(
        sum(float(cell) for cell in fallback.locator("td:nth-of-type(1)").all_inner_texts()[:4]),
        float(fallback.locator("td:nth-of-type(1)").all_inner_texts()[4]),
        abs_tol=0.003,
    )


def test_some_chapter_has_one(site):
    assert built_site.widgets("roof")
