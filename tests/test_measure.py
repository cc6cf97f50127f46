"""Estimates from rounds and clocks: exact on scripted rounds and a scripted clock."""

import types
from dataclasses import astuple, replace

import numpy as np
import pytest

from specmini import theory
from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.generate import Round
from specmini.measure import compare, in_turn
from specmini.measure.cell import Cell, pooled
from specmini.measure.latency import PassTimes, fit_roofline, forecast, pass_times
from specmini.measure.results import Setting, Settings, load, store
from specmini.measure.tallies import Acceptance, Tally, acceptance, tally, total
from specmini.sampling import Sampling, greedy, plain
from specmini.theory import hit_rate

PASS, NEXT, DRAFT, CHOICE = 10.0, 1.0, 2.0, 0.5  # seconds on the scripted clock


class Clock:
    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in ("generate", "measure.latency"):
        monkeypatch.setattr(f"specmini.{module}.time", clock)
    return clock


class Timed(TableModel):
    """A table model whose pass takes a first and a further time per token."""

    def __init__(self, table, clock, first, further):
        super().__init__(table)
        self.clock, self.first, self.further = clock, first, further
        self.calls = []

    def forward(self, tokens):
        self.clock.now += self.first + self.further * (len(tokens) - 1)
        self.calls.append(len(tokens))
        return super().forward(tokens)


def timed_sampling(clock, temperature):
    """The target's choice takes a time of its own: that is bookkeeping."""

    class TimedSampling(Sampling):
        def probs(self, logits):
            clock.now += CHOICE
            return super().probs(logits)

    return TimedSampling(temperature)


def cycle(follower):
    """Tables of certain followers: token i is followed by follower[i]."""
    return np.eye(len(follower))[list(follower)]


def scripted(drafted, n_accepted, seconds=(1.0, 10.0, 12.0), tokens=None):
    gained = n_accepted + 1 if tokens is None else tokens
    return Round((7,) * drafted, n_accepted, (7,) * gained, *seconds)


# --- counting


def test_acceptance_counts_what_was_offered():
    rounds = [scripted(3, 0), scripted(3, 2), scripted(3, 3), scripted(1, 1), scripted(0, 0)]
    counted = acceptance(rounds, 3)
    assert counted == Acceptance(offered=(4, 2, 2), accepted=(3, 2, 1))
    assert counted.rate == 6 / 8
    np.testing.assert_allclose(counted.rates, [3 / 4, 1, 1 / 2])
    np.testing.assert_allclose(counted.standard_errors, [np.sqrt(3) / 8, 0, np.sqrt(1 / 8)])
    assert counted.tokens_per_round == pytest.approx(1 + 3 / 4 + 3 / 4 + 3 / 8)


def test_share_and_tokens_count_whole_rounds():
    summed = tally([scripted(3, 0), scripted(3, 2), scripted(1, 1)])
    assert astuple(summed)[:4] == (3, 6, 7, 3)
    assert summed.accepted_share == 3 / 7
    assert summed.tokens_per_round == 2.0
    assert summed.bookkeeping_seconds == pytest.approx(3.0)
    assert summed.seconds_per_token == 6.0


def test_nothing_drafted_has_no_share():
    assert np.isnan(tally([scripted(0, 0)]).accepted_share)


def test_rounds_cut_short_do_not_bias_the_rate():
    """α = 0.7, half of the rounds cut to one draft. Fails by chance once in 15 000 seeds (4 σ)."""
    rng = np.random.default_rng(0)
    lengths = rng.choice([1, 6], size=20_000)
    runs = rng.geometric(0.3, size=len(lengths)) - 1  # accepted in a row, if drafts never ended
    rounds = [scripted(k, min(int(run), k)) for k, run in zip(lengths.tolist(), runs, strict=True)]
    counted = acceptance(rounds, 6)
    error = np.sqrt(0.7 * 0.3 / sum(counted.offered))
    assert abs(counted.rate - 0.7) < 4 * error
    assert abs(tally(rounds).accepted_share - 0.7) > 0.1  # what the obvious ratio would give


def test_by_position_and_mean_agree_where_every_round_is_full():
    rng = np.random.default_rng(1)
    rounds = [scripted(4, int(n)) for n in rng.integers(0, 5, size=100)]
    assert acceptance(rounds, 4).tokens_per_round == pytest.approx(tally(rounds).tokens_per_round)


def test_position_that_no_draft_survives_to_needs_no_count():
    assert Acceptance((5, 0), (0, 0)).tokens_per_round == 1.0
    assert np.isnan(Acceptance((5, 0), (0, 0)).rates[1])


def test_position_that_was_never_drafted_is_not_guessed():
    assert np.isnan(Acceptance((5, 0), (3, 0)).tokens_per_round)


@pytest.mark.parametrize("rounds", [[], [scripted(0, 0)], [scripted(3, 1)]])
def test_rounds_must_fit_the_draft_length(rounds):
    with pytest.raises(ValueError, match="rounds must draft at most draft_length = 2 tokens"):
        acceptance(rounds, 2)


def test_no_tallies_is_an_error():
    with pytest.raises(ValueError, match="tallies must hold at least one"):
        total([])


# --- one cell


@pytest.fixture
def run(clock):
    """Target counts 0 1 2 3 4 0; the draft errs after 2, so rounds accept 2, then 0, then 4."""
    target = Timed(cycle([1, 2, 3, 4, 0]), clock, PASS, NEXT)
    draft = Timed(cycle([1, 2, 0, 4, 0]), clock, DRAFT, 0.0)
    return compare(
        target,
        ModelDrafter(draft, greedy),
        [[0], [3]],
        draft_lengths=[2, 1],
        sampling=timed_sampling(clock, 0.0),
        new_tokens=20,
        rng=np.random.default_rng(0),
        repeats=2,
    )


def test_cost_ratio_and_verify_cost_are_those_of_the_clock(run):
    for cell, length in zip(run.cells, (2, 1), strict=True):
        assert cell.draft_length == length
        assert cell.cost_ratio == pytest.approx(DRAFT / PASS)
        assert cell.verify_cost == pytest.approx((PASS + length * NEXT) / PASS)
        spent = length * DRAFT + PASS + length * NEXT + CHOICE
        assert cell.round_cost == pytest.approx(spent / (PASS + CHOICE))
        assert cell.bookkeeping == pytest.approx(CHOICE / spent)


def test_reading_the_prompt_is_no_part_of_the_cost_ratio(clock):
    """The draft reads it in the first round; the target did before all rounds."""
    target = Timed(cycle([1, 2, 3, 4, 0]), clock, PASS, NEXT)
    draft = Timed(cycle([2, 3, 4, 0, 1]), clock, DRAFT, NEXT)  # always wrong
    run = compare(
        target,
        ModelDrafter(draft, greedy),
        [[0, 1, 2, 3, 4, 0]],
        draft_lengths=[1, 2],
        sampling=greedy,
        new_tokens=20,
        rng=np.random.default_rng(0),
    )
    for cell, k in zip(run.cells, (1, 2), strict=True):
        first, later, *_ = run.speculative[k][0][0].rounds
        # no way profits from the prompt that another one left in the draft's cache, but for the
        # token of the text between
        assert (first.draft_seconds, later.draft_seconds) == (k * DRAFT + 4 * NEXT, k * DRAFT)
        assert cell.cost_ratio == pytest.approx(DRAFT / PASS)
        assert cell.residual.measured == pytest.approx(cell.speedup)


def test_speedup_is_time_of_a_plain_token_over_time_of_a_speculative_one(run):
    cell = run.cell(2)
    rounds = [r for prompt in run.speculative[2] for text in prompt for r in text.rounds]
    seconds = sum(
        len(r.drafted) * DRAFT + PASS + len(r.drafted) * NEXT + CHOICE for r in rounds
    )  # fmt: skip
    assert sum(len(r.tokens) for r in rounds) == 2 * 2 * 20
    assert cell.speedup == pytest.approx((PASS + CHOICE) / (seconds / 80))


def test_predictions_follow_from_alpha_c_and_v(run):
    cell = run.cell(2)
    rate, cost, verify = cell.acceptance.rate, DRAFT / PASS, (PASS + 2 * NEXT) / PASS
    assert cell.predicted.textbook == pytest.approx(theory.speedup(rate, cost, 2))
    assert cell.predicted.with_verify_cost == pytest.approx(theory.speedup(rate, cost, 2, verify))
    first, second = cell.acceptance.rates
    expected = (1 + first + first * second) / (2 * cost + verify)
    assert cell.predicted.by_position == pytest.approx(expected)


def test_residual_names_each_part_and_multiplies_out(run):
    for cell in run.cells:
        residual, k = cell.residual, cell.draft_length
        assert residual.measured == pytest.approx(cell.speedup, rel=1e-12)
        cost, verify = DRAFT / PASS, (PASS + k * NEXT) / PASS
        assert residual.verification == pytest.approx((1 + k * cost) / (verify + k * cost))
        round_seconds = k * DRAFT + PASS + k * NEXT
        overheads = (1 + CHOICE / PASS) / (1 + CHOICE / round_seconds)
        assert residual.bookkeeping == pytest.approx(overheads)
        expected = theory.tokens_per_round(cell.acceptance.rate, k)
        assert residual.acceptance == pytest.approx(cell.full.tokens_per_round / expected)


def test_rounds_that_draft_less_are_told_apart(run):
    cell = run.cell(2)
    texts = [text for prompt in run.speculative[2] for text in prompt]
    rounds = [r for text in texts for r in text.rounds]
    later = [r for text in texts for r in text.rounds[1:]]
    assert cell.full.rounds == sum(len(r.drafted) == 2 for r in later) < len(later)
    assert cell.full.drafted == 2 * cell.full.rounds
    assert sum(cell.gained) == len(rounds)
    assert cell.gained == tuple(sum(len(r.tokens) == n for r in rounds) for n in (1, 2, 3))
    assert cell.residual.first_and_short_rounds != 1


class Hesitant(ModelDrafter):
    """Proposes two tokens where the text's length is even, and nothing otherwise."""

    def propose(self, text, draft_length, rng):
        return super().propose(text, 0 if len(text) % 2 else min(draft_length, 2), rng)


def test_rounds_without_a_draft_are_told_apart(clock):
    """Perfect drafts in every second round: hit rate, length and the speedup that follows."""
    model = Timed(cycle([1, 2, 3, 0]), clock, PASS, NEXT)
    drafter = Hesitant(Timed(cycle([1, 2, 3, 0]), clock, DRAFT, 0.0), greedy)
    cell = compare(
        model, drafter, [[0, 1]], draft_lengths=[2], sampling=timed_sampling(clock, 0.0),
        new_tokens=120, rng=np.random.default_rng(0),
    ).cell(2)  # fmt: skip
    spent = total(cell.speculative)
    # a hit gains three tokens and ends on an odd length, a miss gains one and ends on an even one
    assert cell.hit_rate == 0.5
    assert cell.proposal_length == 2
    assert spent.tokens_per_round == hit_rate.tokens_per_round(0.5, 1.0, 2) == 2
    step = PASS + CHOICE
    predicted = hit_rate.speedup(0.5, 1.0, DRAFT / step, 2, (PASS + 2 * NEXT + CHOICE) / step)
    assert cell.speedup == pytest.approx(predicted)
    # the textbook, with the same numbers, takes every round for a hit
    assert cell.predicted.with_verify_cost > 1.2 * cell.speedup


def test_greedy_texts_agree_and_their_loop_is_reported(run):
    for length in (1, 2):
        for plainly, quickly in zip(run.plain, run.speculative[length], strict=True):
            assert [text.tokens for text in plainly] == [text.tokens for text in quickly]
    # 13 runs of 8 tokens out of 20, five of them different
    assert run.cell(2).repetition == pytest.approx(1 - 5 / 13)


def test_unknown_draft_length_is_named(run):
    with pytest.raises(ValueError, match=r"draft_length must be one of \[2, 1\], got 3"):
        run.cell(3)


def test_pooled_cells_are_sums(run):
    cell = run.cell(2)
    both = pooled([cell, cell])
    assert both.speedup == pytest.approx(cell.speedup)
    assert both.plain[0].tokens == 2 * cell.plain[0].tokens
    assert both.gained == tuple(2 * n for n in cell.gained)
    assert both.acceptance.rate == cell.acceptance.rate
    with pytest.raises(ValueError, match="cells must have one draft length"):
        pooled([cell, run.cell(1)])


def test_too_long_drafts_for_the_text_say_so(clock):
    model = Timed(cycle([1, 0]), clock, PASS, NEXT)
    drafter = ModelDrafter(TableModel(cycle([1, 0])), greedy)
    short = {"sampling": greedy, "new_tokens": 3, "rng": np.random.default_rng(0)}
    with pytest.raises(ValueError, match="some round after a first must draft draft_length = 5"):
        _ = compare(model, drafter, [[0]], draft_lengths=[5], **short).cells


# --- the interval


def side(seconds, tokens):
    return tuple(Tally(1, n, 0, 0, 0.0, s, s) for s, n in zip(seconds, tokens, strict=True))


def cell_of(plain_side, speculative_side):
    full = tally([scripted(1, 1), scripted(1, 0)])
    counted = Acceptance((2,), (1,))
    return Cell(1, plain_side, speculative_side, full, counted, (1, 1), 0.0)


def test_interval_is_a_point_where_prompts_are_alike():
    cell = cell_of(side([2.0] * 5, [4] * 5), side([1.0] * 5, [4] * 5))
    assert cell.interval() == pytest.approx((2, 2))


@pytest.mark.parametrize("prompts", [3, 6, 30])
def test_interval_covers_as_often_as_it_says(prompts):
    """2000 sets of prompts around a true speedup of 2, whose paces differ by a fifth.

    If it covers 95 %, fewer than 93 % or more than 97 % happen once in 20 000 seeds (4.1 σ).
    """
    rng = np.random.default_rng(prompts)
    covered = 0
    for pace in rng.gamma(20, 1 / 20, size=(2000, 2, prompts)):
        cell = cell_of(side(2 * pace[0], [1] * prompts), side(pace[1], [1] * prompts))
        low, high = cell.interval()
        covered += low <= 2 <= high
    assert 0.93 <= covered / 2000 <= 0.97


def test_interval_takes_both_sides_of_a_prompt_together():
    pace = np.linspace(1, 9, 20)  # hard prompts are slow on both sides
    cell = cell_of(side(2 * pace, [1] * 20), side(pace, [1] * 20))
    assert cell.interval() == pytest.approx((2, 2))


@pytest.mark.parametrize(
    ("prompts", "level", "message"),
    [(1, 0.95, "at least 2 prompts, got 1"), (3, 1.0, r"level must be in \(0, 1\), got 1.0")],
)
def test_interval_refuses(prompts, level, message):
    cell = cell_of(side([1.0] * prompts, [1] * prompts), side([1.0] * prompts, [1] * prompts))
    with pytest.raises(ValueError, match=message):
        cell.interval(level)


# --- taking turns


class Recorder(TableModel):
    """Notes which kind of run each prefill belongs to: its first pass tells the draft length."""

    def __init__(self, table):
        super().__init__(table)
        self.runs = []

    def truncate(self, length):
        if length == 0 and self.length:
            self.runs.append(None)
        super().truncate(length)

    def forward(self, tokens):
        if self.runs and self.runs[-1] is None:
            self.runs[-1] = len(tokens) - 1
        return super().forward(tokens)


def test_ways_take_turns_in_changing_order():
    target = Recorder(cycle([1, 0]))
    target.forward([0])
    drafter = ModelDrafter(TableModel(cycle([1, 0])), greedy)
    rng = np.random.default_rng(0)
    settings = {"draft_lengths": [1, 3], "sampling": greedy, "new_tokens": 8, "rng": rng}
    compare(target, drafter, [[0], [1]], repeats=3, **settings)
    warm_up, measured = target.runs[:3], target.runs[4::2]  # each after a text of two tokens
    assert warm_up == [0, 1, 3]
    turns = [measured[i : i + 3] for i in range(0, len(measured), 3)]
    assert len(turns) == 6
    assert all(sorted(turn) == [0, 1, 3] for turn in turns)
    assert len({tuple(turn) for turn in turns}) == 6
    firsts = [turn[0] for turn in turns]
    assert [firsts.count(way) for way in (0, 1, 3)] == [2, 2, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_every_way_is_at_every_place_as_often(count):
    ways = "abcdefgh"[:count]
    turns = [in_turn(ways, turn) for turn in range(2 * count)]
    for place in zip(*turns, strict=True):
        assert [place.count(way) for way in ways] == [2] * count
    if count > 2:  # forwards and backwards differ
        assert len({tuple(turn) for turn in turns}) == 2 * count


def test_same_seed_same_texts():
    rng = np.random.default_rng(5)
    target, draft = random_table(4, 1, rng), random_table(4, 1, rng)

    def texts():
        run = compare(
            TableModel(target),
            ModelDrafter(TableModel(draft), plain),
            [[0], [1]],
            draft_lengths=[2],
            sampling=plain,
            new_tokens=10,
            rng=np.random.default_rng(9),
        )
        return [text.tokens for way in (run.plain, run.speculative[2]) for p in way for text in p]

    assert texts() == texts()
    assert len(set(texts())) > 1


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"prompts": []}, "prompts must hold at least one"),
        ({"repeats": 0}, "repeats must be at least 1, got 0"),
        ({"draft_lengths": []}, "draft_lengths must be different numbers of at least 1"),
        ({"draft_lengths": [0, 2]}, "draft_lengths must be different numbers of at least 1"),
        ({"draft_lengths": [2, 2]}, "draft_lengths must be different numbers of at least 1"),
    ],
)
def test_compare_refuses(wrong, message):
    model = TableModel(cycle([1, 0]))
    given = {"prompts": [[0]], "draft_lengths": [1], "repeats": 1} | wrong
    with pytest.raises(ValueError, match=message):
        compare(
            model,
            ModelDrafter(TableModel(cycle([1, 0])), greedy),
            given.pop("prompts"),
            sampling=greedy,
            new_tokens=4,
            rng=np.random.default_rng(0),
            **given,
        )


# --- passes by themselves


def test_pass_times_are_those_of_the_clock(clock):
    model = Timed(cycle([1, 2, 0]), clock, PASS, NEXT)
    rng = np.random.default_rng(0)
    times = pass_times(model, [4, 1, 2], past=5, repeats=3, rng=rng)
    assert times.tokens == (1, 2, 4)
    np.testing.assert_allclose(times.seconds, [10, 11, 13])
    assert times.low == times.high == times.seconds
    assert sorted(model.calls) == sorted([5] + [1, 2, 4] * 4)  # a prefill, a warm-up, 3 repeats
    assert model.length == 5


def test_pass_times_can_include_the_choice(clock):
    model = Timed(cycle([1, 2, 0]), clock, PASS, NEXT)
    sampling = timed_sampling(clock, 1.0)
    rng = np.random.default_rng(0)
    times = pass_times(model, [1], past=5, repeats=2, rng=rng, sampling=sampling)
    assert times.over(1) == pytest.approx(PASS + CHOICE)


def test_pass_times_are_medians_between_quartiles(monkeypatch):
    ticks = iter(np.cumsum([0, 1] + [0, 5] + [0, 1] * 2 + [0, 2] + [0, 9]).tolist())
    clock = types.SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr("specmini.measure.latency.time", clock)
    rng = np.random.default_rng(0)
    times = pass_times(TableModel(cycle([1, 0])), [1], past=1, repeats=5, rng=rng)
    assert (times.low, times.seconds, times.high) == ((1,), (2,), (5,))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tokens": [0, 1]}, "tokens must be numbers of at least 1"),
        ({"past": 0}, "past must be at least 1, got 0"),
        ({"repeats": 0}, "repeats"),
    ],
)
def test_pass_times_refuses(wrong, message):
    given = {"tokens": [1], "past": 2, "repeats": 1} | wrong
    model, rng = TableModel(cycle([1, 0])), np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        pass_times(model, given.pop("tokens"), rng=rng, **given)


def roof(tokens, floor=2.0, per_token=0.25, knee=6.0):
    seconds = tuple(floor + per_token * max(n - knee, 0) for n in tokens)
    return PassTimes(tuple(tokens), seconds, seconds, seconds)


def test_roofline_is_found_again():
    times = roof([1, 2, 3, 4, 5, 8, 12, 16, 32])
    fitted = fit_roofline(times)
    assert fitted.floor == pytest.approx(2.0, rel=1e-3)
    assert fitted.per_token == pytest.approx(0.25, rel=1e-2)
    assert fitted.knee == pytest.approx(6.0, rel=2e-2)
    assert fitted.error(times) < 1e-3
    np.testing.assert_allclose(fitted.seconds([1, 6, 10]), [2, 2, 3], rtol=1e-2)


def test_roofline_of_free_tokens_is_flat():
    fitted = fit_roofline(roof([1, 2, 4, 8], per_token=0.0))
    assert fitted.per_token == pytest.approx(0, abs=1e-9)
    assert fitted.floor == pytest.approx(2)


def test_roofline_of_falling_times_is_their_mean():
    falling = (4.0, 3.0, 2.0)
    fitted = fit_roofline(PassTimes((1, 2, 4), falling, falling, falling))
    assert (fitted.floor, fitted.per_token) == (3.0, 0.0)


def test_roofline_needs_three_sizes():
    with pytest.raises(ValueError, match=r"at least 3 sizes, got \[1, 2\]"):
        fit_roofline(roof([1, 2]))


def test_forecast_is_the_formula_with_times_measured_alone():
    target, draft = roof([1, 5], per_token=0.3, knee=1.0), roof([1], floor=0.1)
    expected = theory.speedup(0.7, 0.05, 4, 3.2 / 2)
    assert forecast(0.7, 4, target, draft) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"tokens must be one of \[1, 5\], got 4"):
        forecast(0.7, 3, target, draft)


# --- on disk


def test_settings_come_back_as_they_were(run, tmp_path):
    settings = tuple(
        Setting("small", "code", 0.0, cell, (1.25, 1.5), 1.75) for cell in run.cells
    )  # fmt: skip
    path = tmp_path / "settings.json"
    store(path, Settings({"machine": "a clock"}, settings))
    read = load(path)
    assert read.about == {"machine": "a clock"}
    for before, after in zip(settings, read.settings, strict=True):
        same = replace(after.cell, repetition=before.cell.repetition)
        assert replace(after, cell=same) == before
        assert after.cell.repetition == pytest.approx(before.cell.repetition, abs=1e-4)
        assert after.cell.residual == before.cell.residual
    assert read.select("small") == read.settings
    with pytest.raises(ValueError, match=r"draft must be one of \['small'\], got 'large'"):
        read.select("large")


def test_another_file_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match="must hold an object with about and settings"):
        load(path)
