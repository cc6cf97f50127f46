"""Serving a batch: every text is the one its request would get alone, whatever its neighbors."""

import dataclasses
import itertools

import numpy as np
import pytest
import torch

from specmini.batch import serving
from specmini.batch.drafter import BatchModelDrafter
from specmini.batch.fast import BatchChoice, FastBatch, batch_candidates
from specmini.batch.serving import Request, Server, requests_for
from specmini.batch.side_by_side import SideBySide
from specmini.drafters import ModelDrafter
from specmini.engine.table_model import TableModel, random_table
from specmini.engine.threads import single_thread
from specmini.engine.torch_model import TorchModel
from specmini.generate import generate
from specmini.gpt import GPT, Config
from specmini.measure.tallies import tally
from specmini.sampling import Sampling, greedy, plain
from specmini.verify import Draft

tables = [random_table(5, 2, np.random.default_rng(seed), 0.5) for seed in range(2)]
cycle = np.roll(np.eye(8), 1, axis=1)  # after token t comes t + 1, after 7 comes 0


def models(table, slots, context=64):
    return SideBySide([TableModel(table, context) for _ in range(slots)])


def test_greedy_texts_of_a_network_do_not_depend_on_the_batch():
    """Every way to compute a pass, batches of 1 to 64, drafts of other lengths: the same texts.

    Sums in other orders differ by 1e-6; logits this far apart do not notice.
    """
    generator = torch.Generator().manual_seed(3)
    shape = Config(vocabulary=60, context=32, layers=2, width=32, heads=4)
    target, draft = (GPT(shape, generator).eval().requires_grad_(False) for _ in range(2))
    with torch.no_grad():
        for model in (target, draft):
            for weight in model.parameters():
                if weight.dim() == 2:
                    weight.add_(0.3 * torch.randn(weight.shape, generator=generator))
        for ours, theirs in zip(draft.parameters(), target.parameters(), strict=True):
            ours.mul_(0.3).add_(0.7 * theirs)
    rng = np.random.default_rng(5)
    prompts = [rng.integers(60, size=rng.integers(1, 8)).tolist() for _ in range(70)]
    with single_thread():
        alone = [
            generate(TorchModel(target), prompt, 12, rng, sampling=greedy).tokens
            for prompt in prompts
        ]
        assert len(set(alone)) > 60
        ways = itertools.cycle(batch_candidates(target))
        accepted = 0
        for slots, draft_length in ((1, 3), (2, 0), (4, 2), (8, 5), (16, 1), (32, 4), (64, 8)):
            choice = BatchChoice({1: next(ways)}, {})
            drafter = BatchModelDrafter(FastBatch(draft, slots, choice), greedy)
            found = Server(
                FastBatch(target, slots, choice), requests_for(prompts, 12, rng), sampling=greedy,
                drafter=drafter if draft_length else None, draft_length=draft_length,
            ).run()  # fmt: skip
            assert [text.tokens for text in found.texts] == alone
            accepted += tally(row for round in found.rounds for row in round.rows).accepted
    assert accepted > 100


def requests(count, seed=0, longest=40):
    """Prompts and lengths that differ."""
    rng = np.random.default_rng(seed)
    return [
        Request(
            rng.integers(5, size=rng.integers(1, 9)).tolist(),
            int(rng.integers(1, longest)),
            np.random.default_rng([seed, number]),
        )
        for number in range(count)
    ]


def without_times(generation):
    rounds = [
        dataclasses.replace(round, draft_seconds=0, target_seconds=0, seconds=0)
        for round in generation.rounds
    ]
    return generation.tokens, rounds, generation.ending


@pytest.mark.parametrize("rule", ["textbook", "greedy draft", "exact match"])
@pytest.mark.parametrize("sampling", [plain, greedy, Sampling(0.7, top_k=3, top_p=0.8)])
@pytest.mark.parametrize(
    ("slots", "draft_length", "admission"),
    [
        (1, 2, "continuous"),
        (2, 1, "static"),
        (3, 0, "continuous"),
        (4, 4, "static"),
        (5, 4, "continuous"),
        (16, 7, "continuous"),
    ],
)
def test_a_text_is_that_of_the_single_sequence(slots, draft_length, sampling, rule, admission):
    """Token for token and round for round, from the same random numbers.

    So what is proved of ``generate``'s distribution (test_lossless) holds for every batch.
    """
    drafter = BatchModelDrafter(models(tables[1], slots, 30), sampling, rule)
    found = Server(
        models(tables[0], slots), requests(20), sampling=sampling, stop_tokens=[3],
        drafter=drafter if draft_length else None, draft_length=draft_length, admission=admission,
    ).run()  # fmt: skip
    assert len(found.texts) == 20
    for text, request in zip(found.texts, requests(20), strict=True):
        alone = generate(
            TableModel(tables[0], 64), request.prompt, request.new_tokens, request.rng,
            sampling=sampling, stop_tokens=[3], draft_length=draft_length,
            drafter=ModelDrafter(TableModel(tables[1], 30), sampling, rule)
            if draft_length
            else None,
        )  # fmt: skip
        assert without_times(text) == without_times(alone)


def test_a_full_context_ends_a_text():
    wanted = [Request([0] * n, 100, np.random.default_rng(n)) for n in (1, 5, 15)]
    found = Server(
        models(tables[0], 2, 16), wanted, sampling=plain, draft_length=3,
        drafter=BatchModelDrafter(models(tables[1], 2, 16), plain),
    ).run()  # fmt: skip
    assert [len(text.tokens) for text in found.texts] == [15, 11, 1]
    assert {text.ending for text in found.texts} == {"context"}


def test_a_free_slot_is_filled_at_once_or_when_all_are_free():
    lengths = [3, 1, 2, 2, 1]
    wanted = [Request([0], n, np.random.default_rng(0)) for n in lengths]

    def busy(admission):
        found = Server(models(tables[0], 2), wanted, sampling=plain, admission=admission).run()
        return [set(round.requests) for round in found.rounds], found.rounds

    continuous, rounds = busy("continuous")
    assert continuous == [{0, 1}, {0, 2}, {0, 2}, {3, 4}, {3}]
    assert [round.is_full for round in rounds] == [True] * 4 + [False]
    static, _ = busy("static")
    assert static == [{0, 1}, {0}, {0}, {2, 3}, {2, 3}, {4}]


def test_requests_are_taken_only_when_a_slot_is_free():
    taken = []

    def endless():
        for number in itertools.count():
            taken.append(number)
            yield Request([0], 2, np.random.default_rng(number))

    server = Server(models(tables[0], 3), endless(), sampling=plain)
    assert taken == []
    server.round()
    server.round()
    assert taken == [0, 1, 2]
    assert sorted(server.finished) == [0, 1, 2]
    server.round()
    assert taken == [0, 1, 2, 3, 4, 5]


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when a model runs: a second a pass, and one a token in it."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

    made = Clock()
    monkeypatch.setattr(serving, "time", made)
    return made


class Slow(SideBySide):
    """A pass takes ``fixed`` seconds and ``each`` a token."""

    def __init__(self, table, slots, clock, fixed, each):
        super().__init__([TableModel(table, 64) for _ in range(slots)])
        self.clock, self.fixed, self.each = clock, fixed, each

    def forward(self, slots, tokens, *, last_only=False):
        self.clock.now += self.fixed + self.each * sum(map(len, tokens))
        return super().forward(slots, tokens, last_only=last_only)


def test_times_are_those_of_the_passes_and_rows_share_them(clock):
    """Two texts of a cycle, which the draft model knows: 2 and 1 drafted, all accepted."""
    wanted = [Request([0, 1, 2], 3, np.random.default_rng(0)), Request([4], 2, None)]
    wanted[1] = dataclasses.replace(wanted[1], rng=np.random.default_rng(1))
    found = Server(
        Slow(cycle, 2, clock, 100.0, 10.0), wanted, sampling=plain, draft_length=2,
        drafter=BatchModelDrafter(Slow(cycle, 2, clock, 8.0, 1.0), plain),
    ).run()  # fmt: skip
    assert [text.tokens for text in found.texts] == [(3, 4, 5), (5, 6)]
    (only,) = found.rounds
    # the target reads 2 tokens of the first prompt, the draft as many
    assert only.prefill_seconds == 120 + 10
    # two draft passes, over 2 rows and 1 row; a target pass over 3 + 2 tokens
    assert (only.draft_seconds, only.target_seconds, only.seconds) == (19, 150, 169)
    first, second = only.rows
    assert first.draft_seconds == pytest.approx(19 * 2 / 3)
    assert second.draft_seconds == pytest.approx(19 / 3)
    assert first.target_seconds == pytest.approx(150 * 3 / 5)
    total = tally(only.rows)
    assert (total.rounds, total.tokens, total.drafted, total.accepted) == (2, 5, 3, 3)
    assert total.seconds == pytest.approx(169)
    assert [text.prefill_seconds for text in found.texts] == [130 * 3 / 4, 130 / 4]
    assert [text.rounds for text in found.texts] == [(first,), (second,)]


def test_the_draft_model_sees_each_token_once_and_reads_no_more_than_it_must(clock):
    """After a full acceptance two tokens are new to it, else one; rejected ones are forgotten."""
    seen = []

    class Spy(SideBySide):
        def forward(self, slots, tokens, *, last_only=False):
            assert last_only
            seen.append([len(row) for row in tokens])
            return super().forward(slots, tokens, last_only=last_only)

    wrong = np.roll(np.eye(8), 2, axis=1)
    half = np.where(np.arange(8)[:, None] < 4, cycle, wrong)  # right after 0, 1, 2 and 3
    Server(
        SideBySide([TableModel(cycle, 64)]), [Request([0], 6, np.random.default_rng(0))],
        sampling=greedy, draft_length=2,
        drafter=BatchModelDrafter(Spy([TableModel(half, 64)]), greedy),
    ).run()  # fmt: skip
    # 1 2 | 3 by the bonus, so 2 and 3 are new; 4 right, 6 wrong | 5; one is left and needs no draft
    assert seen == [[1], [1], [2], [1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"draft_length": 1}, "draft_length must be .* 0 without, got 1 without one"),
        ({"draft_length": -1}, "draft_length must be a whole number"),
        ({"stop_tokens": [9]}, r"stop_tokens must be in \[0, 5\), got 9"),
        ({"admission": "eager"}, "admission must be one of"),
        ({"requests": [Request([], 1, None)]}, r"prompt must have length in \[1, 64\), got 0 in"),
        ({"requests": [Request([0] * 64, 1, None)]}, "got 64 in request 0"),
        ({"requests": [Request([7], 1, None)]}, r"prompt must be in \[0, 5\), got 7"),
        ({"requests": [Request([0], 0, None)]}, "new_tokens must be a whole number"),
    ],
)
def test_what_cannot_be_served_is_refused(arguments, message):
    given = {"requests": requests(1), "sampling": plain, **arguments}
    with pytest.raises(ValueError, match=message):
        Server(models(tables[0], 2), **given).run()


class Proposing:
    """Proposes the same tokens for every slot, or runs the target."""

    def __init__(self, tokens, target=None):
        self.tokens, self.target = tokens, target

    def admit(self, slots, prompts):
        pass

    def propose(self, slots, texts, draft_lengths, rngs):
        if self.target:
            self.target.forward(slots, [[0] for _ in slots])
        return [Draft(np.array(self.tokens, np.int64)) for _ in slots]


@pytest.mark.parametrize(
    ("tokens", "uses_target", "message"),
    [
        ([0, 0, 0], False, "draft must have at most 2 tokens, got 3"),
        ([0], True, "target must have seen 0 tokens in slot 0 after drafting, got 1"),
        ([9], False, r"tokens must be in \[0, 5\), got 9"),
    ],
)
def test_a_drafter_that_oversteps_is_told(tokens, uses_target, message):
    target = models(tables[0], 2)
    with pytest.raises(ValueError, match=message):
        Server(
            target, [Request([1], 9, np.random.default_rng(0))] * 2, sampling=plain,
            draft_length=2, drafter=Proposing(tokens, target if uses_target else None),
        ).run()  # fmt: skip


def test_each_prompt_gets_randomness_of_its_own():
    first, second = requests_for([[0], [0]], 30, np.random.default_rng(0))
    found = Server(models(tables[0], 2), [first, second], sampling=plain).run()
    assert found.texts[0].tokens != found.texts[1].tokens
