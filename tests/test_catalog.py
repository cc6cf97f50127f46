"""Catalog: published parameter counts, the schema of the data files, and refusals."""

import dataclasses
import datetime
import tomllib
from dataclasses import FrozenInstanceError, replace
from importlib import resources

import pytest

from specmini import catalog
from specmini.catalog import Machine, Model

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
    for model in catalog.models().values():
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
    said = {field.name for field in dataclasses.fields(Model) if not field.kw_only}
    for key, entry in toml("models.toml").items():
        assert said <= set(entry) <= fields, key
        assert key == entry["name"].lower()
        assert f"published count {published_parameters[key]:,}" in entry["source"]
        assert type(entry["checked_on"]) is datetime.date


def test_peaks_are_dense_and_bandwidths_plausible():
    # A sparse peak or a slipped power of ten would leave these ranges: the ridge of every chip
    # of these generations lies between 100 and 450 tokens in 16 bits.
    for machine in catalog.machines().values():
        assert 100 < machine.peak_flops / machine.bandwidth < 450, machine.name
        # emptying the memory once takes between 10 and 100 ms
        assert 0.01 < machine.memory / machine.bandwidth < 0.1, machine.name


def test_a_machine_carries_all_three_sources_and_the_oldest_date():
    entry = toml("machines.toml")["h100"]
    machine = catalog.machine("h100")
    for name in ("peak_flops", "bandwidth", "memory"):
        assert getattr(machine, name) == entry[name]["value"]
        assert f"{name}: {entry[name]['source']}" in machine.source
    assert machine.checked_on == min(
        entry[name]["checked_on"] for name in ("peak_flops", "bandwidth", "memory")
    )


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
    for switch in ("tied_embeddings", "qkv_bias", "qk_norm"):
        with pytest.raises(ValueError, match=f"{switch} must be True or False, got 1"):
            replace(model, **{switch: 1})


def test_a_whole_float_is_a_size():
    model = replace(catalog.model("qwen3-8b"), layers=36.0)
    assert isinstance(model.parameters, int)
    assert model.parameters == published_parameters["qwen3-8b"]


def test_a_reader_can_describe_their_own_machine():
    mine = Machine("laptop", 5e12, 60e9, 16e9, "measured", datetime.date(2026, 11, 30))
    assert mine.peak_flops == 5e12
