"""Catalog: published parameter counts, the schema of the data files, and refusals."""

import dataclasses
import datetime
import tomllib
from dataclasses import FrozenInstanceError, replace
from importlib import resources

import pytest

from specmini import catalog
from specmini.roofline.experts import Experts
from specmini.roofline.machine import Machine
from specmini.roofline.shape import Model

# Hugging Face safetensors totals, read in stored copies of model listings. For Qwen3-0.6B and
# Qwen3-1.7B the listing counts the tied matrix twice (751,632,384 and 2,031,739,904); the number
# here is the one of GGUF headers, of Keras Hub's presets and of model.num_parameters().
published_parameters = {
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-0.6b": 596_049_920,
    "qwen3-1.7b": 1_720_574_976,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "llama-3.1-405b": 405_853_388_800,
    "gpt2": 124_439_808,
    # Keras Hub's presets
    "mixtral-8x7b": 46_702_792_704,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    # GGUF headers; the model card rounds to 20.91 and 116.83 billion
    "gpt-oss-20b": 20_914_757_184,
    "gpt-oss-120b": 116_829_156_672,
    # printed by programs that load them, the second without its MTP module
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v3": 671_026_419_200,
}
# Active billions as their makers print them, and whether those include the input embeddings.
active_parameters = {
    "mixtral-8x7b": ("12.9", True),
    "qwen3-30b-a3b": ("3.4", True),  # the card says 3.3: 3.35
    "qwen3-235b-a22b": ("22", True),
    "gpt-oss-20b": ("3.61", False),
    "gpt-oss-120b": ("5.13", False),
    "deepseek-v3": ("37", False),
}
# Billions as the model cards and the usual tables print them.
rounded_parameters = {
    "llama-3.2-1b": "1.24",
    "llama-3.2-3b": "3.21",
    "llama-3.1-8b": "8.03",
    "llama-3.1-70b": "70.6",
    "qwen3-0.6b": "0.6",
    "qwen3-1.7b": "1.7",
    "qwen3-4b": "4.02",
    "qwen3-8b": "8.19",
    "qwen3-14b": "14.8",
    "qwen3-32b": "32.8",
    "llama-3.1-405b": "405.9",
    "gpt-oss-20b": "20.91",
    "gpt-oss-120b": "116.83",
    "deepseek-v2-lite": "15.7",
    "deepseek-v3": "671.0",
}


NUMBERS = (
    *("peak_flops", "peak_flops_8bit", "peak_flops_4bit"),
    *("bandwidth", "memory", "interconnect"),
)


def toml(name: str) -> dict:
    text = resources.files("specmini").joinpath("data", name).read_text(encoding="utf-8")
    return tomllib.loads(text)


@pytest.mark.parametrize("key", published_parameters)
def test_parameters_reproduce_the_published_count_exactly(key):
    assert catalog.model(key).parameters == published_parameters[key]


@pytest.mark.parametrize("key", rounded_parameters)
def test_parameters_agree_with_the_rounded_names(key):
    printed = rounded_parameters[key]
    decimals = len(printed.split(".")[1])
    assert f"{catalog.model(key).parameters / 1e9:.{decimals}f}" == printed


def test_every_model_has_a_published_count():
    assert set(published_parameters) == set(catalog.models())


@pytest.mark.parametrize("key", active_parameters)
def test_active_parameters_agree_with_the_makers(key):
    printed, with_embeddings = active_parameters[key]
    model = catalog.model(key)
    count = model.active_parameters if with_embeddings else model.matmul_parameters
    decimals = len(printed.partition(".")[2])
    assert f"{count / 1e9:.{decimals}f}" == printed


def test_a_sparse_model_counted_by_hand():
    model = catalog.model("mixtral-8x7b")
    # one layer: q and o 2 x 4096 x 4096, k and v 2 x 4096 x 1024, router 8 x 4096, two norms 8,192;
    # an expert 3 x 4096 x 14336 = 176,160,768
    layer = 33_554_432 + 8_388_608 + 32_768 + 8_192
    assert model.expert_parameters == 176_160_768
    assert model.parameters == 32 * (layer + 8 * 176_160_768) + 4_096 + 2 * 131_072_000
    assert model.active_parameters == model.parameters - 32 * 6 * 176_160_768
    assert model.matmul_parameters == model.active_parameters - 131_072_000
    assert model.replicated_parameters == 32 * 32_768


def test_latent_attention_counted_by_hand():
    model = catalog.model("deepseek-v3")
    # 512 + 64 numbers a position and layer instead of 2 x 128 heads x 128
    assert model.kv_values_per_token == 61 * 576
    # scores over 576 numbers and sums over 512 in each of 128 heads, 2 operations each
    assert model.flops_per_attended == 2 * 128 * (576 + 512)
    # query down and up, keys and values down and up, output, norms of both compressed vectors
    attention = (
        7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    ) + (1536 + 512)
    dense, expert = 3 * 7168 * 18432, 3 * 7168 * 2048
    sparse = 257 * expert + 256 * 7168 + 256
    blocks = 61 * (attention + 2 * 7168) + 3 * dense + 58 * sparse
    assert model.parameters == blocks + 7168 + 2 * 129_280 * 7168
    assert model.replicated_parameters == 61 * 7168 * (1536 + 576) + 58 * 256 * 7168


def test_the_gpt_of_the_lab_has_a_model():
    # its own count: (V + C + 2) D + L (12 D^2 + 13 D), see specmini.gpt.Config
    vocabulary, context, layers, width, heads = 1024, 512, 8, 384, 6
    ours = replace(
        catalog.model("gpt2"),
        **{"layers": layers, "hidden": width, "intermediate": 4 * width, "heads": heads},
        **{"kv_heads": heads, "head_dim": width // heads},
        **{"vocabulary": vocabulary, "positions": context},
    )
    blocks = layers * (12 * width**2 + 13 * width)
    assert ours.parameters == (vocabulary + context + 2) * width + blocks
    # positions are looked up; the tied table is the output head
    assert ours.matmul_parameters == (vocabulary + 2) * width + blocks


def test_llama_8b_counted_by_hand():
    model = catalog.model("llama-3.1-8b")
    # one layer: q and o 2 x 4096 x 4096 = 33,554,432; k and v 2 x 4096 x 1024 = 8,388,608;
    # MLP 3 x 4096 x 14336 = 176,160,768; two norms 8,192; together 218,112,000
    # 32 layers 6,979,584,000 + final norm 4,096 + two tables 2 x 128,256 x 4,096 = 1,050,673,152
    assert model.parameters == 32 * 218_112_000 + 4_096 + 1_050_673_152
    assert model.matmul_parameters == model.parameters - 525_336_576
    # cache: 2 x 32 layers x 8 heads x 128 = 65,536 numbers, 128 KiB in 16 bits
    assert model.kv_values_per_token == 65_536
    assert model.weight_bytes(2) == 15_009_849_344


def test_bias_norm_and_tied_table_each_add_what_they_should():
    model = catalog.model("qwen2.5-7b")
    # biases: 28 layers x (28 + 2 x 4) heads x 128
    without_bias = replace(model, qkv_bias=False)
    assert model.parameters - without_bias.parameters == 28 * 36 * 128
    # query and key norms: 2 x 128 a layer
    assert replace(model, qk_norm=True).parameters - model.parameters == 28 * 2 * 128
    table = 152_064 * 3_584
    tied = replace(model, tied_embeddings=True)
    assert model.parameters - tied.parameters == table
    # the matrix at the output is read once either way
    assert tied.matmul_parameters == model.matmul_parameters == model.parameters - table


def test_norms_and_biases_are_at_most_two_hundredths_of_a_percent():
    grouped = [m for m in catalog.models().values() if not (m.latent or m.biases)]
    for model in grouped:
        matrices = replace(model, qkv_bias=False, qk_norm=False)
        norms = 2 * model.layers * model.hidden + model.hidden
        vectors = model.parameters - matrices.parameters + norms
        assert 0 < vectors / model.parameters < 2e-4


def test_the_toml_of_machines_is_complete():
    entries = toml("machines.toml")
    for key, entry in entries.items():
        assert {"name", "bandwidth", "memory"} <= set(entry) <= {"name", *NUMBERS}, key
        for name in set(entry) - {"name"}:
            number = entry[name]
            assert set(number) == {"value", "source", "checked_on"}, (key, name)
            assert isinstance(number["value"], float)
            assert len(number["source"]) > 20
            assert type(number["checked_on"]) is datetime.date
    assert {"a100", "h100", "h200", "b200", "l4", "l40s"} <= set(entries)
    assert {"rtx-4090", "rtx-5090", "mi300x", "tpu-v5e"} <= set(entries)


def test_the_toml_of_models_is_complete():
    fields = {field.name for field in dataclasses.fields(Model)}
    said = {f.name for f in dataclasses.fields(Model) if f.default is dataclasses.MISSING}
    for key, entry in toml("models.toml").items():
        assert said <= set(entry) <= fields, key
        assert key == entry["name"].lower()
        assert f"published count {published_parameters[key]:,}" in entry["source"]
        assert type(entry["checked_on"]) is datetime.date


def test_peaks_are_dense_and_bandwidths_plausible():
    # A sparse peak or a slipped power of ten would leave these ranges: the ridge of every chip
    # of these generations lies between 100 and 450 tokens in 16 bits.
    documented = [machine for machine in catalog.machines().values() if machine.peak_flops]
    assert len(documented) >= 10
    for machine in documented:
        assert 100 < machine.peak_flops / machine.bandwidth < 450, machine.name
        # emptying the memory once takes between 10 and 100 ms
        assert 0.01 < machine.memory / machine.bandwidth < 0.1, machine.name


def test_narrower_arithmetic_is_twice_as_fast_up_to_rounding():
    eight = [m for m in catalog.machines().values() if m.peak_flops_8bit]
    assert len(eight) >= 10
    for machine in eight:
        assert machine.peak(8) / machine.peak(16) == pytest.approx(2, rel=0.03), machine.name
    # GeForce accumulates 16-bit products in 32 bits at half rate, and 4-bit ones at full rate
    ratios = {m.name: m.peak(4) / m.peak(8) for m in eight if m.peak_flops_4bit}
    assert ratios == {
        "NVIDIA B200 (HGX)": pytest.approx(2),
        "NVIDIA GeForce RTX 5090": pytest.approx(4),
    }


def test_an_interconnect_is_slower_than_memory():
    linked = [m for m in catalog.machines().values() if m.interconnect]
    assert {"NVIDIA A100 SXM 80 GB", "NVIDIA H100 SXM", "NVIDIA B200 (HGX)"} <= {
        m.name for m in linked
    }
    for machine in linked:
        assert machine.bandwidth / 30 < machine.interconnect < machine.bandwidth / 4, machine.name


def test_apple_documents_no_arithmetic():
    apple = catalog.machine("m3-ultra")
    assert apple.peak_flops is apple.peak_flops_8bit is apple.interconnect is None
    with pytest.raises(
        ValueError, match=r"none is documented for 16-bit .* Apple M3 Ultra, got 16"
    ):
        apple.peak()
    assert replace(apple, peak_flops=5e13).peak() == 5e13


def test_a_machine_carries_every_source_and_the_oldest_date():
    for key, entry in toml("machines.toml").items():
        machine = catalog.machine(key)
        for name in set(entry) - {"name"}:
            assert getattr(machine, name) == entry[name]["value"]
            assert f"{name}: {entry[name]['source']}" in machine.source
        dates = [entry[name]["checked_on"] for name in set(entry) - {"name"}]
        assert machine.checked_on == min(dates)
        for name in set(NUMBERS) - set(entry):
            assert getattr(machine, name) is None


def test_the_returned_dictionaries_are_the_callers_own():
    mine = catalog.machines()
    mine.clear()
    assert "h100" in catalog.machines()
    with pytest.raises(FrozenInstanceError):
        catalog.machine("h100").bandwidth = 1.0


@pytest.mark.parametrize(
    ("find", "kind", "choices"),
    [
        (catalog.machine, "machine", catalog.machines()),
        (catalog.model, "model", catalog.models()),
    ],
)
@pytest.mark.parametrize("wrong", ["h-100", "gpt-5", "", None, 3])
def test_an_unknown_name_is_refused_with_all_the_choices(find, kind, choices, wrong):
    with pytest.raises(ValueError, match=f"^{kind} must be one of ") as refusal:
        find(wrong)
    assert repr(wrong) in str(refusal.value)
    for choice in choices:
        assert repr(choice) in str(refusal.value)


def test_a_name_may_be_written_in_capitals():
    assert catalog.machine("H100") is catalog.machine("h100")
    assert catalog.model("Llama-3.1-8B") is catalog.model("llama-3.1-8b")


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("wrong", [0, -1.0, float("nan"), float("inf"), True, "1e12", None])
def test_a_machine_refuses_nonsense(field, wrong):
    if wrong is None and field not in ("bandwidth", "memory"):
        return  # undocumented
    with pytest.raises(ValueError, match=f"^{field} must be a finite number in"):
        replace(catalog.machine("h100"), **{field: wrong})


def test_a_machine_refuses_an_array():
    with pytest.raises(ValueError, match=r"bandwidth must be a single number, .* shape \(2,\)"):
        replace(catalog.machine("h100"), bandwidth=[1e12, 2e12])


@pytest.mark.parametrize(
    "field", ["layers", "hidden", "intermediate", "heads", "kv_heads", "head_dim", "vocabulary"]
)
@pytest.mark.parametrize("wrong", [0, -8, 2.5, float("nan"), True, "8"])
def test_a_model_refuses_nonsense(field, wrong):
    with pytest.raises(ValueError, match=f"^{field} must be a whole number in"):
        replace(catalog.model("qwen3-8b"), **{field: wrong})


def test_a_model_refuses_heads_that_do_not_group_and_switches_that_are_not_bool():
    model = catalog.model("qwen3-8b")
    with pytest.raises(ValueError, match=r"heads must be a multiple of kv_heads \(= 6\), got 32"):
        replace(model, kv_heads=6)
    switches = ("tied_embeddings", "qkv_bias", "qk_norm", "gated_mlp", "biases", "norm_biases")
    for switch in (*switches, "sinks"):
        with pytest.raises(ValueError, match=f"{switch} must be True or False, got 1"):
            replace(model, **{switch: 1})


@pytest.mark.parametrize(
    ("key", "wrong", "message"),
    [
        ("deepseek-v3", {"kv_heads": 128}, r"^kv_heads must be 1 with latent attention, got 128"),
        (
            "deepseek-v3",
            {"head_dim": 64},
            r"^head_dim must exceed latent.rope_dim \(= 64\), got 64",
        ),
        ("qwen3-8b", {"windowed_layers": 37, "window": 8}, r"^windowed_layers must be .* got 37"),
        ("qwen3-8b", {"windowed_layers": 4}, r"^window must be .* None without, got None with 4"),
        ("qwen3-8b", {"window": 128}, r"^window must be .* None without, got 128 with 0"),
        ("qwen3-8b", {"window": 0, "windowed_layers": 4}, r"^window must be a whole number in \[1"),
        ("gpt2", {"positions": -1}, r"^positions must be a whole number in \[0"),
        ("qwen3-8b", {"fused_states": 0.5}, r"^fused_states must be a whole number in \[0"),
        (
            "mixtral-8x7b",
            {"layers": 1, "experts": Experts(8, 2, 64, dense_layers=1)},
            r"^experts\.d",
        ),
    ],
)
def test_a_shape_that_cannot_be_is_refused(key, wrong, message):
    with pytest.raises(ValueError, match=message):
        replace(catalog.model(key), **wrong)


@pytest.mark.parametrize("wrong", [0, -8, 2.5, True, "8"])
def test_latent_attention_refuses_nonsense(wrong):
    latent = catalog.model("deepseek-v3").latent
    for size in ("rank", "rope_dim", "value_dim", "query_rank"):
        with pytest.raises(ValueError, match=rf"^{size} must be a whole number in \[1"):
            replace(latent, **{size: wrong})


def test_a_whole_float_is_a_size():
    model = replace(catalog.model("qwen3-8b"), layers=36.0)
    assert isinstance(model.parameters, int)
    assert model.parameters == published_parameters["qwen3-8b"]


def test_a_reader_can_describe_their_own_machine():
    mine = Machine("laptop", 5e12, 60e9, 16e9, "measured", datetime.date(2026, 11, 30))
    assert mine.peak_flops == 5e12
