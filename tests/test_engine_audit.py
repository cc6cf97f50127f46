"""The comparison of texts: sound engines pass, broken ones are caught, the stated rates hold.

Every statistical test here has a fixed seed, and says how often it would fail by chance for a new
one.
"""

import math

import mpmath
import numpy as np
import pytest
from lossless import Engine as Source
from test_mutations import breakages, pair

from specmini.drafters.model import ModelDrafter
from specmini.drafters.tree import ConfidentTreeDrafter, StaticTreeDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.engine.uncached_model import UncachedModel
from specmini.generate import generate
from specmini.generate_tree import generate_tree
from specmini.lossless.comparison import compare
from specmini.lossless.counts import coded, holm, places
from specmini.lossless.engine import Loop, chain_engines
from specmini.lossless.faulty import WrongTemperature
from specmini.lossless.power import chi_square_tail, least_distance, samples_needed
from specmini.sampling import Sampling, plain

ALARM = 1e-3  # of every comparison of sound engines below


# --- the statistics ---------------------------------------------------------------------------


@pytest.mark.parametrize("freedom", [1, 2, 5, 30])
@pytest.mark.parametrize("statistic", [0.0, 0.5, 8.0, 90.0])
def test_tail_of_chi_square(statistic, freedom):
    exact = mpmath.gammainc(freedom / 2, statistic / 2, regularized=True)
    assert chi_square_tail(statistic, freedom) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize(("freedom", "noncentrality"), [(1, 3.0), (4, 20.0), (29, 300.0)])
def test_tail_of_noncentral_chi_square(freedom, noncentrality):
    """A false alarm has chance 1e-6: 4.9 standard deviations of 200 000 draws."""
    statistic = freedom + noncentrality
    draws = np.random.default_rng(1).noncentral_chisquare(freedom, noncentrality, 200_000)
    chance = chi_square_tail(statistic, freedom, noncentrality)
    assert (draws > statistic).mean() == pytest.approx(chance, abs=4.9 * 0.5 / 200_000**0.5)


def test_power_and_size_are_inverse():
    d = least_distance(2000, 20, 0.001)
    assert samples_needed(d, 20, 0.001) == pytest.approx(2000, abs=1)
    assert least_distance(8000, 20, 0.001) == pytest.approx(d / 2)
    assert least_distance(2000, 100, 0.001) > d
    assert least_distance(2, 20, 0.001) == 1


def test_holm_by_hand():
    # 4 × .01, 3 × .02, 2 × .03, and never below the one before
    assert holm([0.03, 0.01, 0.9, 0.02]) == pytest.approx([0.06, 0.04, 0.9, 0.06])


def test_texts_end_as_a_token_of_its_own():
    first, second = coded([("a", "b"), ("a",)], [("b", "a", "c")], 2)
    assert first.tolist() == [[1, 2], [1, 0]]
    assert second.tolist() == [[2, 1]]


def walks(table, count, length, rng):
    """Many texts from a table of order 1, (N, J), all at once."""
    cumulated = table.cumsum(1)
    last, found = np.zeros(count, dtype=np.int64), []
    for _ in range(length):
        last = (rng.random(count)[:, None] > cumulated[last]).sum(1)
        found.append(last)
    return np.array(found).T


def test_false_alarms_are_as_rare_as_stated():
    """200 sound engines at 10 %: 45 alarms or more have chance 1e-6. Uncorrected, 82 are expected.

    With tokens that are rare, so that cells are shared.
    """
    rng = np.random.default_rng(2)
    table = random_table(40, 1, rng, 0.3)
    alarms = 0
    for _ in range(200):
        samples = walks(table, 100, 3, rng), walks(table, 100, 3, rng)
        found = places([samples], 0.1, rng)
        alarms += min(place.adjusted for place in found) <= 0.1
    assert 5 <= alarms < 45


def test_power_is_as_stated_for_the_faults_hardest_to_see():
    """400 engines at the least distance: 0.9 of them are caught, to five standard deviations.

    Half of the tokens come more often by the same factor, the others less often.
    """
    rng = np.random.default_rng(3)
    cells, count, level = 20, 1000, 0.01
    distance = least_distance(count, cells, level)
    shifted = 1 + distance * np.where(np.arange(cells) % 2, 1, -1)
    caught = 0
    for _ in range(400):
        samples = [
            rng.choice(cells, (count, 1), p=weights / cells) for weights in (shifted, 2 - shifted)
        ]
        (place,) = places([tuple(samples)], level, rng)
        caught += place.adjusted <= level
        assert place.least_distance == pytest.approx(distance)
    assert caught / 400 == pytest.approx(0.9, abs=5 * (0.9 * 0.1 / 400) ** 0.5)


# --- sound engines ----------------------------------------------------------------------------

samplings = {
    "T = 1": plain,
    "T = 0.6, top-p 0.8": Sampling(0.6, top_p=0.8),
    "T = 1.5, top-k 3": Sampling(1.5, top_k=3),
}


def tables(vocabulary=6):
    rng = np.random.default_rng(4)
    target = random_table(vocabulary, 1, rng, 0.5)
    return target, 0.6 * target + 0.4 / vocabulary


@pytest.mark.parametrize("sampling", samplings)
def test_our_chains_pass(sampling):
    rng, chosen, (target, draft) = np.random.default_rng(5), samplings[sampling], tables()
    drafter = ModelDrafter(TableModel(draft), chosen)
    found = compare(
        *chain_engines(TableModel(target), drafter, 3, chosen, rng), [[0], [1, 2]], rng,
        new_tokens=4, samples=500, level=ALARM, catch=0.3,
    )  # fmt: skip
    assert found.finding == "no difference found"
    assert {place.prompt for place in found.places} == {0, 1}


@pytest.mark.parametrize("grow", ["static", "confident"])
def test_our_trees_pass(grow):
    rng, (target, draft) = np.random.default_rng(6), tables()
    model = UncachedModel(TableModel(draft))
    drafter = (
        StaticTreeDrafter(model, plain, [-1, -1, 0, 0, 1])
        if grow == "static"
        else ConfidentTreeDrafter(model, plain, width=2, levels=2)
    )

    def tree(prompt, new_tokens):
        return generate_tree(
            UncachedModel(TableModel(target)), prompt, new_tokens, rng,
            sampling=plain, drafter=drafter, nodes=5,
        ).tokens  # fmt: skip

    sound, _ = chain_engines(
        TableModel(target), ModelDrafter(TableModel(draft), plain), 1, plain, rng
    )
    found = compare(
        sound, Loop(tree), [[0]], rng, new_tokens=4, samples=500, level=ALARM, catch=0.3
    )
    assert found.finding == "no difference found"


def test_greedy_engines_need_no_statistics():
    rng, greedy, (target, draft) = np.random.default_rng(7), Sampling(0), tables()
    drafter = ModelDrafter(TableModel(draft), greedy)
    found = compare(
        *chain_engines(TableModel(target), drafter, 3, greedy, rng),
        [[0]],
        rng,
        samples=500,
        catch=0.2,
    )
    assert found.finding == "no difference found"
    assert {place.cells for place in found.places} == {1}


# --- broken engines ---------------------------------------------------------------------------


def test_a_wrong_temperature_is_caught_where_it_acts():
    """The fault of a real engine: right at the first draft and at the bonus, wrong in between."""
    rng, (target, draft) = np.random.default_rng(8), tables(20)
    drafter = ModelDrafter(TableModel(draft), plain)
    wrong = WrongTemperature(TableModel(target))
    engines = chain_engines(TableModel(target), drafter, 4, plain, rng, wrong)
    found = compare(*engines, [[0]], rng, samples=600)
    assert found.finding == "differs"
    differing = [place.position for place in found.alarms if place.width == 1]
    assert 2 in differing
    assert 1 not in differing


@pytest.fixture(scope="module")
def target_texts():
    """What the target of the mutated engines writes alone, four tokens at temperature 0.6."""
    rng, (target, _) = np.random.default_rng(9), pair(1)
    model = TableModel(target)
    return [generate(model, (0,), 4, rng, sampling=Sampling(0.6)).tokens for _ in range(MUTATED)]


MUTATED = 1000
changes_the_text = [
    "recovered token from p, the residual forgotten",
    "one uniform number for all positions",
    "u against p, not divided by q",
    "p and q swapped in the test",
    "p and q swapped in the residual",
    "residual not clipped at 0 but mirrored",
    "bonus from the row before",
    "q of the position before",
    "draft drawn without temperature, reported with",
    "target without temperature",
]


class Recorded:
    """An engine that has written already."""

    def __init__(self, texts):
        self.texts = iter(texts)

    def write(self, prompt, new_tokens, count):
        return [next(self.texts) for _ in range(count)]


def mutated(changes, rng):
    engine, (target, draft), sampling = Source.load(*changes), pair(1), Sampling(0.6)
    drafter = engine.model_drafter.ModelDrafter(TableModel(draft), sampling)
    model = TableModel(target)

    def run(prompt, new_tokens):
        return engine.generate.generate(
            model, prompt, new_tokens, rng, sampling=sampling, drafter=drafter, draft_length=2
        ).tokens

    return Loop(run)


@pytest.mark.parametrize("name", ["unbroken", *changes_the_text])
def test_a_mutated_engine_is_caught(name, target_texts):
    changes = breakages[name][0] if name in breakages else []
    rng = np.random.default_rng(10)
    found = compare(
        Recorded(target_texts), mutated(changes, rng), [(0,)], rng,
        new_tokens=4, samples=MUTATED, level=ALARM, catch=0.2,
    )  # fmt: skip
    assert found.finding == ("no difference found" if name == "unbroken" else "differs")


# --- budget, reports, and what is refused -----------------------------------------------------


def test_too_few_samples_are_called_so():
    rng, (target, draft) = np.random.default_rng(11), tables()
    drafter = ModelDrafter(TableModel(draft), plain)
    engines = chain_engines(TableModel(target), drafter, 3, plain, rng)
    asked = {"new_tokens": 3, "level": ALARM, "catch": 0.25}
    few = compare(*engines, [[0]], rng, samples=100, **asked)
    assert few.finding == "too few samples to tell"
    assert few.least_distance > few.catch
    assert few.samples_needed > 100
    enough = compare(
        *engines,
        [[0]],
        rng,
        new_tokens=3,
        samples=few.samples_needed + 100,
        level=ALARM,
        catch=0.25,
    )
    assert enough.finding == "no difference found"


def test_the_budget_ends_sampling_and_turns_are_reported():
    rng, (target, draft) = np.random.default_rng(12), tables()
    drafter = ModelDrafter(TableModel(draft), plain)
    engines, turns = chain_engines(TableModel(target), drafter, 3, plain, rng), []
    found = compare(
        *engines, [[0]], rng, seconds=0, turn=5, report=lambda *said: turns.append(said)
    )
    assert found.samples == 5
    assert [(done, of) for done, of, _ in turns] == [(5, 2000)]
    compare(*engines, [[0]], rng, samples=12, turn=5, report=lambda *said: turns.append(said))
    assert [(done, of) for done, of, _ in turns[1:]] == [(5, 12), (10, 12), (12, 12)]


class Silent:
    def write(self, prompt, new_tokens, count):
        return []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"new_tokens": 0}, "new_tokens must be"),
        ({"samples": 1}, "samples must be"),
        ({"turn": 1}, "turn must be"),
        ({"seconds": -1}, "seconds must be"),
        ({"level": 0.6}, r"level must be in \[1e-6, 0.5\], got 0.6"),
        ({"catch": 0}, "catch must be"),
        ({"prompts": []}, "prompts must be a list"),
        ({"prompts": "text"}, "prompts must be a list"),
        ({}, "an engine must write 16 texts, got 0"),
    ],
)
def test_what_is_refused(change, message):
    options = {"prompts": [[0]], **change}
    with pytest.raises(ValueError, match=message):
        compare(Silent(), Silent(), rng=np.random.default_rng(0), **options)


def test_a_loop_wants_token_ids():
    with pytest.raises(ValueError, match="prompt must be token ids, got the text 'x'"):
        Loop(lambda prompt, new_tokens: prompt).write("x", 1, 1)


@pytest.mark.parametrize("divisor", [0, math.inf, math.nan])
def test_a_wrong_temperature_is_a_number(divisor):
    with pytest.raises(ValueError, match="divisor must be"):
        WrongTemperature(TableModel(tables()[0]), divisor)
