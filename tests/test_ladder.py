"""The drafters that need no training: nothing is lost with any of them, and a broken one shows.

Every branch of the real loop is walked, as in ``test_lossless``. Then each drafter is broken on
purpose, one line at a time, and a check must notice.
"""

from collections import Counter

import numpy as np
import pytest
from lossless import (
    Breakage,
    Engine,
    FunctionDrafter,
    copied,
    exact_text,
    largest_error,
    outcomes,
)

from specmini import generate as loop
from specmini import theory
from specmini.drafters import confidence, gate, lookup, ngram, suffix
from specmini.drafters import model as model_drafter
from specmini.drafters.base import agreement
from specmini.engine.table_model import TableModel, random_table
from specmini.sampling import Sampling, greedy, plain
from specmini.verify import Verdict

samplings = {
    "greedy": greedy,
    "T = 1": plain,
    "T = 1.7, top-p 0.8": Sampling(1.7, top_p=0.8),
}
target = random_table(3, 1, np.random.default_rng(1))
draft = random_table(3, 1, np.random.default_rng(2))
corpus = np.random.default_rng(3).integers(0, 3, 60)


def rng():
    return np.random.default_rng(0)


def broken(module, *breakages):
    """A copy of a drafter's module in which ``draw`` can be walked."""
    copy = copied(module, breakages)
    copy.draw = lambda weights, rng: rng.choose(weights)
    return copy


walked = {one: broken(one) for one in (lookup, ngram, suffix, gate, model_drafter)}


def build(kind, sampling, modules=walked):
    """A drafter by name; what could change a proposal within a few tokens does."""
    if kind == "lookup":
        return modules[lookup].LookupDrafter(2, 1)
    if kind == "n-gram":
        return modules[ngram].NgramDrafter(ngram.NgramTables(corpus, 3, 3), sampling)
    if kind == "suffix":
        return modules[suffix].SuffixDrafter([[0, 1, 2, 0, 1, 1, 0]], factor=2.0)
    drafting = modules[model_drafter].ModelDrafter
    if kind == "stops when unsure":
        return drafting(TableModel(draft), sampling, keep_going=confidence.confident(0.5))
    eager = gate.RunningAcceptance(0.9, weight=0.5, memory=0.5)
    if kind == "gate":
        return modules[gate].Gate(drafting(TableModel(draft), sampling), 0.2, 1.0, eager)
    assert kind == "gate on lookup"
    return modules[gate].Gate(modules[lookup].LookupDrafter(2, 1), 0.2, lambda k: 1 + k / 8, eager)


kinds = ["lookup", "n-gram", "suffix", "stops when unsure", "gate", "gate on lookup"]


def written(kind, sampling, new_tokens, draft_length, modules=walked, **options):
    """The chance of every text, and all proposals ever made."""
    engine = Engine.load().walked()
    proposals = Counter()

    def run(walker):
        found = engine.generate.generate(
            TableModel(target), (0, 1), new_tokens, walker, sampling=sampling,
            drafter=build(kind, sampling, modules), draft_length=draft_length, **options,
        )  # fmt: skip
        proposals.update(len(round.drafted) for round in found.rounds)
        return found.tokens

    return outcomes(run), proposals


# --- nothing is lost --------------------------------------------------------------------------


@pytest.mark.parametrize("sampling", samplings)
@pytest.mark.parametrize("kind", kinds)
def test_four_tokens_jointly(kind, sampling):
    sampling = samplings[sampling]
    found, proposals = written(kind, sampling, 4, 2)
    assert largest_error(found, exact_text(target, sampling, (0, 1), 4)) < 1e-12
    assert proposals[1] + proposals[2] > 0  # something was drafted


@pytest.mark.parametrize("kind", kinds)
def test_a_text_that_may_stop_early(kind):
    found, _ = written(kind, plain, 4, 3, stop_tokens=(2,))
    right = exact_text(target, plain, (0, 1), 4, stop_tokens=(2,))
    assert {len(text) for text in right} == {1, 2, 3, 4}
    assert largest_error(found, right) < 1e-12


@pytest.mark.parametrize("kind", kinds)
def test_greedy_decoding_gives_the_same_tokens_from_a_drafter_used_again(kind):
    """36 prompts over K = 1 to 12, without a walker: no state may leak from text to text."""
    modules = {one: one for one in walked}
    source, drafter = rng(), build(kind, greedy, modules)
    model = TableModel(random_table(3, 2, rng(), concentration=0.5))
    drafted = 0
    for draft_length in range(1, 13):
        for _ in range(3):
            prompt = source.integers(0, 3, size=source.integers(1, 9)).tolist()
            plainly = loop.generate(model, prompt, 40, source, sampling=greedy)
            speculative = loop.generate(
                model, prompt, 40, source,
                sampling=greedy, drafter=drafter, draft_length=draft_length,
            )  # fmt: skip
            assert speculative.tokens == plainly.tokens
            drafted += sum(len(round.drafted) for round in speculative.rounds)
    assert drafted > 100


# a gate remembers verdicts, so it is not the same after a text
@pytest.mark.parametrize("kind", [kind for kind in kinds if not kind.startswith("gate")])
def test_texts_of_any_kind_in_any_order_leave_no_trace(kind):
    """Grown, cut, changed, and other ones: as a drafter that sees the text for the first time."""
    modules = {one: one for one in walked}
    old = build(kind, greedy, modules)
    for text in (
        *([0], [0, 1], [0, 1, 0, 1, 1], [0, 1, 0]),
        *([2], [2, 2, 2, 0, 2, 2], [2, 2, 2, 1], [0]),
    ):
        for given in (text, tuple(text), np.array(text)):
            proposed = old.propose(given, 3, rng())
            fresh = build(kind, greedy, modules).propose(given, 3, rng())
            assert proposed.tokens.tolist() == fresh.tokens.tolist()
            assert proposed.tokens.dtype == np.int64
            assert list(given) == text
            old.observe(Verdict(0, 0))


@pytest.mark.parametrize("kind", kinds)
def test_a_draft_of_nothing(kind):
    drafted = build(kind, plain, {one: one for one in walked}).propose([0, 1, 0], 0, rng())
    assert (len(drafted), drafted.probs) == (0, None)


# --- a broken drafter shows -------------------------------------------------------------------


def stays_exact(kind, modules):
    found, _ = written(kind, plain, 4, 2, modules)
    assert largest_error(found, exact_text(target, plain, (0, 1), 4)) < 1e-12


def exact_with_ngrams(modules):
    stays_exact("n-gram", modules)


def exact_when_it_stops(modules):
    stays_exact("stops when unsure", modules)


def copies_the_last_occurrence(modules):
    drafter = modules[lookup].LookupDrafter(3, 2)
    assert drafter.propose([1, 2, 5, 1, 2, 6, 7, 1, 2], 3, rng()).tokens.tolist() == [6, 7, 1]


def copies_after_the_longest_match(modules):
    drafter = modules[lookup].LookupDrafter(3, 1)
    assert drafter.propose([4, 1, 2, 5, 9, 2, 6, 4, 1, 2], 1, rng()).tokens.tolist() == [5]


def follows_another_text(modules):
    drafter = modules[lookup].LookupDrafter(2, 1)
    drafter.propose([1, 2, 1], 3, rng())
    assert len(drafter.propose([3, 1], 3, rng())) == 0


def sums_to_one(modules):
    tables = modules[ngram].NgramTables(corpus, 3, 3)
    assert tables.probs([0, 1]).sum() == pytest.approx(1, abs=1e-12)


def takes_what_came_most_often(modules):
    drafter = modules[suffix].SuffixDrafter(factor=3.0, depth=8)
    text = [1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2]
    assert drafter.propose(text, 2, rng()).tokens.tolist() == [3, 1]


def is_as_long_as_the_match_allows(modules):
    drafter = modules[suffix].SuffixDrafter(factor=1.0)
    assert drafter.propose([1, 2, 3, 4, 5, 6, 9, 1, 2], 4, rng()).tokens.tolist() == [3, 4]


def knows_earlier_texts(modules):
    drafter = modules[suffix].SuffixDrafter([[5, 6, 7, 8]])
    drafter.propose([1], 4, rng())
    assert drafter.propose([1, 5, 6], 4, rng()).tokens.tolist() == [7, 8]


def asks_for_what_pays(modules):
    """Everything was accepted, then nothing was: K grows to the limit, and falls to none."""
    guessing = FunctionDrafter(lambda text, length: [1] * length)
    acceptance = modules[gate].RunningAcceptance(0.7, 2.0, 0.9)
    opened = modules[gate].Gate(guessing, 0.2, 1.3, acceptance)
    lengths = []
    for round in range(120):
        lengths.append(len(opened.propose([0], 8, rng())))
        opened.observe(Verdict(lengths[-1] if round < 40 else 0, 0))
    assert lengths[0] == 3 == theory.best_draft_length(0.7, 0.2, 1.3)
    assert lengths[39] == 8
    # a try now and then, when the evidence has faded
    assert 0 < sum(length > 0 for length in lengths[60:]) < 15


breakages = {
    "the first occurrence instead of the last": (
        lookup,
        "self._followed[tuple(self._seen[place - size :])] = place",
        "self._followed.setdefault(tuple(self._seen[place - size :]), place)",
        copies_the_last_occurrence,
    ),
    "copied from the match itself": (
        lookup,
        "text[start : start + draft_length]",
        "text[start - 1 : start - 1 + draft_length]",
        copies_the_last_occurrence,
    ),
    "index of the old text kept": (
        lookup,
        "self._seen, self._followed = [], {}\n        for",
        "self._seen = []\n        for",
        follows_another_text,
    ),
    "q not tempered as the draw was": (
        ngram,
        "rows.append(q)",
        "rows.append(self.tables.probs(recent[:-1]) ** 2 / "
        "(self.tables.probs(recent[:-1]) ** 2).sum())",
        exact_with_ngrams,
    ),
    "the token belongs to the context of its own q": (
        ngram,
        "recent.append(token)\n            rows.append(q)",
        "recent.append(token)\n            rows.append(self._row(tuple(recent[-reach:])))",
        exact_with_ngrams,
    ),
    "nothing taken from the shorter context": (
        ngram, "row *= order.left[place]", "row *= 1.0", sums_to_one
    ),
    "likeliest and rarest swapped": (
        suffix, "max(reversed", "min(reversed", takes_what_came_most_often,
    ),
    "the match's length ignored": (
        suffix,
        "min(draft_length, int(self.factor * matched))",
        "draft_length",
        is_as_long_as_the_match_allows,
    ),
    "earlier texts not followed": (
        suffix,
        "self._earlier_path = self._earlier.follow(self._earlier_path, token)",
        "pass",
        knows_earlier_texts,
    ),
    "the unsure token held back after it was drawn": (
        model_drafter,
        "if not self.keep_going(thoughts):\n                    break",
        "if unseen == [0]:\n"
        "                    tokens.pop()\n"
        "                    rows.pop()\n"
        "                    break",
        exact_when_it_stops,
    ),
    "rejections not counted": (
        gate,
        "self._offered[position] += 1.0",
        "self._offered[position] += position < n_accepted",
        asks_for_what_pays,
    ),
    "plain rounds do not age the evidence": (
        gate,
        "self.acceptance.observe(self._drafted, verdict.n_accepted)",
        "self._asked and self.acceptance.observe(self._drafted, verdict.n_accepted)",
        asks_for_what_pays,
    ),
    "the cost of drafting forgotten": (
        gate,
        "tokens / (length * cost_ratio + verify_cost(length))",
        "tokens / verify_cost(length)",
        asks_for_what_pays,
    ),
}  # fmt: skip
all_checks = list(dict.fromkeys(check for *_, check in breakages.values()))


@pytest.mark.parametrize("check", all_checks)
def test_the_drafters_pass(check):
    check(walked)


@pytest.mark.parametrize("breakage", breakages)
def test_a_broken_drafter_is_caught(breakage):
    module, right, wrong, check = breakages[breakage]
    with pytest.raises(AssertionError):
        check({**walked, module: broken(module, Breakage(module, right, wrong))})


# --- what they share --------------------------------------------------------------------------


def test_agreement_counts_the_tokens_in_common():
    for seen, text, common in [
        ([], [], 0),
        ([], [1], 0),
        ([1, 2], [1, 2, 3], 2),
        ([1, 2, 3], [1, 2], 2),
        ([1, 2, 3], [1, 5, 3], 1),
        ([4], [5], 0),
    ]:
        for kind in (list, tuple, np.array):
            assert agreement(seen, kind(text)) == agreement(kind(seen), text) == common
