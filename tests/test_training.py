"""Training: resuming is exact, the schedule is the one described, distillation imitates."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from specmini import checkpoints, corpus, tokenizer, training
from specmini.exact.overlap import overlap
from specmini.gpt import GPT, Config
from specmini.sampling import plain
from specmini.training import Run, Settings, command, evaluation, streams
from specmini.training.optimizer import Optimizer, orthogonalize

settings = Settings(batch=2, length=16, warm_up=4, prose_share=0.5)


@pytest.fixture(scope="module")
def library():
    """Enough modules that some of them are held out."""
    sentence = "The value of number {0} is computed from {0} and its neighbours in the list. "
    files = {
        f"m{i}.py": f'def f{i}(x):\n    """{sentence.format(i) * 4}"""\n    return {i} * x\n' * 3
        for i in range(60)
    }
    return corpus.from_files("test", {name: text.encode() for name, text in files.items()})


@pytest.fixture(scope="module")
def data(library, tmp_path_factory):
    return streams.prepare(tmp_path_factory.mktemp("data"), 300, library)


@pytest.fixture
def config(data):
    return Config(data.tokenizer.vocabulary, context=16, layers=1, width=16, heads=2)


@pytest.fixture
def torch_threads():
    """The command sets them for its process, which here is that of all tests."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def new(folder, data, config, settings=settings, teacher=None):
    return Run(folder, data, GPT(config, torch.Generator().manual_seed(0)), settings, teacher)


def losses(run, steps):
    return [line.loss for line in run.train(steps, report_every=1)]


def test_training_lowers_the_loss(tmp_path, data, config):
    seen = losses(new(tmp_path, data, config), 60)
    assert seen[0] == pytest.approx(math.log(300), rel=0.05), "an untrained model knows nothing"
    assert np.mean(seen[-5:]) < 0.7 * seen[0]


def test_a_resumed_run_is_the_uninterrupted_one_bit_for_bit(tmp_path, data, config):
    whole = new(tmp_path / "whole", data, config)
    expected = losses(whole, 10)

    first = new(tmp_path / "parts", data, config)
    seen = losses(first, 4)
    first.save()
    losses(first, 3)  # after the save, lost in the crash
    second = training.resume(tmp_path / "parts", data)
    seen += losses(second, 6)

    assert seen == expected
    logged = (tmp_path / "parts" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in logged] == list(range(1, 11)), "none twice"
    assert second.step == whole.step == 10
    assert second.tokens == whole.tokens == 10 * 2 * 16
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, second.model.state_dict()[name]), name


def test_forgetting_the_optimizer_would_show(tmp_path, data, config):
    """The test above can fail: without the stored moments the losses differ."""
    expected = losses(new(tmp_path / "whole", data, config), 8)
    run = new(tmp_path / "parts", data, config)
    seen = losses(run, 4)
    run.optimizer = Optimizer(run.model, settings.matrix_rate, settings.other_rate)
    assert seen + losses(run, 4) != expected


def test_growing_on_resume_starts_from_the_same_loss(tmp_path, data, config):
    run = new(tmp_path, data, config)
    losses(run, 20)
    run.save()
    deeper = training.resume(tmp_path, data, layers=3)
    assert deeper.model.config.layers == 3
    assert deeper.judge() == pytest.approx(run.judge(), abs=1e-6)
    before = [weight.clone() for weight in deeper.model.h[2].parameters()]
    losses(deeper, 2)
    after = deeper.model.h[2].parameters()
    moved = [not torch.equal(old, now) for old, now in zip(before, after, strict=True)]
    assert all(moved), "every weight of a new block must train"


def test_the_schedule_is_warm_up_stable_decay():
    stable = Settings(warm_up=4)
    assert [stable.rate(step) for step in (0, 1, 3, 4, 10**6)] == [0.25, 0.5, 1.0, 1.0, 1.0]
    falling = replace(stable, decay_from=100, decay_steps=4)
    assert [falling.rate(step) for step in range(99, 106)] == [1, 1, 0.75, 0.5, 0.25, 0, 0]


def test_a_decayed_run_stands_still(tmp_path, data, config):
    run = new(tmp_path, data, config)
    losses(run, 5)
    run.save()
    run = training.resume(
        tmp_path, data, change=lambda s, n: replace(s, decay_from=n, decay_steps=2)
    )
    losses(run, 2)
    before = run.model.wte.weight.clone()
    losses(run, 1)
    assert torch.equal(run.model.wte.weight, before)


def test_distilling_imitates_the_teacher_and_not_the_text(tmp_path, data, config):
    """The teacher is random: only a draft that learns from *it* comes to agree with it."""
    teacher = GPT(config, torch.Generator().manual_seed(7)).eval().requires_grad_(False)
    for weight in teacher.parameters():
        weight.mul_(6.0)  # far from uniform, so that agreement has to be learned
    windows = streams.even_windows(data.prose_held_out, 16)

    def agreement(teaching):
        draft = GPT(config, torch.Generator().manual_seed(9))
        losses(
            Run(tmp_path / str(teaching), data, draft, settings, teacher if teaching else None), 60
        )
        return overlap(teacher, draft, windows, [plain])[0].rates["textbook"]

    assert agreement(teaching=True) > agreement(teaching=False) + 0.2


def test_an_overlap_is_learned_where_it_is_what_counts(tmp_path, data, config):
    """A student too small for its teacher ends with more overlap if that is what it learns for."""
    teacher = GPT(replace(config, width=32), torch.Generator().manual_seed(7)).eval()
    teacher.requires_grad_(False)
    for weight in teacher.parameters():
        weight.mul_(6.0)
    windows = streams.even_windows(data.prose_held_out, 16)

    def agreement(objective):
        draft = GPT(config, torch.Generator().manual_seed(9))
        run = Run(
            tmp_path / objective, data, draft, replace(settings, objective=objective), teacher
        )
        for line in run.train(80):
            assert objective == "likelihood" or 0 < line.loss < 1
        return overlap(teacher, draft, windows, [plain])[0].rates["textbook"]

    assert agreement("overlap") > agreement("likelihood")


def test_an_overlap_needs_a_teacher_and_is_remembered(tmp_path, data, config):
    aim = replace(settings, objective="overlap")
    with pytest.raises(ValueError, match="objective must be 'likelihood' without a teacher"):
        losses(new(tmp_path / "alone", data, config, aim), 1)
    with pytest.raises(ValueError, match="objective must be one of 'likelihood', 'overlap'"):
        replace(settings, objective="speed")
    run = new(tmp_path, data, config, teacher=make_teacher(config, 1))
    losses(run, 1)
    run.save()
    changed = training.resume(
        tmp_path,
        data,
        change=lambda old, step: replace(old, objective="overlap"),
        teacher=make_teacher(config, 1),
    )
    losses(changed, 1)
    changed.save()
    again = training.resume(tmp_path, data)  # to export it
    assert [stage["objective"] for stage in again.stages] == ["likelihood", "overlap"]


def test_every_step_and_every_seed_sees_other_windows(tmp_path, data, config):
    def first_losses(seed):
        # with rates this small the model stands still: only the windows change the loss
        still = replace(settings, seed=seed, matrix_rate=1e-12, other_rate=1e-12)
        return losses(new(tmp_path / str(seed), data, config, still), 4)

    assert len({*first_losses(0), *first_losses(1)}) == 8


def test_another_corpus_or_tokenizer_is_refused(tmp_path, data, config):
    new(tmp_path, data, config).save()
    with pytest.raises(ValueError, match=r"was trained with the corpus .* got abc"):
        training.resume(tmp_path, replace(data, corpus_sha256="abc"))
    other = tokenizer.Tokenizer(data.tokenizer.merges[:-1])
    with pytest.raises(ValueError, match="was trained with the tokenizer"):
        training.resume(tmp_path, replace(data, tokenizer=other))


def test_models_that_do_not_fit_the_streams(tmp_path, data, config):
    with pytest.raises(ValueError, match="vocabulary of 300, got 99"):
        new(tmp_path, data, replace(config, vocabulary=99))
    with pytest.raises(ValueError, match="length must be at most the model's context of 8, got 16"):
        new(tmp_path, data, replace(config, context=8))


def make_teacher(config, seed):
    return GPT(config, torch.Generator().manual_seed(seed)).eval()


def test_a_distilled_run_remembers_its_teacher(tmp_path, data, config):
    run = new(tmp_path, data, config, teacher=make_teacher(config, 1))
    losses(run, 2)
    run.save()

    alone = training.resume(tmp_path, data)  # to judge it, or to export it
    assert alone.record()["stages"] == run.record()["stages"]
    with pytest.raises(ValueError, match=r"teacher must be unnamed to go on with .*got None"):
        losses(alone, 1)
    with pytest.raises(ValueError, match=r"was trained with the teacher .*got "):
        training.resume(tmp_path, data, teacher=make_teacher(config, 2))
    same = training.resume(tmp_path, data, teacher=make_teacher(config, 1))
    assert len(losses(same, 1)) == 1
    assert len(same.stages) == 1

    other = training.resume(
        tmp_path, data, teacher=make_teacher(config, 2), teacher_name="b", replaced=["teacher"]
    )
    losses(other, 1)
    other.save()
    text = training.resume(tmp_path, data, replaced=["teacher"])
    assert len(losses(text, 1)) == 1
    found = [(stage["from_step"], stage["teacher"]) for stage in text.record()["stages"]]
    assert found == [(0, "unnamed"), (2, "b"), (3, None)]
    assert len({stage["teacher_sha256"] for stage in text.stages}) == 3


def test_text_first_and_a_teacher_later(tmp_path, data, config):
    run = new(tmp_path, data, config)
    losses(run, 2)
    run.save()
    taught = training.resume(tmp_path, data, teacher=make_teacher(config, 1), teacher_name="t")
    assert [(s["from_step"], s["teacher"]) for s in taught.stages] == [(0, None), (2, "t")]


def test_a_run_from_before_teachers_were_stored(tmp_path, data, config):
    run = new(tmp_path, data, config, teacher=make_teacher(config, 1))
    losses(run, 2)
    run.save()
    path = tmp_path / "state.safetensors"
    tensors, record = checkpoints.read(path)
    del record["stages"]
    checkpoints.write(path, tensors, record)
    for teacher in (None, make_teacher(config, 2)):
        resumed = training.resume(tmp_path, data, teacher=teacher)
        assert len(losses(resumed, 1)) == 1
        assert [stage["from_step"] for stage in resumed.stages] == [2], "what was before is unknown"


def test_a_corpus_can_be_replaced_on_purpose(tmp_path, data, config):
    run = new(tmp_path, data, config)
    losses(run, 1)
    run.save()
    other = replace(data, corpus="another", corpus_sha256="abc")
    resumed = training.resume(tmp_path, other, replaced=["corpus"])
    assert [stage["corpus"] for stage in resumed.stages] == ["test", "another"]
    with pytest.raises(ValueError, match="replaced must be one of 'corpus', 'teacher', got 'tok"):
        training.resume(tmp_path, other, replaced=["tokenizer"])


def test_a_line_that_a_crash_cut_short_is_no_hindrance(tmp_path, data, config):
    run = new(tmp_path, data, config)
    losses(run, 2)
    run.save()
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"step": 3, "tok')
    losses(training.resume(tmp_path, data), 2)
    logged = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in logged] == [1, 2, 3, 4]


def test_nothing_to_resume(tmp_path, data):
    with pytest.raises(ValueError, match=r"folder must hold state\.safetensors"):
        training.resume(tmp_path, data)


@pytest.mark.parametrize(
    ("name", "value"),
    [("batch", 0), ("warm_up", 0), ("matrix_rate", 0.0), ("other_rate", math.nan),
     ("prose_share", 1.1), ("decay_steps", 0)],
)  # fmt: skip
def test_impossible_settings(name, value):
    with pytest.raises(ValueError, match=rf"{name} must .*got {value}"):
        Settings(**{name: value})


def test_the_log_holds_every_line(tmp_path, data, config):
    run = new(tmp_path, data, config)
    lines = list(run.train(5, report_every=2, judge_every=4))
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged == [asdict(line) for line in lines]
    assert [line["step"] for line in logged] == [2, 4, 5]
    assert [line["prose"] is None for line in logged] == [True, False, False]
    assert run.seconds > 0, "the log rounds it, so a fast machine may show 0"
    assert logged[-1]["seconds"] == round(run.seconds, 2)


def test_orthogonalized_matrices_have_singular_values_near_one():
    generator = torch.Generator().manual_seed(0)
    for shape in ((20, 60), (60, 20)):
        matrix = torch.randn(shape, generator=generator)
        values = torch.linalg.svdvals(orthogonalize(matrix))
        assert values.min() > 0.6
        assert values.max() < 1.3
        # same directions: the product with the input is symmetric and positive
        product = matrix.T @ orthogonalize(matrix)
        torch.testing.assert_close(product, product.T, rtol=0.0, atol=2e-4)


@pytest.mark.parametrize(("rows", "columns", "factor"), [(4, 6, 1.0), (8, 2, 2.0)])
def test_muon_looks_ahead_along_the_averaged_gradient(rows, columns, factor):
    model = torch.nn.ModuleDict({"h": torch.nn.Linear(columns, rows, bias=False)})
    optimizer = Optimizer(model, 0.1, 0.01)
    generator = torch.Generator().manual_seed(0)
    first, second = (torch.randn(rows, columns, generator=generator) for _ in range(2))
    for gradient in (first, second):
        before = model["h"].weight.detach().clone()
        model["h"].weight.grad = gradient
        optimizer.step(0.5)
    average = 0.95 * 0.05 * first + 0.05 * second
    expected = before - factor * 0.05 * orthogonalize(0.05 * second + 0.95 * average)
    torch.testing.assert_close(model["h"].weight.detach(), expected)


def test_adam_is_torchs_adam():
    """The part of the optimizer for embeddings and biases agrees with the reference."""
    ours, theirs = torch.nn.Embedding(5, 3), torch.nn.Embedding(5, 3)
    theirs.load_state_dict(ours.state_dict())
    optimizer = Optimizer(ours, 0.1, 0.01)
    reference = torch.optim.Adam(theirs.parameters(), 0.01, betas=(0.9, 0.98), eps=1e-10)
    for step in range(5):
        for module in (ours, theirs):
            (module.weight.sin() * (step + 1)).sum().backward()
        optimizer.step()
        reference.step()
        reference.zero_grad()
    torch.testing.assert_close(ours.weight, theirs.weight)


def test_bits_per_byte_of_a_model_that_knows_nothing(data, config):
    model = GPT(config)
    torch.nn.init.zeros_(model.wte.weight)  # all logits equal
    windows = streams.even_windows(data.code_held_out, 17)
    predicted = data.tokenizer.decode(windows[:, 1:].flatten().tolist())
    expected = windows[:, 1:].numel() * math.log2(300) / len(predicted)
    assert evaluation.bits_per_byte(model, windows, data.tokenizer) == pytest.approx(expected)


def test_continuations_are_the_likeliest_tokens_without_a_cache(config):
    model = GPT(config, torch.Generator().manual_seed(3)).eval()
    prompts = torch.tensor([[1, 2, 3], [4, 5, 6]])
    generator = torch.Generator().manual_seed(0)
    made = evaluation.continuations(model, prompts, 13, generator, temperature=0)
    tokens = prompts
    for _ in range(13):
        tokens = torch.cat((tokens, model(tokens)[:, -1].argmax(-1, keepdim=True)), dim=1)
    assert torch.equal(made, tokens)


def test_continuations_depend_on_the_generator_alone(config):
    model = GPT(config, torch.Generator().manual_seed(3)).eval()
    prompt = torch.tensor([[1]])

    def drawn(seed):
        generator = torch.Generator().manual_seed(seed)
        return evaluation.continuations(model, prompt, 15, generator).tolist()

    assert drawn(0) == drawn(0) != drawn(1)


@pytest.mark.parametrize(
    ("length", "temperature"), [(14, 1.0), (3, -0.5), (-1, 1.0), (3, math.nan)]
)
def test_continuations_out_of_range(config, length, temperature):
    with pytest.raises(ValueError, match=r"(length|temperature) must be .*got"):
        evaluation.continuations(
            GPT(config), torch.tensor([[1, 2, 3]]), length, torch.Generator(), temperature
        )


def test_streams_hold_the_documents_in_order(library, data):
    ids = data.prose_held_out.tolist()
    texts = [d.text for d in library.select("prose", held_out=True)]
    assert data.tokenizer.decode(ids) == "".join(texts).encode()
    assert ids.count(data.tokenizer.end_of_text) == len(texts)


def test_streams_are_made_once(library, data, tmp_path):
    made = streams.prepare(tmp_path, 300, library)
    again = streams.prepare(tmp_path, 300, corpus=None)  # would read the whole library
    assert again.corpus_sha256 == made.corpus_sha256 == library.sha256
    assert np.array_equal(again.code, made.code)
    tokenizer.save(tokenizer.Tokenizer(made.tokenizer.merges[:-1]), tmp_path / "tokenizer.json")
    with pytest.raises(ValueError, match="was encoded with the tokenizer"):
        streams.prepare(tmp_path)


def test_windows_are_cut_from_the_stream_that_was_drawn(data):
    rng = np.random.default_rng(0)
    prose = streams.draw_windows(data, 8, 10, prose_share=1.0, rng=rng)
    stream = data.prose.astype(np.int64)
    views = np.lib.stride_tricks.sliding_window_view(stream, 10)
    assert all((views == row).all(1).any() for row in prose.numpy())


def test_windows_that_do_not_fit(data):
    with pytest.raises(ValueError, match="length must be at most 5, got 6"):
        streams.even_windows(np.arange(5, dtype=np.int16), 6)
    with pytest.raises(ValueError, match="count must be at least 1, got 0"):
        streams.even_windows(np.arange(50, dtype=np.int16), 6, 0)
    with pytest.raises(ValueError, match=r"length must be at most \d+, got 1000000"):
        streams.draw_windows(data, 1, 10**6, 0.5, np.random.default_rng(0))


@pytest.mark.usefixtures("torch_threads")
def test_the_command_line_trains_grows_decays_and_exports(tmp_path, library, capsys, monkeypatch):
    monkeypatch.setattr(command.os, "nice", lambda change: 0, raising=False)  # Windows
    monkeypatch.setattr(command.signal, "signal", lambda number, handler: None)
    folder, final, file = tmp_path / "run", tmp_path / "final", tmp_path / "t.safetensors"
    streams.prepare(tmp_path / "data", 300, library)
    common = ["--data", str(tmp_path / "data"), "--threads", "1"]
    shape = ["--width", "16", "--heads", "2", "--context", "256"]

    def run(*arguments):
        command.main([*map(str, arguments), *common])
        return capsys.readouterr().out

    assert "step 3" in run("target", folder, "--steps", 3, "--batch", 1, *shape)
    grown = run("target", folder, "--steps", 1, "--layers", 3)
    assert "layers=3" in grown
    assert "step 4" in grown
    decayed = run("target", final, "--from", folder, "--decay-steps", 2)
    assert "step 6" in decayed
    assert "step 7" not in decayed
    assert training.resume(folder, streams.prepare(tmp_path / "data")).step == 4, "still stable"
    again = run("target", tmp_path / "again", "--from", final, "--decay-steps", 1)
    assert "step 7" in again, "a copy of a decayed run may rise and fall once more"
    assert "bits per byte" in run("export", final, file, "--storage", "int8")
    assert "step 1" in run("distil", tmp_path / "d", "--teacher", file, "--steps", 1, *shape)
    assert "acceptance rate 1.000" in run("accept", file, file)
    run("card", file, tmp_path / "t.md")
    card = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "3 layers of width 16" in card
    assert "stored as int8" in card
    assert "From step 0 on the text of test." in card
    student = tmp_path / "s.safetensors"
    run("export", tmp_path / "d", student)
    run("card", student, tmp_path / "s.md")
    assert "distilled from t.safetensors (hash" in (tmp_path / "s.md").read_text(encoding="utf-8")
    assert card.count("````") == 16, "two prompts of two kinds at two temperatures"
    run("imitate", file, tmp_path / "imitated", "--count", 3)
    imitated = streams.prepare(tmp_path / "imitated")
    assert len(imitated.code) == len(imitated.prose) == 3 * 256
    assert imitated.corpus == "continuations by t.safetensors of test"
    assert imitated.corpus_sha256 != library.sha256


def test_heads_are_trained_stored_and_loaded(tmp_path, library, config, capsys, torch_threads):
    torch.set_num_threads(1)
    for name, passes in (("target", 0), ("draft", 0)):
        model = GPT(Config(config.vocabulary, 256, 2, 16, 2), torch.Generator().manual_seed(passes))
        checkpoints.save_model(tmp_path / f"{name}.safetensors", model, {})
    folder = tmp_path / "data"
    streams.prepare(folder, 300, library)
    common = ["--data", str(folder), "--threads", "1", "--batch", "1", "--passes", "2"]
    common += ["--teacher", str(tmp_path / "target.safetensors"), "--steps", "2"]
    for kind, more in (
        ("head", ["--draft", str(tmp_path / "draft.safetensors"), "--objective", "overlap"]),
        ("medusa", []),
        ("mtp", ["--objective", "overlap"]),
    ):
        run, stored = tmp_path / kind, tmp_path / f"{kind}.safetensors"
        command.main([kind, str(run), *common, *more])
        command.main([kind, str(run), *common, *more])
        assert "tokens a round" in capsys.readouterr().out
        command.main(["export", str(run), str(stored), "--data", str(folder)])
        head, record = checkpoints.load_head(stored)
        assert (record["step"], record["settings"]["passes"]) == (4, 2)
        assert record["kind"] == type(head).__name__
        written = ["card", str(stored), str(tmp_path / "card.md"), "--data", str(folder)]
        command.main([*written, "--target", str(tmp_path / "target.safetensors")])
        card = (tmp_path / "card.md").read_text(encoding="utf-8")
        assert "| held-out text | K = 1 | K = 2 |" in card
        assert "distilled from target.safetensors" in card
        with pytest.raises(ValueError, match=rf"holds {record['kind']}, no language model"):
            checkpoints.load_model(stored)
    with pytest.raises(ValueError, match="holds a language model, no head"):
        checkpoints.load_head(tmp_path / "target.safetensors")
