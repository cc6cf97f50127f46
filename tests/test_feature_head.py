"""The heads: trained as they are used, and what they start as."""

import pytest
import torch

from specmini.gpt import GPT, Config
from specmini.heads.feature_head import FeatureHead, FeatureHeadConfig
from specmini.heads.medusa_heads import MedusaConfig, MedusaHeads
from specmini.heads.unrolled import later

shape = Config(vocabulary=11, context=12, layers=2, width=8, heads=2)
config = FeatureHeadConfig(shape, feature_width=6)


def random_head(seed=0):
    generator = torch.Generator().manual_seed(seed)
    head = FeatureHead(config, generator=generator)
    for weight in head.parameters():
        torch.nn.init.normal_(weight, std=0.3, generator=generator)
    return head.double()


def text_and_features(seed=1, batch=2, length=9):
    rng = torch.Generator().manual_seed(seed)
    tokens = torch.randint(11, (batch, length), generator=rng)
    return tokens, torch.randn(batch, length, 6, generator=rng, dtype=torch.float64)


def one_round(head, tokens, features, passes):
    """A round by the book: the features of the target up to the last but one token of a text."""
    length = tokens.shape[1] - passes + 1  # the text; the rest is what was guessed
    before = head.from_target(later(features[:, :length], 1))  # (B, n, d)
    rows, own = [], before
    for now in range(passes):
        if now:
            before = torch.cat([before, head.from_self(own[:, -1:])], 1)
        known = tokens[:, : length + now]
        x = head.draft.wte(known) + head.draft.wpe.weight[: known.shape[1]] + before
        for layer, block in enumerate(head.draft.h):
            x = block(x, layer, None)
        own = head.draft.ln_f(x)
        rows.append(head.draft.logits(own)[:, -1])
    return rows


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
def test_unrolled_passes_are_the_guesses_of_a_round(passes):
    head = random_head()
    tokens, features = text_and_features()
    unrolled = head.unroll(tokens, features, passes)
    for end in range(passes + 1, tokens.shape[1] + 1):
        rows = one_round(head, tokens[:, :end], features[:, :end], passes)
        for now, row in enumerate(rows):
            place = end - passes + now
            torch.testing.assert_close(unrolled[now][:, place], row)


def test_a_new_head_is_the_draft_it_starts_from():
    draft = GPT(shape, torch.Generator().manual_seed(3)).double()
    head = FeatureHead(config, draft).double()
    tokens, features = text_and_features()
    for logits in head.unroll(tokens, features, 3)[:1]:
        torch.testing.assert_close(logits, draft(tokens))
    # later passes see each guess of the round, so they are the draft too
    torch.testing.assert_close(head.unroll(tokens, features, 3)[2][:, 2:], draft(tokens)[:, 2:])


def test_features_later_than_allowed_change_nothing():
    head = random_head()
    tokens, features = text_and_features()
    changed = features.clone()
    changed[:, 4:] += 1
    for now, (a, b) in enumerate(
        zip(head.unroll(tokens, features, 3), head.unroll(tokens, changed, 3), strict=True)
    ):
        last = 4 + now  # row t uses features up to t - 1 - now
        torch.testing.assert_close(a[:, : last + 1], b[:, : last + 1])
        assert not torch.allclose(a[:, last + 1], b[:, last + 1])


def test_medusa_heads_start_as_the_target_s_own_guess():
    matrix = torch.randn(11, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    heads = MedusaHeads(MedusaConfig(11, 6, 3), matrix).double()
    tokens, features = text_and_features()
    for now, logits in enumerate(heads.unroll(tokens, features, 3)):
        torch.testing.assert_close(logits[:, now + 1 :], (features @ matrix.T)[:, : -now - 1])
        assert logits[:, : now + 1].abs().max() == 0


def test_bad_arguments_are_named():
    tokens, features = text_and_features()
    with pytest.raises(ValueError, match=r"passes must be in \[1, 9\], got 10"):
        random_head().unroll(tokens, features, 10)
    with pytest.raises(ValueError, match="feature_width must be at least 1, got 0"):
        FeatureHeadConfig(shape, 0)
    heads = MedusaHeads(MedusaConfig(11, 6, 3))
    with pytest.raises(ValueError, match=r"passes must be in \[1, 3\], got 4"):
        heads.unroll(tokens, features, 4)
    with pytest.raises(ValueError, match="heads must be at least 1, got 0"):
        MedusaConfig(11, 6, 0)
