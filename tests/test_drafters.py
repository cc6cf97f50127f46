"""The model drafter: what it draws from, what it reports, what its model is shown."""

import numpy as np
import pytest
from lossless import Engine, SpyModel, largest_error, outcomes

from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.sampling import Sampling, greedy, plain
from specmini.verify import Draft, Verdict

table = random_table(4, 2, np.random.default_rng(1))
cycle = np.roll(np.eye(8), 1, axis=1)


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("sampling", [plain, Sampling(0.5), Sampling(2.0, top_k=3, top_p=0.8)])
@pytest.mark.parametrize("rule", ["textbook", "exact match"])
def test_tokens_are_drawn_from_exactly_the_q_that_is_reported(sampling, rule):
    """Every branch: the chance of a draft is the product of the rows that come with it."""
    engine = Engine.load().walked()
    reported = {}

    def run(walker):
        draft = engine.model_drafter.ModelDrafter(TableModel(table), sampling, rule).propose(
            [2, 1], 2, walker
        )
        tokens = tuple(draft.tokens.tolist())
        if rule == "textbook":
            reported[tokens] = draft.probs[0, tokens[0]] * draft.probs[1, tokens[1]]
        return tokens

    found = outcomes(run)
    model = TableModel(table)
    right = {}
    for a in range(4):
        for b in range(4):
            model.truncate(0)
            rows = sampling.probs(model.forward([2, 1, a])[1:])
            right[a, b] = rows[0, a] * rows[1, b]
    assert largest_error(found, right) < 1e-15
    if rule == "textbook":
        assert largest_error(found, reported) < 1e-15


def test_only_the_textbook_rule_reports_q():
    drafts = {
        rule: ModelDrafter(TableModel(table), plain, rule).propose([1], 3, rng())
        for rule in ("textbook", "greedy draft", "exact match")
    }
    assert drafts["textbook"].probs.shape == (3, 4)
    assert drafts["greedy draft"].probs is None
    assert drafts["exact match"].probs is None
    np.testing.assert_array_equal(drafts["textbook"].tokens, drafts["exact match"].tokens)


def test_a_greedy_draft_is_the_likeliest_text_step_by_step():
    draft = ModelDrafter(TableModel(table), plain, "greedy draft").propose([3, 0], 3, rng())
    text = [3, 0]
    for token in draft.tokens:
        assert token == table[tuple(text[-2:])].argmax()
        text.append(int(token))
    same = ModelDrafter(TableModel(table), greedy).propose([3, 0], 3, rng())
    np.testing.assert_array_equal(same.tokens, draft.tokens)


def test_only_what_is_new_is_shown_to_the_model():
    model = SpyModel(cycle)
    drafter = ModelDrafter(model, greedy)
    drafter.propose([0, 1, 2], 3, rng())
    assert model.passes == [(0, (0, 1, 2)), (3, (3,)), (4, (4,))]
    model.passes.clear()
    drafter.propose([0, 1, 2, 3, 4, 5, 6], 2, rng())  # all accepted, and the bonus
    assert model.passes == [(5, (5, 6)), (7, (7,))]
    model.passes.clear()
    drafter.propose([0, 1, 2, 3, 4, 5, 6, 1], 1, rng())  # the first guess was rejected
    assert model.passes == [(7, (1,))]
    model.passes.clear()
    drafter.propose([5, 1], 1, rng())  # another text
    assert model.passes == [(0, (5, 1))]
    model.passes.clear()
    drafter.propose([5, 1], 1, rng())  # the same again: the last token must be run to know more
    assert model.passes == [(1, (1,))]


@pytest.mark.parametrize("length", [1, 5, 9, 10, 11, 12, 30])
def test_it_proposes_as_far_as_its_context_reaches(length):
    """After the last token its model can see it still has one guess."""
    model = SpyModel(cycle, context=10)
    draft = ModelDrafter(model, plain).propose([i % 8 for i in range(length)], 4, rng())
    assert len(draft) == max(0, min(4, 10 - length + 1))
    assert draft.tokens.tolist() == [(length + i) % 8 for i in range(len(draft))]


def test_it_works_again_after_a_text_that_was_too_long():
    drafter = ModelDrafter(TableModel(cycle, context=4), plain)
    for text in ([0, 1], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3], [7]):
        draft = drafter.propose(text, 2, rng())
        assert draft.tokens.tolist()[:1] == ([(text[-1] + 1) % 8] if len(text) <= 4 else [])


def test_it_leaves_the_text_alone_and_takes_any_sequence():
    drafter = ModelDrafter(TableModel(cycle), plain)
    for text in ([1, 2], (1, 2), np.array([1, 2])):
        assert drafter.propose(text, 2, rng()).tokens.tolist() == [3, 4]
        assert list(text) == [1, 2]


def test_it_recovers_when_its_model_refused_a_text():
    drafter = ModelDrafter(TableModel(cycle), plain)
    drafter.propose([0, 1], 2, rng())
    with pytest.raises(ValueError, match="tokens must be in"):
        drafter.propose([0, 1, 9], 2, rng())
    assert drafter.propose([0, 1, 2], 2, rng()).tokens.tolist() == [3, 4]


def test_two_drafters_on_one_model_are_refused():
    """Each would take the other's text for its own, and report a q of it."""
    model = TableModel(table)
    first, second = ModelDrafter(model, plain), ModelDrafter(model, plain)
    first.propose([1, 2, 3], 1, rng())
    message = "must have seen the 0 tokens this drafter gave it, got 3; .* a model of its own"
    with pytest.raises(ValueError, match=message):
        second.propose([3, 3, 3], 1, rng())
    model.truncate(1)
    with pytest.raises(ValueError, match="must have seen the 3 tokens this drafter gave it, got 1"):
        first.propose([1, 2, 3], 1, rng())
    # one after the other they may use it
    assert len(ModelDrafter(model, plain).propose([3, 3, 3], 1, rng())) == 1


def test_it_recovers_when_logits_are_no_numbers():
    model = TableModel(cycle)
    drafter = ModelDrafter(model, plain)
    model.forward, forward = lambda tokens: forward(tokens) * np.nan, model.forward
    with pytest.raises(ValueError, match="logits"):
        drafter.propose([0, 1], 2, rng())
    model.forward = forward
    assert drafter.propose([0, 1, 2], 2, rng()).tokens.tolist() == [3, 4]


def test_a_draft_of_nothing():
    draft = ModelDrafter(TableModel(cycle), plain).propose([0], 0, rng())
    assert isinstance(draft, Draft)
    assert (len(draft), draft.probs) == (0, None)


def test_verdicts_change_nothing():
    drafter = ModelDrafter(TableModel(table), plain)
    first = drafter.propose([1], 3, rng())
    drafter.observe(Verdict(1, 2))
    np.testing.assert_array_equal(drafter.propose([1], 3, rng()).tokens, first.tokens)


def test_an_unknown_rule_is_refused():
    with pytest.raises(ValueError, match=r"rule must be one of 'textbook', .*got 'typical'"):
        ModelDrafter(TableModel(table), plain, "typical")
