"""The MTP module: trained as it is used, and what it starts as and borrows."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows

from specmini.drafters.early_exit import early_exit
from specmini.gpt import GPT, Config
from specmini.heads.mtp_module import MtpModule
from specmini.heads.unrolled import later

shape = Config(vocabulary=11, context=12, layers=3, width=8, heads=2)


def randomized(module, seed):
    generator = torch.Generator().manual_seed(seed)
    for weight in module.parameters():
        torch.nn.init.normal_(weight, std=0.3, generator=generator)
    return module.double()


target = randomized(GPT(shape), 0)


def random_module():
    module = randomized(MtpModule.on_top_of(target), 1)
    module.lend(target)
    return module


def text_and_features(batch=2, length=9):
    tokens = torch.randint(11, (batch, length), generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        return tokens, target.features(tokens)


def one_round(module, tokens, features, passes):
    """A round by the paper: M [norm(h); norm(Emb)] in one piece, a block, the target's head."""
    length = tokens.shape[1] - passes + 1  # the text; the rest is what was guessed
    before = later(features[:, :length], 1)  # (B, n, D)
    matrix = torch.cat([module.from_feature.weight, module.from_token.weight], 1)  # (D, 2D)
    rows, own = [], before
    for now in range(passes):
        if now:
            before = torch.cat([before, own[:, -1:]], 1)
        known = tokens[:, : length + now]
        pair = [module.feature_norm(before), module.token_norm(target.wte(known))]
        x = F.linear(torch.cat(pair, -1), matrix) + target.wpe.weight[: known.shape[1]]
        own = module.ln_f(module.h[0](x, 0, None))
        rows.append(target.logits(own)[:, -1])
    return rows


@pytest.mark.parametrize("passes", [1, 2, 3, 4])
def test_unrolled_passes_are_the_guesses_of_a_round(passes):
    module = random_module()
    tokens, features = text_and_features()
    unrolled = module.unroll(tokens, features, passes)
    for end in range(passes + 1, tokens.shape[1] + 1):
        rows = one_round(module, tokens[:, :end], features[:, :end], passes)
        for now, row in enumerate(rows):
            torch.testing.assert_close(unrolled[now][:, end - passes + now], row)


def test_a_new_module_is_the_target_s_first_block_where_all_tokens_are_as_large():
    """LayerNorm makes them so; the target does not."""
    even = GPT(shape).double()
    even.load_state_dict(target.state_dict())
    with torch.no_grad():
        even.wte.weight.copy_(F.layer_norm(even.wte.weight, (8,)) * 0.7)
    module = MtpModule.on_top_of(even).double()
    module.lend(even)
    tokens, features = text_and_features()
    expected = early_exit(even, 1)(tokens)
    # the standard deviation is that of all weights, and of a row with one over D in it
    assert module.token_norm.weight[0].item() == pytest.approx(0.7, rel=0.01)
    torch.testing.assert_close(module.unroll(tokens, features, 1)[0], expected, rtol=0, atol=0.02)


def test_a_new_module_shares_nothing_that_trains():
    module = MtpModule.on_top_of(target)
    mine = {weight.data_ptr() for weight in module.parameters()}
    assert mine.isdisjoint(weight.data_ptr() for weight in target.parameters())


def test_what_is_borrowed_is_neither_trained_nor_stored():
    module = random_module()
    tokens, features = text_and_features()
    torch.stack(module.unroll(tokens, features, 2)).sum().backward()
    assert target.wte.weight.grad is None
    assert all(weight.grad is not None for weight in module.parameters())
    names = module.state_dict().keys()
    assert not {"embedding", "positions"} & names
    block = 12 * 8**2 + 13 * 8
    assert sum(weight.numel() for weight in module.parameters()) == block + 2 * 8**2 + 6 * 8


def test_bad_arguments_are_named():
    tokens, features = text_and_features()
    with pytest.raises(ValueError, match=r"passes must be in \[1, 9\], got 10"):
        random_module().unroll(tokens, features, 10)
    with pytest.raises(ValueError, match="layers must be 1, got 3"):
        MtpModule(shape)
    alone = MtpModule(Config(11, 12, 1, 8, 2))
    with pytest.raises(ValueError, match="target must lend its embedding first"):
        alone.unroll(tokens, features, 1)
    with pytest.raises(ValueError, match="target must have width 8, got 4"):
        alone.lend(GPT(Config(11, 12, 1, 4, 2)))
