"""Words of reports: what is read, what is not, and that no text makes the readers fail."""

import re
import tomllib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmini import catalog
from specmini.configuration import wording


@pytest.mark.parametrize(
    ("text", "platform", "key", "exact", "devices"),
    [
        ("2x H100 TP2", "data center", "h100", True, 2),
        ("1x H100 94GB (slurm partition hgx-h100-94x4)", "data center", "h100-94", True, 1),
        ("lrz-hgx-h100-94x4", "data center", "h100-94", True, 1),
        ("H100-94", "data center", "h100-94", True, 1),
        ("H100 940GB", "data center", "h100", True, 1),
        ("8x MI355X TP8", "data center", "mi300x", False, 8),
        ("4x A100-80GB SXM TP4", "data center", "a100", False, 4),
        ("RTX 5090 (600 W)", "card", "rtx-5090", True, 1),
        ("RX 7900 XTX 24GB (Vulkan)", "card", "rtx-4090", False, 1),
        ("2x RTX 5060 Ti 16GB (tensor split)", "card", "rtx-4090", False, 2),
        ("3x RTX 3060 12GB (layer split)", "card", "rtx-4090", False, 3),
        ("Tesla V100 32GB", "old card", None, False, 1),
        ("2x Tesla P40 (tensor split)", "old card", None, False, 2),
        ("RX 6900 XT", "old card", None, False, 1),
        ("Apple M3 Ultra 96GB", "apple", "m3-ultra", True, 1),
        ("Apple M1 Pro", "apple", None, False, 1),
        ("AMD Strix Halo", "unified", None, False, 1),
        ("CPU only", "cpu", None, False, 1),
    ],
)
def test_machines(text, platform, key, exact, devices):
    assert wording.read_machine(text) == wording.MachineWords(platform, key, exact)
    assert wording.read_devices(text) == devices


def test_a_machine_that_is_not_named_is_none():
    assert wording.read_machine("8 GPUs") is None
    assert wording.read_devices("8 GPUs") == 8
    assert wording.read_machine("") is None


@pytest.mark.parametrize(
    ("text", "billions", "active", "key"),
    [
        ("Qwen3-32B bf16 TP1", 32.762, 32.762, "qwen3-32b"),
        ("Llama-3.1-8B-Instruct", 8.030, 8.030, "llama-3.1-8b"),
        ("Llama-3.3-70B-Instruct bf16 TP2", 70.6, 70.6, "llama-3.1-70b"),
        ("Qwen3.6-35B-A3B (MoE)", 35, 3, None),
        ("Qwen3.8-27B (dense hybrid)", 27, 27, None),
        ("gpt-oss-120b (MoE)", 116.829, 5.708, "gpt-oss-120b"),
        ("DeepSeek-R1-0528 (MoE)", 671, 37, "deepseek-v3"),
        ("R1-Distill-Qwen-32B 8bit", 32.8, 32.8, "qwen2.5-32b"),
        ("DeepSeek-R1-Distill-70B", 70.6, 70.6, "llama-3.1-70b"),
        ("draft DeepSeek-R1-DRAFT-0.6B", 0.6, 0.6, None),
        ("draft model Qwen3-1.7B", 1.721, 1.721, "qwen3-1.7b"),
        ("OPT-125M", 0.125, 0.125, None),
        ("draft Gemma-4-E2B", 2, 2, None),
    ],
)
def test_models(text, billions, active, key):
    size = wording.read_size(text)
    assert size.parameters / 1e9 == pytest.approx(billions, rel=1e-3)
    assert size.active / 1e9 == pytest.approx(active, rel=1e-3)
    assert size.key == key
    assert size.sparse == (active < billions)


def test_no_size_is_none():
    assert wording.read_size("MTP") is None
    assert wording.read_size("24GB") is None


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("bf16", 16),
        ("UD-Q4_K_XL, 131K ctx", 4.8),
        ("UD-IQ2_XXS, 16K ctx", 2.8),
        ("Q8_0", 8.5),
        ("AWQ int4", 4.8),
        ("exl2 6.0bpw", 6),
        ("NVFP4 (FP8 as Q8)", 4.5),
        ("fp8 checkpoint", 8.5),
        ("", None),
    ],
)
def test_weights(text, bits):
    assert wording.read_bits(text) == bits


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("EAGLE-3 (yuhuili/EAGLE3-LLaMA3.1-Instruct-8B)", "eagle-3"),
        ("EAGLE head (privately trained)", "eagle"),
        ("built-in MTP head (draft-mtp)", "mtp"),
        ("draft-dspark", "block"),
        ("ngram-mod", "lookup"),
        ("assistant Llama-3.2-1B", "draft model"),
        ("nothing", None),
    ],
)
def test_drafters(text, kind):
    assert wording.read_drafter(text) == kind


@pytest.mark.parametrize(
    ("text", "method", "told"),
    [
        ("4", "", (4, None)),
        ("default 2", "", (2, None)),
        ("tree 3,3,8", "", (3, 8)),
        ("tree", "EAGLE-3 steps8", (8, None)),
        ("any", "", (None, None)),
        ("", "", (None, None)),
    ],
)
def test_draft_lengths(text, method, told):
    assert wording.read_draft_length(text, method) == told


SHARE = "accepted / drafted, aggregate from server log"


@pytest.mark.parametrize(
    ("value", "definition", "length", "tokens"),
    [
        ("2.1", "mean acceptance length, incl. bonus token", 2, 2.1),
        ("0.637", SHARE, 8, 1 + 8 * 0.637),
        ("58.68%", SHARE, 8, 1 + 8 * 0.5868),
        (".87-.89", SHARE, 1, 1.88),
        ("47/132 = 0.356", "accepted / drafted; rounds 129-47=82 => AL 1.57", 8, 1.57),
        ("21/32 = 65.6%; \"avg=3.31\"", "accepted/proposed", 2, 1 + 2 * 0.656),
        (".48-.95 per prompt", SHARE, 2, None),  # too wide to have a middle
        ("<50%", SHARE, 2, None),
        ("0.551", 'LM Studio "accepted", not stated (accepted/drafted or share)', 2, None),
        ("0.637", SHARE, None, None),
        ("0.5", "tokens per round", 2, None),  # E is at least 1
        ("", SHARE, 2, None),
    ],
)  # fmt: skip
def test_acceptance(value, definition, length, tokens):
    told = wording.read_acceptance(value, definition, length)
    assert told == (None if tokens is None else pytest.approx(tokens))


def test_part_of_the_weights_in_cpu_memory():
    assert wording.in_cpu_memory("12GB (38/66 layers on GPU)")
    assert wording.in_cpu_memory("Ryzen 7950X + RTX 3060")
    assert not wording.in_cpu_memory("Ryzen AI Max 395")


def test_context_and_engine():
    assert wording.read_context("32467-token prompt") == 32467
    assert wording.read_context("16K-token prompts") == 16384
    assert wording.read_context("MT-Bench 80") is None
    assert wording.read_engine("vLLM V1") == "server"
    assert wording.read_engine("ik_llama.cpp") == "local"
    assert wording.read_engine("something") is None


def test_the_table_of_words_is_sound():
    text = resources.files("specmini").joinpath("data/wording.toml").read_text("utf-8")
    words = tomllib.loads(text)
    for kind in ("machine", "model", "weights", "engine", "drafter"):
        for row in words[kind]:
            assert re.compile(row["pattern"])
    assert all(row["platform"] in wording.PLATFORMS for row in words["machine"])
    keys = {row["key"] for row in words["machine"] if "key" in row}
    assert keys <= set(catalog.machines())
    assert {row["key"] for row in words["model"] if "key" in row} <= set(catalog.models())
    assert {row["kind"] for row in words["drafter"]} == set(wording.DRAFTERS)
    assert {row["kind"] for row in words["engine"]} == set(wording.ENGINES)


@given(st.text(), st.text())
def test_no_text_makes_a_reader_fail(one, other):
    wording.read_machine(one)
    wording.read_size(one)
    wording.read_bits(one)
    wording.read_drafter(one)
    wording.read_context(one)
    assert wording.read_devices(one) >= 1
    length, nodes = wording.read_draft_length(one, other)
    tokens = wording.read_acceptance(one, other, length)
    assert tokens is None or tokens >= 0
    assert nodes is None or nodes >= 0
