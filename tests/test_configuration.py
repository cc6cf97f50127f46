"""Configurations from words, their defaults, and what is refused."""

from dataclasses import replace

import pytest

from specmini import catalog
from specmini.configuration import CLASSES, Configuration, PlainTime, wording
from specmini.configuration.defaults import DEFAULT_LENGTH, configure, shape_of_size


def served(**changes):
    given = {"machine": "h100", "engine": "vLLM", "draft_length": "4", **changes}
    return configure("Llama-3.1-8B", "EAGLE-3", **given)


def test_everything_that_is_told_is_taken():
    one = configure(
        "Qwen3-32B",
        "draft model Qwen3-1.7B",
        machine="2x H100 80GB",
        engine="SGLang",
        weights="bf16",
        draft_weights="fp8",
        draft_length="3",
        concurrency=8,
        context=1000,
        acceptance="2.5",
    )
    assert one.target == catalog.model("qwen3-32b")
    assert one.draft == catalog.model("qwen3-1.7b")
    assert one.machine.memory == 80e9
    assert (one.devices, one.bits, one.draft_bits, one.draft_length) == (2, 16, 8.5, 3)
    assert (one.concurrency, one.context, one.tokens_per_round) == (8, 1000, 2.5)
    assert (one.engine, one.kernels, one.assumed) == ("server", "server", ())


def test_what_is_missing_has_a_default_that_is_told():
    one = configure("no size", "MTP")
    assert one.target == catalog.model("llama-3.1-8b")
    assert (one.concurrency, one.context, one.bits) == (1, 512, 4.8)
    assert one.draft_length == DEFAULT_LENGTH["mtp"]
    told = " ".join(one.assumed)
    for word in ("local engine", "graphics card", "4.8 bits", "8 billion", "K = 2"):
        assert word in told


@pytest.mark.parametrize(
    ("machine", "engine", "weights", "target", "kernels"),
    [
        ("H100", "vLLM", "bf16", "8B", "server"),
        ("RTX 4090", "vLLM", "bf16", "8B", "server"),
        ("RTX 5090", "vLLM", "NVFP4", "27B", "card"),
        ("H100", "vLLM", "AWQ", "70B", "server"),
        ("A100", "llama.cpp", "f16", "34B", "card"),
        ("RTX 3090", "llama.cpp", "Q4_K_M", "27B", "card"),
        ("RTX 3090", "llama.cpp", "Q4_K_M", "35B-A3B", "experts"),
        ("Tesla P40", "llama.cpp", "Q4_K_M", "27B", "old card"),
        ("Apple M2 Max", "MLX", "4-bit", "8B", "apple"),
        ("Strix Halo", "llama.cpp", "Q4_K_M", "27B", "unified"),
        ("RTX 3090 (20/60 layers on GPU)", "llama.cpp", "Q4_K_M", "70B", "cpu"),
    ],
)
def test_classes(machine, engine, weights, target, kernels):
    one = configure(target, "MTP", machine=machine, engine=engine, weights=weights)
    assert one.kernels == kernels


def test_rounds_that_stop_early_do_not_tell_tokens():
    told = {"acceptance": "0.8", "acceptance_is": "accepted / drafted"}
    assert served(**told).tokens_per_round == pytest.approx(4.2)
    assert served(**told, early_stop=True).tokens_per_round is None


def test_a_size_takes_the_shape_of_its_neighbor():
    shape = shape_of_size(wording.Size(27e9, 27e9))
    assert shape.hidden == catalog.model("qwen2.5-32b").hidden
    assert shape.parameters == pytest.approx(27e9, rel=0.03)
    sparse = shape_of_size(wording.Size(35e9, 3e9))
    assert sparse.experts == catalog.model("qwen3-30b-a3b").experts
    assert sparse.parameters == pytest.approx(35e9, rel=0.03)
    assert shape_of_size(wording.Size(8e9, 8e9, "llama-3.1-8b")) == catalog.model("llama-3.1-8b")


def test_tokens_checked_and_drafting_steps():
    assert served().tokens_checked == 5
    assert served(draft_length="tree 3,4,16").tokens_checked == 16
    assert served(draft_length="tree 3,4,16").draft_length == 3
    block = configure("8B", "DFlash", draft_length="7")
    assert (block.drafting_steps, block.tokens_checked) == (1, 8)
    lookup = configure("8B", "ngram", draft_length="7")
    assert (lookup.drafting_steps, lookup.tokens_checked) == (0, 8)


def test_another_length_knows_what_survival_tells():
    one = replace(served(acceptance="2.9"), survival=(0.8, 0.5, 0.4, 0.2))
    assert one.with_length(2).tokens_per_round == pytest.approx(2.3)
    assert one.with_length(2).survival == (0.8, 0.5)
    assert one.with_length(6).tokens_per_round is None


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kernels", "gpu", r"kernels must be one of 'server'"),
        ("engine", "cloud", r"engine must be one of 'server', 'local'"),
        ("drafter", "tea leaves", r"drafter must be one of"),
        ("draft_length", 0, r"draft_length must be a whole number in \[1, .*got 0"),
        ("concurrency", 0, r"concurrency must be a whole number in \[1, .*got 0"),
        ("context", -1, r"context must be .*got -1"),
        ("bits", 0.0, r"bits must be .*got 0"),
        ("devices", 1.5, r"devices must be .*got 1\.5"),
        ("tokens_per_round", 5.1, r"tokens_per_round must be in \[1, 5\].*got 5\.1"),
        ("cost_ratio", -0.1, r"cost_ratio must be .*got -0\.1"),
        ("prompt_share", float("nan"), r"prompt_share must be .*got nan"),
        ("check_tokens", 1, r"check_tokens must be .*got 1"),
        ("survival", (0.5, 0.6, 0.4, 0.2), r"survival must"),
        ("survival", (0.5,), r"survival must hold draft_length = 4"),
        ("draft", catalog.model("qwen3-1.7b"), r"draft must be a Model for a draft model"),
    ],
)
def test_refusals_name_the_field(field, value, message):
    with pytest.raises(ValueError, match=message):
        replace(served(), **{field: value})


def test_plain_times_must_rise_and_be_positive():
    with pytest.raises(
        ValueError, match=r"plain_times must have rising concurrencies, got \[8, 1\]"
    ):
        replace(served(), plain_times=(PlainTime(8, 0.01), PlainTime(1, 0.01)))
    with pytest.raises(ValueError, match="seconds must be"):
        PlainTime(1, 0.0)
    with pytest.raises(ValueError, match="running must be"):
        PlainTime(1, 0.1, -1.0)


def test_a_drafter_must_be_named():
    with pytest.raises(ValueError, match=r"drafter must name one of draft model.*got 'magic'"):
        configure("8B", "magic")


def test_every_class_is_reachable_and_described():
    assert set(CLASSES) == {"server", "experts", "card", "old card", "apple", "unified", "cpu"}
    fields = Configuration.__dataclass_fields__
    assert all(name in (Configuration.__doc__ or "") for name in fields)
