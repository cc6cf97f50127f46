"""Would the proof notice? The engine is broken in every way we could think of, one at a time.

Each breakage is a change of the source, named with the check that catches it. The unbroken
engine, compiled the same way, passes every check.
"""

import numpy as np
import pytest
from lossless import (
    Breakage,
    Engine,
    FunctionDrafter,
    ScriptedRandom,
    SpyModel,
    drawn_verdicts_chance,
    exact_text,
    largest_error,
    outcomes,
)

from specmini import generate
from specmini.drafters import model as model_drafter
from specmini.engine.table_model import TableModel, random_table
from specmini.sampling import Sampling, plain
from specmini.verify import Draft
from specmini.verify import chain as verify

tempered = Sampling(0.6)


def pair(order):
    rng = np.random.default_rng(1)
    return random_table(3, order, rng), random_table(3, order, rng)


# --- the checks -------------------------------------------------------------------------------


def every_branch(breakages, rule):
    """Three tokens jointly, two drafted a round, against the product of the target's chances."""
    engine, (target, draft) = Engine.load(*breakages).walked(), pair(1)

    def run(walker):
        drafter = engine.model_drafter.ModelDrafter(TableModel(draft), tempered, rule)
        return engine.generate.generate(
            TableModel(target), (0,), 3, walker, sampling=tempered, drafter=drafter, draft_length=2
        ).tokens

    assert largest_error(outcomes(run), exact_text(target, tempered, (0,), 3)) < 1e-12


def branches_with_q(breakages):
    every_branch(breakages, "textbook")


def branches_without_q(breakages):
    every_branch(breakages, "greedy draft")


def drawn_verdicts(breakages):
    """20 000 drafts of two tokens; a false alarm has chance 1e-6."""
    chance = drawn_verdicts_chance(
        Engine.load(*breakages).verify.verify, pair(2), plain, "textbook", 20_000
    )
    assert chance > 1e-6


def impossible_token(breakages):
    """p = 0 and the smallest uniform number there is, 0."""
    p = np.array([[0.0, 1.0], [0.5, 0.5]])
    found = Engine.load(*breakages).verify.verify(
        p, Draft(np.array([0])), ScriptedRandom([0.0, 0.0])
    )
    assert (found.n_accepted, found.next_token) == (0, 1)


def speculate(engine, target, guess, **options):
    return engine.generate.generate(
        target, (0,), 8, np.random.default_rng(0),
        sampling=plain, drafter=FunctionDrafter(guess), draft_length=3, **options,
    )  # fmt: skip


cycle = np.roll(np.eye(8), 1, axis=1)


def full_rounds(breakages):
    """A perfect draft of three gains four tokens a round."""
    found = speculate(
        Engine.load(*breakages),
        TableModel(cycle),
        lambda text, length: [(text[-1] + 1 + i) % 8 for i in range(length)],
    )
    assert [len(round.tokens) for round in found.rounds] == [4, 4]


def cache(breakages):
    """Right guesses and wrong ones; the target must end one token behind the text."""
    target = SpyModel(cycle)
    found = speculate(
        Engine.load(*breakages),
        target,
        lambda text, length: [(text[-1] + 1) % 8, 5, 5][:length],
    )
    assert found.tokens == (1, 2, 3, 4, 5, 6, 7, 0)
    assert target.seen == [0, *found.tokens][:-1]


def stop_token(breakages):
    """In the middle of a draft that is accepted."""
    found = speculate(
        Engine.load(*breakages),
        TableModel(cycle),
        lambda text, length: [(text[-1] + 1 + i) % 8 for i in range(length)],
        stop_tokens=(2,),
    )
    assert found.tokens == (1, 2)


checks = [
    branches_with_q,
    branches_without_q,
    drawn_verdicts,
    impossible_token,
    full_rounds,
    cache,
    stop_token,
]


# --- the breakages ----------------------------------------------------------------------------

test = "if rng.random() * drafted >= p[position, token]:"
bonus = "return Verdict(len(draft), draw(p[-1], rng))"
loop = "for position, token in enumerate(draft.tokens.tolist()):\n        drafted ="
residual = "left = residual(p[position], None if q is None else q[position], token)"
truncation = "target.truncate(len(text) - 1)"


def in_verify(right, wrong):
    return Breakage(verify, right, wrong)


def in_generate(right, wrong):
    return Breakage(generate, right, wrong)


breakages = {
    "recovered token from p, the residual forgotten": (
        [in_verify(residual, "left = p[position]")],
        [branches_with_q, branches_without_q, drawn_verdicts],
    ),
    "one uniform number for all positions": (
        [
            in_verify(loop, "uniform = rng.random()\n    " + loop),
            in_verify(test, "if uniform * drafted >= p[position, token]:"),
        ],
        [branches_with_q, branches_without_q, drawn_verdicts],
    ),
    "u against p, not divided by q": (
        [in_verify(test, "if rng.random() >= p[position, token]:")],
        [branches_with_q, drawn_verdicts],
    ),
    "no bonus": (
        [
            in_verify(
                bonus,
                "if not len(draft):\n"
                "        return Verdict(0, draw(p[-1], rng))\n"
                "    return Verdict(len(draft) - 1, int(draft.tokens[-1]))",
            )
        ],
        [full_rounds],
    ),
    "p and q swapped in the test": (
        [in_verify(test, "if rng.random() * p[position, token] >= drafted:")],
        [branches_with_q, branches_without_q, drawn_verdicts],
    ),
    "p and q swapped in the residual": (
        [in_verify("np.maximum(p - q, 0.0)", "np.maximum(q - p, 0.0)")],
        [branches_with_q, drawn_verdicts],
    ),
    "residual not clipped at 0 but mirrored": (
        [in_verify("np.maximum(p - q, 0.0)", "np.abs(p - q)")],
        [branches_with_q],
    ),
    "rejected token may come back": (
        [in_verify("left[token] = 0.0", "left[token] += 0.0")],
        [branches_without_q],
    ),
    "accepted at p = 0 with u = 0": (
        [in_verify(test, test.replace(">=", ">"))],
        [impossible_token],
    ),
    "bonus from the row before": (
        [in_verify(bonus, "return Verdict(len(draft), draw(p[max(len(draft) - 1, 0)], rng))")],
        [branches_with_q, branches_without_q],
    ),
    "q of the position before": (
        [in_verify("else q[position, token]", "else q[position - 1, token]")],
        [branches_with_q],
    ),
    "draft drawn without temperature, reported with": (
        [Breakage(model_drafter, "draw(q, rng)", "draw(Sampling().probs(logits), rng)")],
        [branches_with_q],
    ),
    "target without temperature": (
        [
            in_generate(
                "verify(sampling.probs(logits), draft, rng)",
                "verify(Sampling().probs(logits), draft, rng)",
            )
        ],
        [branches_with_q, branches_without_q],
    ),
    "truncated one too many": (
        [in_generate(truncation, "target.truncate(len(text) - 2)")],
        [cache],
    ),
    "truncated one too few": (
        [in_generate(truncation, "target.truncate(min(len(text), target.length))")],
        [cache],
    ),
    "not truncated": ([in_generate(truncation, "pass")], [cache]),
    "draft longer than what is left": (
        [in_generate("limit - len(text) - 1)", "limit - len(text))")],
        [branches_with_q, branches_without_q],
    ),
    "stop token looked for at the end of a round only": (
        [in_generate("if token in stops:", "if token in stops and place == len(gained) - 1:")],
        [stop_token],
    ),
}


@pytest.mark.parametrize("check", checks)
def test_the_engine_passes(check):
    check([])


@pytest.mark.parametrize(
    ("breakage", "check"),
    [(name, check) for name, (_, catching) in breakages.items() for check in catching],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_a_broken_engine_is_caught(breakage, check):
    changes, _ = breakages[breakage]
    # the loop itself refuses to go on with a target that is out of step
    with pytest.raises((AssertionError, ValueError) if check is cache else AssertionError):
        check(changes)


def test_every_check_has_something_to_catch():
    assert {check for _, catching in breakages.values() for check in catching} == set(checks)
