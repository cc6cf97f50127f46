"""The loop: what the models are shown, what the rounds record, how a text ends."""

import dataclasses

import numpy as np
import pytest
from lossless import FunctionDrafter, SpyModel, Watched

from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.generate import Round, generate
from specmini.sampling import Sampling, greedy, plain
from specmini.verify import Draft, Verdict

cycle = np.roll(np.eye(8), 1, axis=1)  # after token t comes t + 1, after 7 comes 0
tables = [random_table(5, 2, np.random.default_rng(seed), 0.5) for seed in range(2)]


def rng():
    return np.random.default_rng(0)


def right_guess(text, length):
    return [(text[-1] + 1 + i) % 8 for i in range(length)]


def without_times(generation):
    rounds = [
        dataclasses.replace(round, draft_seconds=0, target_seconds=0, seconds=0)
        for round in generation.rounds
    ]
    return generation.tokens, rounds, generation.ending


class WatchingDrafter:
    """Hands on to a drafter; before and after each round the target must be one token behind."""

    def __init__(self, drafter, target, target_prompt):
        self.drafter, self.target, self.text = drafter, target, target_prompt
        self.asked, self.verdicts = [], []

    def propose(self, text, draft_length, rng):
        assert self.target.seen == list(text[:-1])
        assert list(text[: len(self.text)]) == list(self.text)  # a text only ever grows
        self.text = list(text)
        self.asked.append(draft_length)
        self.draft = self.drafter.propose(text, draft_length, rng)
        return self.draft

    def observe(self, verdict):
        self.verdicts.append(verdict)
        self.drafter.observe(verdict)


# --- the cache --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["textbook", "greedy draft", "exact match"])
@pytest.mark.parametrize("sampling", [plain, greedy, Sampling(0.7, top_p=0.8)])
@pytest.mark.parametrize("draft_length", [1, 3, 7])
def test_between_rounds_the_target_has_seen_all_but_the_last_token(rule, sampling, draft_length):
    target = SpyModel(tables[0])
    watching = WatchingDrafter(
        ModelDrafter(TableModel(tables[1]), sampling, rule), target, target_prompt=[4, 1]
    )
    found = generate(
        target, [4, 1], 60, rng(), sampling=sampling, drafter=watching, draft_length=draft_length
    )
    assert target.seen == [4, 1, *found.tokens][:-1]
    assert len(watching.asked) >= len(found.rounds) - 1
    # one pass for the prompt, one a round, over the last token and the draft
    assert target.passes[0] == (0, (4,))
    text = [4, 1]
    for (length, tokens), round in zip(target.passes[1:], found.rounds, strict=True):
        assert (length, tokens) == (len(text) - 1, (text[-1], *round.drafted))
        text += round.tokens


def test_plain_decoding_shows_the_target_every_token_once():
    target = SpyModel(cycle)
    generate(target, [5], 4, rng(), sampling=greedy)
    assert target.passes == [(0, (5,)), (1, (6,)), (2, (7,)), (3, (0,))]


def test_a_second_text_is_not_touched_by_the_first():
    def fresh():
        return SpyModel(tables[0]), ModelDrafter(TableModel(tables[1]), plain)

    target, drafter = fresh()
    for prompt in ([4, 1, 2], [4, 1, 3, 3], [0], [4, 1, 2]):
        used, new = (
            generate(a, prompt, 30, rng(), sampling=plain, drafter=b, draft_length=3)
            for a, b in ((target, drafter), fresh())
        )
        assert without_times(used) == without_times(new)


# --- what the rounds record -------------------------------------------------------------------


@pytest.mark.parametrize("draft_length", range(7))
def test_rounds_account_for_every_token(draft_length):
    drafter = ModelDrafter(TableModel(tables[1]), plain) if draft_length else None
    found = generate(
        TableModel(tables[0]), [0], 50, rng(),
        sampling=plain, drafter=drafter, draft_length=draft_length,
    )  # fmt: skip
    assert found.tokens == tuple(token for round in found.rounds for token in round.tokens)
    assert len(found.tokens) == 50
    left = 50
    for round in found.rounds:
        assert len(round.drafted) == min(draft_length, left - 1)
        assert len(round.tokens) == round.n_accepted + 1
        assert round.tokens[:-1] == round.drafted[: round.n_accepted]
        assert round.is_bonus == (round.n_accepted == len(round.drafted))
        if not round.is_bonus:
            assert round.tokens[-1] != round.drafted[round.n_accepted] or draft_length == 0
        assert all(type(token) is int for token in (*round.tokens, *round.drafted))
        left -= len(round.tokens)


def test_times_are_those_of_the_rounds():
    found = generate(
        TableModel(tables[0]), [0, 1], 20, rng(),
        sampling=plain, drafter=ModelDrafter(TableModel(tables[1]), plain), draft_length=2,
    )  # fmt: skip
    for round in found.rounds:
        assert round.draft_seconds >= 0
        assert round.target_seconds > 0
        assert round.seconds >= round.draft_seconds + round.target_seconds
    assert found.seconds == sum(round.seconds for round in found.rounds)
    assert found.prefill_seconds > 0


def test_a_drafter_learns_the_verdict_on_each_of_its_drafts():
    drafter = FunctionDrafter(right_guess)
    generate(TableModel(cycle), [0], 7, rng(), sampling=plain, drafter=drafter, draft_length=3)
    # 4 tokens, then 3 are left: two guesses and the bonus
    assert drafter.verdicts == [Verdict(3, 4), Verdict(2, 7)]


def test_each_choice_has_a_number_of_its_own():
    """K for the draws, one for each token looked at, one for the token that is added."""
    watched = Watched(seed=3)
    found = generate(
        TableModel(tables[0]), [0], 200, watched,
        sampling=plain, drafter=ModelDrafter(TableModel(tables[1]), plain), draft_length=4,
    )  # fmt: skip
    needed = sum(
        len(round.drafted) + min(round.n_accepted + 1, len(round.drafted)) + 1
        for round in found.rounds
    )
    assert len(watched.given) == needed
    assert len(set(watched.given)) == needed


@pytest.mark.parametrize("draft_length", [0, 1, 5])
def test_a_seed_gives_a_text(draft_length):
    def text(seed):
        return without_times(
            generate(
                TableModel(tables[0]), [0], 40, np.random.default_rng(seed), sampling=plain,
                drafter=ModelDrafter(TableModel(tables[1]), plain) if draft_length else None,
                draft_length=draft_length,
            )
        )  # fmt: skip

    assert text(1) == text(1)
    assert text(1)[0] != text(2)[0]


# --- how a text ends --------------------------------------------------------------------------


@pytest.mark.parametrize("draft_length", [0, 1, 2, 4, 20])
@pytest.mark.parametrize("stop", range(1, 8))
def test_a_stop_token_ends_the_text_wherever_it_falls(draft_length, stop):
    """First, inside or last in a draft, or the bonus: 0 is followed by 1, 2, 3, ..."""
    target = SpyModel(cycle)
    found = generate(
        target, [0], 20, rng(), sampling=plain, stop_tokens={stop},
        drafter=FunctionDrafter(right_guess) if draft_length else None, draft_length=draft_length,
    )  # fmt: skip
    assert found.tokens == tuple(range(1, stop + 1))
    assert found.ending == "stop token"
    assert found.tokens == tuple(token for round in found.rounds for token in round.tokens)
    assert target.seen == [0, *found.tokens][:-1]  # nothing after the stop token stays


def test_the_recovered_token_can_be_the_stop_token():
    wrong = FunctionDrafter(lambda text, length: [5] * length)
    found = generate(
        TableModel(cycle), [0], 9, rng(), sampling=plain, stop_tokens=[2], drafter=wrong,
        draft_length=3,
    )  # fmt: skip
    assert found.tokens == (1, 2)
    assert found.ending == "stop token"


def test_a_stop_token_in_the_prompt_or_rejected_from_a_draft_does_not_count():
    wrong = FunctionDrafter(lambda text, length: [2] * length)
    found = generate(
        TableModel(cycle), [2, 3], 4, rng(), sampling=plain, stop_tokens=[2], drafter=wrong,
        draft_length=2,
    )  # fmt: skip
    assert found.tokens == (4, 5, 6, 7)
    assert found.ending == "length"


def test_stop_tokens_may_come_from_an_iterator():
    found = generate(TableModel(cycle), [0], 9, rng(), sampling=plain, stop_tokens=iter([3]))
    assert found.tokens == (1, 2, 3)


@pytest.mark.parametrize("draft_length", [0, 1, 3, 50])
@pytest.mark.parametrize("prompt_length", [1, 2, 14, 15])
def test_a_full_context_ends_the_text(draft_length, prompt_length):
    target = SpyModel(cycle, context=16)
    prompt = [i % 8 for i in range(prompt_length)]
    found = generate(
        target, prompt, 100, rng(), sampling=plain,
        drafter=FunctionDrafter(right_guess) if draft_length else None, draft_length=draft_length,
    )  # fmt: skip
    assert found.ending == "context"
    assert (*prompt, *found.tokens) == tuple(i % 8 for i in range(16))


@pytest.mark.parametrize("new_tokens", [1, 2, 3, 5])
def test_a_draft_is_never_longer_than_what_is_left(new_tokens):
    target = SpyModel(tables[0])
    drafter = WatchingDrafter(ModelDrafter(TableModel(tables[1]), plain), target, [3])
    found = generate(
        target, [3], new_tokens, rng(), sampling=plain, drafter=drafter, draft_length=9
    )
    assert len(found.tokens) == new_tokens
    assert found.ending == "length"
    assert drafter.asked[:1] == ([new_tokens - 1] if new_tokens > 1 else [])
    assert target.length == new_tokens


@pytest.mark.parametrize("context", [1, 4, 10, 29, 30, 31])
def test_a_draft_model_with_a_short_context_falls_silent(context):
    target = SpyModel(cycle)
    drafter = ModelDrafter(TableModel(cycle, context), plain)
    found = generate(target, [0, 1], 30, rng(), sampling=plain, drafter=drafter, draft_length=4)
    assert found.tokens == tuple((i + 2) % 8 for i in range(30))
    # a text of as many tokens as the context has can still be seen whole
    at = 2
    for round in found.rounds:
        assert len(round.drafted) == max(0, min(4, context - at + 1, 32 - at - 1))
        at += len(round.tokens)


# --- what may be given ------------------------------------------------------------------------


@pytest.mark.parametrize("as_given", [list, tuple, np.array, lambda p: np.array(p, np.uint8)])
def test_a_prompt_may_be_any_sequence_of_integers(as_given):
    found = generate(TableModel(cycle), as_given([3, 4]), 2, rng(), sampling=plain)
    assert found.tokens == (5, 6)
    assert all(type(token) is int for token in found.tokens)


def test_a_prompt_is_left_as_it_is():
    prompt = [3, 4]
    generate(TableModel(cycle), prompt, 2, rng(), sampling=plain)
    assert prompt == [3, 4]


class FalsyDrafter(FunctionDrafter):
    def __len__(self):
        return 0


def test_a_drafter_that_is_empty_is_still_a_drafter():
    drafter = FalsyDrafter(right_guess)
    found = generate(
        TableModel(cycle), [0], 4, rng(), sampling=plain, drafter=drafter, draft_length=3
    )
    assert len(found.rounds) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompt": []}, r"prompt must have length in \[1, 16\), got 0"),
        ({"prompt": [0] * 16}, r"prompt must have length in \[1, 16\), got 16"),
        ({"prompt": [0, 8]}, r"prompt must be in \[0, 8\), got 8 at 1"),
        ({"prompt": [-1]}, r"prompt must be in \[0, 8\), got -1 at 0"),
        ({"prompt": [1.5]}, r"prompt must be integers of shape \(T,\), got float64"),
        ({"prompt": "abc"}, "prompt must be integers"),
        (
            {"prompt": [[1]]},
            r"prompt must be integers .* of shape \(1, 1\)",
        ),
        ({"stop_tokens": [8]}, r"stop_tokens must be in \[0, 8\), got 8"),
        ({"stop_tokens": [1.0]}, "stop_tokens must be integers"),
        ({"new_tokens": 0}, r"new_tokens must be a whole number in \[1, .*got 0"),
        ({"new_tokens": 2.5}, "new_tokens must be a whole number .*got 2.5"),
        ({"new_tokens": True}, "new_tokens must be a whole number .*got True"),
        ({"new_tokens": [5, 6]}, "new_tokens must be a single number, got an array of shape"),
        ({"draft_length": [1]}, "draft_length must be a single number, got an array of shape"),
        ({"draft_length": -1}, "draft_length must be a whole number .*got -1"),
        ({"draft_length": 2.5}, "draft_length must be a whole number .*got 2.5"),
        (
            {"draft_length": 1},
            "draft_length must be .* 0 without, got 1 without one",
        ),
        ({"drafter": FunctionDrafter(right_guess)}, "draft_length must be .*got 0 with one"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments, message):
    given = {"prompt": [0], "new_tokens": 3, "sampling": plain, "rng": rng(), **arguments}
    target = SpyModel(cycle, context=16)
    with pytest.raises(ValueError, match=message):
        generate(target, **given)
    assert target.passes == []


class Proposing(FunctionDrafter):
    """Proposes one draft, whatever is asked."""

    def __init__(self, draft):
        super().__init__(right_guess)
        self.draft = draft

    def propose(self, text, draft_length, rng):
        return self.draft


@pytest.mark.parametrize(
    ("draft", "message"),
    [
        (Draft(np.array([1, 2, 3])), "draft must have at most 2 tokens, got 3"),
        (Draft(np.array([8])), r"draft tokens must be in \[0, 8\), got 8 at 0"),
        (Draft(np.array([-1])), r"draft tokens must be in \[0, 8\), got -1 at 0"),
        (
            Draft(np.array([1]), np.eye(9)[[1]]),
            "must have the draft's vocabulary of 9",
        ),
    ],
)
def test_a_drafter_that_breaks_the_rules_is_named(draft, message):
    with pytest.raises(ValueError, match=message):
        generate(
            TableModel(cycle), [0], 9, rng(), sampling=plain, drafter=Proposing(draft),
            draft_length=2,
        )  # fmt: skip


class RunsTheTarget:
    def __init__(self, target):
        self.target = target

    def propose(self, text, draft_length, rng):
        self.target.forward([text[-1]])
        return Draft(np.array([1]))


@pytest.mark.parametrize(
    ("drafter", "message"),
    [
        (RunsTheTarget, r"target must have seen 1 tokens .* got 2.* of its own"),
        (
            lambda target: ModelDrafter(target, plain),
            "model must have seen the 0 tokens this drafter gave it, got 1; .* of its own",
        ),
    ],
)
def test_the_target_cannot_draft_for_itself(drafter, message):
    target = TableModel(cycle)
    with pytest.raises(ValueError, match=message):
        generate(target, [0, 1], 9, rng(), sampling=plain, drafter=drafter(target), draft_length=2)


def test_a_plain_round_counts_as_wholly_accepted():
    found = generate(TableModel(cycle), [0], 1, rng(), sampling=plain)
    [round] = found.rounds
    assert isinstance(round, Round)
    assert (round.drafted, round.n_accepted, round.tokens) == ((), 0, (1,))
    assert round.is_bonus
