"""Engines and providers as data: complete, sourced, and at one with the rest of the package."""

import json
import re
from typing import get_args

import pytest

from specmini import conversions
from specmini.exact.rules import RULES
from specmini.record import engines

DAY = re.compile(r"20\d\d-\d\d-\d\d")
MONTH = re.compile(r"20\d\d-\d\d")
PINNED = re.compile(r"/v\d+\.\d+\.\d+/|/\d+\.\d+\.\d+(rc\d+)?/|/blob/[0-9a-f]{7,40}/|/pull/\d+$")


def test_every_engine_is_dated_and_sourced():
    names = [one.name for one in engines.engines()]
    assert len(set(names)) == len(names) >= 8
    for one in engines.engines():
        assert DAY.fullmatch(one.checked_on), one.name
        assert one.released is None or MONTH.fullmatch(one.released), one.name
        assert one.url.startswith("https://"), one.name
        assert (one.rule is None) == (one.rule_url is None) == (one.lossless is None), one.name
        assert one.version in one.url or one.name in ("Ollama", "LM Studio"), one.name


def test_every_row_names_its_engine_and_a_version_of_its_source():
    for row in (*engines.methods(), *engines.options()):
        assert engines.engine(row.engine).name == row.engine
        assert PINNED.search(row.url) or row.url.startswith("https://lmstudio.ai/docs/"), row


def test_no_row_stands_twice():
    switches = [(row.engine, row.switch) for row in engines.methods()]
    names = [(row.engine, row.topic, row.name) for row in engines.options()]
    assert len(set(switches)) == len(switches)
    assert len(set(names)) == len(names)


def test_every_engine_says_how_to_turn_it_on_and_how_long_the_draft_is():
    for one in engines.engines():
        assert engines.methods(one.name), one.name
        if one.name != "LM Studio":  # it documents no setting for it
            assert engines.options(one.name, "draft length"), one.name


def test_vllm_examples_are_json_and_say_what_the_switch_says():
    examples = [row for row in engines.methods("vLLM") if row.example]
    assert len(examples) >= 5
    for row in examples:
        assert json.loads(row.example).items() >= json.loads("{" + row.switch + "}").items()


def test_llama_cpp_examples_hold_their_switch():
    for row in engines.methods("llama.cpp"):
        assert row.example is None or row.switch in row.example


def test_what_an_engine_lacks_it_does_not_list():
    for one in engines.engines():
        offered = {row.method for row in engines.methods(one.name)}
        assert not offered & set(one.absent), one.name


def test_rules_and_metrics_are_those_of_this_package():
    tools = {metric.tool for metric in conversions.metrics()}
    for one in engines.engines():
        assert one.rule in (None, *RULES), one.name
        assert one.metrics is None or one.metrics in tools, one.name


def test_only_transformers_follows_the_textbook_by_default():
    default = {one.name: one.rule for one in engines.engines() if one.rule}
    assert [name for name, rule in default.items() if rule == "textbook"] == ["Transformers"]
    assert default["mlx-lm"] == "exact match"


def test_no_engine_gives_up_the_target_by_default():
    inexact = [row for row in engines.options() if not row.exact]
    assert {row.engine for row in inexact} >= {"vLLM", "SGLang", "TensorRT-LLM", "Transformers"}
    for row in inexact:
        # 1.0 is a threshold that changes nothing; fly_ settings only act once fly is on
        assert row.default in ("off", "none", "false", "1.0") or row.name.startswith("fly_"), row


def test_load_can_switch_speculation_off_in_three_engines():
    assert {row.engine for row in engines.options(topic="load")} == {
        "vLLM",
        "SGLang",
        "TensorRT-LLM",
    }


def test_statements_are_the_providers_own():
    rows = engines.statements()
    assert len({row.says for row in rows}) == len(rows) >= 12
    for row in rows:
        assert row.read in ("own page", "copy", "notes"), row
        assert DAY.fullmatch(row.checked_on), row
        assert row.dated is None or MONTH.fullmatch(row.dated), row
        assert row.url.startswith("https://"), row
    assert {row.provider for row in engines.statements("runs")} >= {"DeepSeek", "Meta"}


def test_a_silent_provider_names_no_mechanism():
    silent = engines.statements("silent")
    assert silent
    assert not any(re.search("specul|draft", row.says) for row in silent)


def test_commands_name_a_switch_of_their_engine_and_a_chain_of_three():
    started = [one for one in engines.engines() if one.start]
    assert {one.name for one in started} == {"vLLM", "SGLang", "TensorRT-LLM", "llama.cpp"}
    for one in started:
        switches = [row.switch for row in engines.methods(one.name)]
        assert any(switch in one.start for switch in switches), one.name
        lengths = [
            row.name for row in engines.options(one.name, "draft length") if row.name in one.start
        ]
        assert any(re.search(rf"{length}\W+3\b", one.start) for length in lengths), one.name
        assert one.start_url.startswith("https://github.com/")
        assert max(map(len, one.start.splitlines())) <= 80


def test_combinations_are_sourced_and_stand_once():
    rows = engines.combinations()
    assert len({(row.engine, row.with_what) for row in rows}) == len(rows) >= 20
    assert {row.engine for row in rows} == {"vLLM", "SGLang", "TensorRT-LLM"}
    for row in rows:
        assert row.works in get_args(engines.Works), row
        assert row.urls
        assert all(PINNED.search(url) for url in row.urls), row
        assert row.says or row.works != "partly", row
    assert engines.combinations("sglang") == tuple(row for row in rows if row.engine == "SGLang")


def test_filters_part_the_rows():
    families = {row.family for row in engines.methods()}
    topics = {row.topic for row in engines.options()}
    assert sum(len(engines.methods(family=one)) for one in families) == len(engines.methods())
    assert sum(len(engines.options(topic=one)) for one in topics) == len(engines.options())
    assert engines.methods("VLLM") == engines.methods("vLLM")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: engines.engine("TGI"), r"name must be one of 'vLLM', 'SGLang'.*got 'TGI'"),
        (lambda: engines.combinations("TGI"), r"name must be one of 'vLLM'.*got 'TGI'"),
        (lambda: engines.methods("TGI"), r"name must be one of 'vLLM'.*got 'TGI'"),
        (lambda: engines.methods(family="tree"), r"family must be one of 'draft model'.*'tree'"),
        (lambda: engines.options(topic="K"), r"topic must be one of 'draft length'.*got 'K'"),
        (lambda: engines.statements("rumor"), r"kind must be one of 'runs'.*got 'rumor'"),
    ],
)
def test_an_unknown_name_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
