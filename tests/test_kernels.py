"""Kernels: each available one multiplies as float32 does, and for one row as for many."""

import pytest
import torch
from torch import nn

from specmini.engine import kernels
from specmini.engine.kernels import available_kernels, is_half_exact

generator = torch.Generator().manual_seed(0)
half_exact = nn.Linear(64, 48)
with torch.no_grad():
    half_exact.weight.copy_(torch.randn(48, 64, generator=generator).half())
other = nn.Linear(64, 48)
with torch.no_grad():
    other.weight.copy_(torch.randn(48, 64, generator=generator))


def test_only_matrices_have_to_be_half_exact():
    with torch.no_grad():
        half_exact.bias.fill_(1 / 3)
    assert is_half_exact(half_exact)
    assert not is_half_exact(other)


def test_the_plain_kernel_is_always_there_and_fp16_only_where_it_loses_nothing():
    assert "torch" in available_kernels(half_exact)
    assert "torch" in available_kernels(other)
    assert "fp16" not in available_kernels(other)


@pytest.mark.parametrize("rows", [1, 2, 5, 7, 40])
@pytest.mark.parametrize("name", available_kernels(half_exact))
def test_every_kernel_multiplies_as_float32_does(name, rows):
    x = torch.randn(rows, 64, generator=generator)
    weight, bias = half_exact.weight.detach(), half_exact.bias.detach()
    product = available_kernels(half_exact)[name](weight, bias)(x)
    expected = x.double() @ weight.double().T + bias.double()
    torch.testing.assert_close(product.double(), expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("error", [AttributeError, RuntimeError, NotImplementedError])
def test_a_kernel_that_a_build_lacks_is_left_out(monkeypatch, error):
    def refuse(weight, bias):
        raise error

    monkeypatch.setattr(kernels, "HalfLinear", refuse)
    monkeypatch.setattr(kernels, "PackedLinear", refuse)
    assert list(available_kernels(half_exact)) == ["torch"]
