"""The command line: answers, JSON, figures, and one line for what cannot be used."""

import json
import subprocess
import sys

import pytest
from test_metrics import LLAMA_LINES, SGLANG_LINES, page

from specmini.advisor import advise
from specmini.command import main
from specmini.commands.advise import configuration_from

RUN = [
    *("advise", "--target", "Qwen3-32B", "--machine", "h100", "--engine", "vLLM"),
    *("--weights", "bf16", "--drafter", "draft model Qwen3-1.7B", "--draft-length", "4"),
]


def told(capsys, *arguments):
    try:
        code = main([*map(str, arguments)])
    except SystemExit as stop:  # what argparse refuses
        code = stop.code
    out = capsys.readouterr()
    return code, out.out, out.err


def test_advice_in_words(capsys):
    code, out, err = told(capsys, *RUN, "--acceptance", "2.86", "--concurrency", "8")
    assert (code, err) == (0, "")
    assert out.startswith("Speculation wins: a token comes ")
    for word in ("80 % interval", "best draft length       K = ", "alpha = ", "matters most"):
        assert word in out
    assert "basis: data sheets, a serving engine on tensor cores" in out


def test_advice_as_json_has_the_same_numbers(capsys):
    _, text, _ = told(capsys, *RUN, "--acceptance", "2.86")
    code, out, _ = told(capsys, *RUN, "--acceptance", "2.86", "--json")
    answer = json.loads(out)
    assert code == 0
    assert f"{answer['speedup']:.2f} times as fast" in text
    assert answer["low"] < answer["speedup"] < answer["high"]
    assert set(answer["sensitivities"]) >= {"acceptance", "requests in flight"}


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        ("2.86", "tokens per round"),
        ("0.465", "accepted / drafted"),
        ("0.465", "vLLM: draft acceptance rate"),
        ("0.7125,0.5025,0.3692,0.2758", "vLLM: per-position acceptance rate"),
        ("0.572", "SGLang: accept rate, before April 2026"),
    ],
)
def test_acceptance_in_any_definition(capsys, value, meaning):
    words = ("--acceptance", value, "--acceptance-is", meaning, "--json")
    code, out, _ = told(capsys, *RUN, *words)
    assert code == 0
    assert json.loads(out)["tokens_per_round"] == pytest.approx(2.86, abs=0.005)


def test_the_only_position_is_a_list_too(capsys):
    words = ("--acceptance", "0.7", "--acceptance-is", "vLLM: Per-position acceptance rate")
    code, out, _ = told(capsys, *RUN[:-1], "1", *words, "--json")
    assert code == 0
    assert json.loads(out)["tokens_per_round"] == pytest.approx(1.7)


def test_a_machine_of_ones_own(capsys):
    """The numbers of the data sheet, told, give the answer of the catalog's machine."""
    numbers = ("--memory", "80", "--bandwidth", "3.35", "--peak", "989.4")
    _, listed, _ = told(capsys, *RUN, "--json")
    code, own, _ = told(capsys, *RUN[:3], *RUN[5:], *numbers, "--json")
    slower = told(capsys, *RUN, "--bandwidth", "1", "--json")[1]
    assert code == 0
    assert json.loads(own)["speedup"] == json.loads(listed)["speedup"]
    assert json.loads(slower)["plain_seconds"] > 2 * json.loads(listed)["plain_seconds"]
    code, _, err = told(capsys, *RUN, "--peak", "-1")
    assert code == 2
    assert "peak_flops" in err


@pytest.mark.parametrize(
    ("words", "assumed"),
    [
        (("--memory", "24", "--bandwidth", "0.5", "--peak", "100"), []),
        (("--memory", "24", "--bandwidth", "0.5"), ["peak of NVIDIA H100 SXM"]),
        (("--peak", "100"), ["bandwidth and memory of NVIDIA H100 SXM"]),
        ((), ["bandwidth, peak and memory of NVIDIA H100 SXM"]),
        (
            ("--memory", "24", "--bandwidth", "0.5", "--peak", "100", "--devices", "2"),
            ["interconnect of NVIDIA H100 SXM"],
        ),
        (
            ("--memory", "24", "--bandwidth", "0.5", "--peak", "100", "--weights", "AWQ"),
            ["kernels of a data center"],
        ),
        (("--machine", "A100", "--bandwidth", "1.5"), ["peak and memory of NVIDIA A100 SXM 80 GB"]),
        (("--machine", "h100", "--memory", "60"), []),
        (("--machine", "h100", "--devices", "3"), ["every matrix on 2 devices"]),
    ],
)
def test_what_is_told_of_a_machine_is_not_assumed(capsys, words, assumed):
    code, out, _ = told(capsys, *RUN[:3], *RUN[5:], *words)
    lines = [line for line in out.splitlines() if line.startswith("assumed: ")]
    assert code == 0
    assert [line.removeprefix("assumed: ").partition(" (")[0] for line in lines] == assumed


def test_told_memory_that_does_not_hold_the_weights_counts(capsys):
    words = ("--target", "8B", "--drafter", "EAGLE-3", "--engine", "llama.cpp")
    _, out, _ = told(capsys, "advise", *words, "--memory", "4")
    assert "assumed: the rest of the weights in CPU memory (4 GB do not hold them)" in out
    assert "in CPU memory" not in told(capsys, "advise", *words, "--memory", "40")[1]


@pytest.mark.parametrize(
    ("words", "assumed"),
    [
        (("--engine", "vlllm"), "a server engine ('vlllm' is not known)"),
        (("--weights", "Q99"), "16 bits a weight (none in 'Q99')"),
        (("--draft-weights", "xyz"), "16 bits a weight of the draft (none in 'xyz')"),
        (("--machine", "abacus"), "bandwidth, peak and memory of NVIDIA H100 SXM (no known"),
    ],
)
def test_words_that_are_not_known_are_said_to_be_ignored(capsys, words, assumed):
    assert f"assumed: {assumed}" in told(capsys, *RUN, *words)[1]


def test_a_configuration_is_that_of_the_command(capsys):
    found = configuration_from([*RUN[1:], "--concurrency", "8"])
    _, out, _ = told(capsys, *RUN, "--concurrency", "8", "--json")
    assert advise(found).speedup == json.loads(out)["speedup"]


def test_plain_times_calibrate(capsys):
    times = ["--plain", "64:40.44", "--plain", "1:33.97", "--plain", "256:65.43:211"]
    code, out, _ = told(capsys, *RUN, "--acceptance", "2.86", "--concurrency", 64, *times)
    assert code == 0
    assert "plain step              40.4 ms" in out
    assert "basis: your plain times" in out


def test_own_numbers_replace_the_catalog(capsys):
    _, out, _ = told(capsys, *RUN, "--memory", "60", "--devices", "1", "--cost-ratio", "0.2")
    assert "the weights take 69 GB of 60 GB" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--acceptance", "7"), r"tokens_per_round must be in [1, 5]"),
        (("--acceptance", "0.7"), "--acceptance-is must tell what '0.7' is"),
        (("--acceptance", "x", "--acceptance-is", "vLLM: V0"), "--acceptance must be numbers"),
        (("--acceptance", "1", "--acceptance-is", "Foo: bar"), "tool must be one of 'vLLM'"),
        (("--concurrency", "0"), "concurrency must be a whole number in [1,"),
        (("--context", "-5"), "context must be"),
        (("--cost-ratio", "-1"), "cost_ratio must be"),
        (("--memory", "0"), "memory must be"),
        (("--plain", "fast"), "--plain must be N:MS"),
        (("--plain", "1:0"), "seconds must be"),
        (("--plain", "1:20", "--plain", "9:10"), "plain_times must rise"),
        (("--figure", "/no/such/place.svg"), "cannot write"),
        (("--draft-length", "-3"), "--draft-length must be a whole number from 1 on"),
        (("--draft-length", "1.5"), "'tree steps,k,tokens', got '1.5'"),
        (("--draft-length", "0"), "draft_length must be a whole number in [1,"),
        (("--devices", "0"), "devices must be a whole number in [1,"),
        (("--devices", "2.5"), "argument --devices: invalid int value: '2.5'"),
        (("--acceptance", "-2.4"), "--acceptance must be a number such as 2.86"),
        (("--acceptance", "nan"), "--acceptance must be a number such as 2.86"),
        (("--acceptance-is", "accepted / drafted"), "--acceptance must be given with"),
        (("--plain", "nan:20"), "--plain must be N:MS"),
        (("--plain", "inf:20"), "--plain must be N:MS"),
        (("--plain", "1.5:20"), "--plain must be N:MS"),
        (("--weights", "0bpw"), "bits must be a finite number in (0, inf), got 0.0"),
        (("--target", " "), "--target must name a model or a size"),
        (("--target", "0B"), "target must have between 0 and 1e+15 parameters"),
        (("--target", "8B-A9B"), "of which a token meets at most all, got '8B-A9B'"),
        (("--drafter", "draft model 0B"), "drafter must have between 0 and"),
    ],
)
def test_errors_are_one_line_that_names_the_field(capsys, words, message):
    code, out, err = told(capsys, *RUN, *words)
    assert (code, out) == (2, "")
    assert err.startswith("specmini advise: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize("words", [(), ("tea",), ("advise",), ("metrics", "a", "b", "c")])
def test_misspelled_commands_are_one_line_too(capsys, words):
    code, out, err = told(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--help lists the options)" in err


def test_ctrl_c_is_no_accident(capsys, monkeypatch):
    def interrupted(source):
        raise KeyboardInterrupt

    monkeypatch.setattr("specmini.commands.metrics.fetch", interrupted)
    code, out, err = told(capsys, "metrics", "page")
    assert (code, out) == (130, "")
    assert err == "\nspecmini metrics: stopped before it had an answer\n"


def test_unknown_drafters_and_options_list_the_choices(capsys):
    code, _, err = told(capsys, "advise", "--target", "8B", "--drafter", "tea leaves")
    assert code == 2
    assert "eagle-3, mtp, block, lookup, got 'tea leaves'" in err
    code, _, err = told(capsys, "advise", "--target", "8B")
    assert code == 2
    assert "--drafter" in err


def test_metrics_in_words_and_json(capsys, tmp_path):
    source = tmp_path / "page.txt"
    source.write_text(page())
    code, out, _ = told(capsys, "metrics", source)
    assert code == 0
    assert out.startswith("vLLM metrics page: 2.660 tokens a round (E), 1,000 rounds")
    assert "a draft may cost up to 0.553 plain steps" in out
    assert "alpha by position       0.71 0.75 0.79" in out
    _, out, _ = told(capsys, "metrics", source, "--json")
    assert json.loads(out)["rates_by_position"][0] == pytest.approx(0.71)


def test_metrics_give_advice(capsys, tmp_path):
    source = tmp_path / "page.txt"
    source.write_text(page(num_requests_running=40))
    words = ("--target", "Llama-3.1-8B", "--drafter", "EAGLE-3", "--machine", "h100")
    code, out, _ = told(capsys, "metrics", source, *words, "--json")
    assert code == 0
    advice = json.loads(out)["advice"]
    assert advice["tokens_per_round"] == pytest.approx(2.66)
    alone = told(capsys, "metrics", source, *words, "--concurrency", "1", "--json")[1]
    assert json.loads(alone)["advice"]["speedup"] > advice["speedup"]


def test_metrics_of_a_lookup_count_the_steps_without_a_draft(capsys, tmp_path):
    source = tmp_path / "page"
    source.write_text(page())
    words = ("--target", "8B", "--machine", "h100", "--json", "--drafter")
    head, lookup = (
        json.loads(told(capsys, "metrics", source, *words, drafter)[1])["advice"]
        for drafter in ("MTP", "ngram")
    )
    assert head["tokens_per_round"] == pytest.approx(2.66)
    assert lookup["tokens_per_round"] == pytest.approx(1 + 0.5 * 1.66)
    assert any("drafts in 50% of the steps" in word for word in lookup["assumed"])


def test_metrics_between_two_readings(capsys, tmp_path):
    early, late = tmp_path / "a", tmp_path / "b"
    early.write_text(page())
    late.write_text(page(1500, 4500, 2660, (1110, 880, 670)))
    code, out, _ = told(capsys, "metrics", early, late)
    assert code == 0
    assert "3.000 tokens a round (E), 500 rounds" in out
    code, _, err = told(capsys, "metrics", late, early)
    assert code == 2
    assert "the server was started again" in err


def test_metrics_of_logs(capsys, tmp_path):
    log = tmp_path / "log"
    log.write_text(LLAMA_LINES)
    assert "2.920 tokens a round" in told(capsys, "metrics", log)[1]
    log.write_text(SGLANG_LINES)
    words = ("--target", "8B", "--drafter", "EAGLE-3")
    code, _, err = told(capsys, "metrics", log, *words)
    assert code == 2
    assert "--draft-length must be given, SGLang log does not tell K" in err
    assert told(capsys, "metrics", log, *words, "--draft-length", 3)[0] == 0
    code, _, err = told(capsys, "metrics", log, *words, "--draft-length", -3)
    assert code == 2
    assert "--draft-length must be a whole number from 1 on" in err
    log.write_text(page())
    code, _, err = told(capsys, "metrics", log, *words, "--draft-length", 9)
    assert code == 2
    assert "--draft-length must be left out or 3, as vLLM metrics page tells, got 9" in err


def test_metrics_refuses_a_figure_without_a_configuration(capsys, tmp_path):
    source = tmp_path / "page.txt"
    source.write_text(page())
    code, _, err = told(capsys, "metrics", source, "--figure", tmp_path / "x.svg")
    assert code == 2
    assert "--figure needs --target and --drafter" in err


def test_figure_is_written(capsys, tmp_path):
    path = tmp_path / "advice.svg"
    assert told(capsys, *RUN, "--figure", path)[0] == 0
    assert path.read_text("utf-8").startswith("<svg")


def test_python_m_specmini_needs_numpy_alone(tmp_path):
    code = (
        "import sys\nfrom specmini.command import main\n"
        f"main({[*RUN, '--acceptance', '2.86']!r})\n"
        "print(sorted({'torch', 'matplotlib', 'scipy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
    module = [sys.executable, "-m", "specmini", "metrics", str(tmp_path / "none")]
    run = subprocess.run(module, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
