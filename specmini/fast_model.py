"""The fastest engine for a GPT on this machine, found by trying.

A decoding step of a small model spends a third of its time outside the matrices, in the calls
themselves. ``TorchStep`` is the forward pass with as few calls as it takes, compiled to TorchScript
so that no Python runs between them; ``NumpyStep`` is the same with calls that are cheaper and more.
Which of them wins, and with which kernel for the matrices, depends on the processor, on the size
of the model and on the number of tokens T. So every candidate is timed once, at T = 1 (decoding)
and at T = 4 (verification), and the two winners share one cache.
"""

from __future__ import annotations

import contextlib
import functools
import time
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812, the name everyone knows
from numpy.typing import NDArray
from torch import Tensor, nn

from specmini.cached_model import CachedModel, check_length, check_room
from specmini.gpt import GPT, Block, Config
from specmini.kernels import Kernel, available_kernels, is_half_exact
from specmini.numpy_model import NumpyStep, new_cache
from specmini.threads import single_thread
from specmini.torch_model import TorchModel
from specmini.verify import check_tokens

__all__ = ["Choice", "FastModel", "fast_model", "step_seconds"]

Array = NDArray[np.float32]
Step = Callable[[Sequence[int], Array, int], Array]

several: Final = 4  # tokens that stand for all T > 1


@dataclass(frozen=True)
class Choice:
    """Which steps run, and why.

    Attributes:
        decoding: name of the step for T = 1.
        verification: name of the step for T > 1.
        seconds: for each candidate the seconds it took at T = 1 and at T = 4.
    """

    decoding: str
    verification: str
    seconds: dict[str, tuple[float, float]]


class FastModel:
    """A ``CachedModel`` in float32 on the CPU, for one sequence.

    Which candidates win is measured once a process for each shape, on one thread. A step does not
    set the number of threads itself; use it inside ``single_thread``.

    Args:
        model: the weights, which are copied or shared: do not train it on.
        choice: names of ``candidates`` to run; measured if not given.

    Attributes:
        choice: what runs, with the times measured.

    Raises:
        ValueError: a chosen name is not available here.
    """

    def __init__(self, model: GPT, choice: Choice | None = None) -> None:
        self.choice = choice or _measured_choice(model)
        self._decode = _step(model, self.choice.decoding)
        self._verify = _step(model, self.choice.verification)
        self._config = model.config
        self._cache = new_cache(model.config)
        self._length = 0

    @property
    def vocabulary(self) -> int:
        """Number of token ids V."""
        return self._config.vocabulary

    @property
    def context(self) -> int:
        """Most tokens it can have seen."""
        return self._config.context

    @property
    def length(self) -> int:
        """Tokens it has seen."""
        return self._length

    def forward(self, tokens: Sequence[int]) -> Array:
        """See T more tokens: (T, V) logits. Raises ``ValueError`` as ``CachedModel.forward``."""
        check_room(self, tokens)
        check_tokens(np.asarray(tokens), self.vocabulary)
        step = self._decode if len(tokens) == 1 else self._verify
        logits = step(tokens, self._cache, self._length)  # (T, V)
        self._length += len(tokens)
        return logits

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        check_length(self, length)
        self._length = length


def fast_model(model: GPT) -> CachedModel:
    """The fastest ``CachedModel`` for a GPT here; on a GPU, or not in float32, ``TorchModel``."""
    weight = model.wte.weight
    is_plain = weight.device.type == "cpu" and weight.dtype == torch.float32
    return FastModel(model) if is_plain else TorchModel(model)


def candidates(model: GPT) -> dict[str, Callable[[], Step]]:
    """Makers of the steps that compute a model's function here, by name."""
    makers: dict[str, Callable[[], Step]] = {"NumPy": lambda: NumpyStep(model)}
    for name, kernel in available_kernels(model).items():
        makers[name] = functools.partial(_torch_step, model, kernel)
    return makers


def step_seconds(
    step: Step,
    config: Config,
    new: int,
    past: int | None = None,
    repeats: int = 5,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Seconds of each of some equal steps.

    Args:
        step: the forward pass.
        config: shape of its model.
        new: tokens in a step, T.
        past: tokens before it; half the context if not given.
        repeats: number of steps, one after the other, as in decoding.
        clock: gives seconds.

    Raises:
        ValueError: ``past`` and ``new`` exceed the context.
    """
    past = config.context // 2 if past is None else past
    if not (new >= 1 and past >= 0 and past + new <= config.context):
        raise ValueError(
            f"past + new must be at most the context of {config.context}, got {past} + {new}"
        )
    tokens, cache = [0] * new, new_cache(config)
    seconds = []
    for _ in range(repeats):
        started = clock()
        step(tokens, cache, past)
        seconds.append(clock() - started)
    return seconds


def _step(model: GPT, name: str) -> Step:
    """A model's step by name, made once as long as the weights stay what they are."""
    versions = tuple(weight._version for weight in model.parameters())
    known, steps = _made.get(model, (versions, {}))
    if known != versions or model not in _made:
        steps = {}
        _made[model] = versions, steps
    if name not in steps:
        makers = candidates(model)
        if name not in makers:
            raise ValueError(f"choice must name steps out of {sorted(makers)}, got {name!r}")
        steps[name] = makers[name]()
    return steps[name]


# packing and compiling take a second; no step holds on to its GPT, so the entry goes with it
_made: weakref.WeakKeyDictionary[GPT, tuple[tuple[int, ...], dict[str, Step]]] = (
    weakref.WeakKeyDictionary()
)


def _measured_choice(model: GPT) -> Choice:
    """The fastest candidates, measured the first time that a shape is asked for."""
    key = (model.config, is_half_exact(model))
    if key not in _choices:
        _choices[key] = _measure(model)
    return _choices[key]


_choices: dict[tuple[Config, bool], Choice] = {}


def _measure(model: GPT, rounds: int = 3) -> Choice:
    """Time all candidates in turns; the least time counts, since other work only ever adds."""
    steps = {name: _step(model, name) for name in candidates(model)}
    counts = (1, min(several, model.config.context))
    times: dict[tuple[str, int], list[float]] = {}
    with single_thread():
        for _ in range(rounds):
            for name, step in steps.items():
                for new in counts:
                    # the first steps compile and warm up; they are never the least
                    times.setdefault((name, new), []).extend(step_seconds(step, model.config, new))
    seconds = {name: (min(times[name, counts[0]]), min(times[name, counts[1]])) for name in steps}
    decoding, verification = (
        min(seconds, key=lambda name: seconds[name][place]) for place in (0, 1)
    )
    return Choice(decoding, verification, seconds)


class _TorchBlock(nn.Module):
    """One block for one sequence, its matrices behind a kernel."""

    def __init__(self, block: Block, kernel: Kernel) -> None:
        super().__init__()
        self.heads = block.attn.heads
        self.ln_1, self.ln_2 = block.ln_1, block.ln_2
        self.c_attn, self.attn_proj, self.c_fc, self.mlp_proj = (
            kernel(linear.weight.detach(), linear.bias.detach())
            for linear in (block.attn.c_attn, block.attn.c_proj, block.mlp.c_fc, block.mlp.c_proj)
        )

    def forward(self, x: Tensor, stored: Tensor, past: int, mask: Tensor | None) -> Tensor:
        """(T, D) to (T, D); stored is (2, 1, H, past + T, D/H)."""
        new, width = x.shape[0], x.shape[1]
        qkv = self.c_attn(self.ln_1(x)).view(1, new, 3, self.heads, -1)  # (1, T, 3, H, D/H)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)  # each (1, H, T, D/H)
        keys, values = stored.unbind(0)  # each (1, H, past + T, D/H)
        keys[:, :, past:] = k
        values[:, :, past:] = v
        y = F.scaled_dot_product_attention(q, keys, values, mask)  # (1, H, T, D/H)
        x = x + self.attn_proj(y.transpose(1, 2).reshape(new, width))
        x = x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))
        return x


class TorchStep(nn.Module):
    """The forward pass for one sequence, written for TorchScript.

    Args:
        model: the weights, which are shared or packed.
        kernel: multiplies by its matrices.
    """

    def __init__(self, model: GPT, kernel: Kernel) -> None:
        super().__init__()
        self.embeddings = model.wte.weight.detach()  # (V, D)
        self.positions = model.wpe.weight.detach()  # (C, D)
        self.blocks = nn.ModuleList(
            _TorchBlock(block, kernel) for block in model.h if isinstance(block, Block)
        )
        self.ln_f = model.ln_f
        self.head = kernel(self.embeddings, torch.zeros(model.config.vocabulary))

    def forward(self, tokens: Tensor, cache: Tensor, past: int) -> Tensor:
        """(T,) ids and the (L, 2, 1, H, C, D/H) cache to (T, V)."""
        end = past + tokens.shape[0]
        x = F.embedding(tokens, self.embeddings) + self.positions[past:end]  # (T, D)
        mask: Tensor | None = None
        if tokens.shape[0] > 1:
            mask = torch.full([tokens.shape[0], end], -float("inf")).triu_(past + 1)
        stored = cache[:, :, :, :, :end].unbind(0)  # each (2, 1, H, past + T, D/H)
        for layer, block in enumerate(self.blocks):
            x = block(x, stored[layer], past, mask)
        logits: Tensor = self.head(self.ln_f(x))
        return logits


def _torch_step(model: GPT, kernel: Kernel) -> Step:
    """A compiled ``TorchStep`` that takes and gives NumPy arrays."""
    module: Callable[[Tensor, Tensor, int], Tensor] = TorchStep(model, kernel).eval()
    with warnings.catch_warnings():
        # deprecated in favor of compilers that need C++ on the reader's machine
        warnings.simplefilter("ignore")
        # a torch without TorchScript runs the same module, more slowly
        with contextlib.suppress(AttributeError, RuntimeError):
            module = torch.jit.script(module)

    @torch.inference_mode()
    def step(tokens: Sequence[int], cache: Array, past: int) -> Array:
        stored = torch.from_numpy(cache).unsqueeze(2)  # (L, 2, 1, H, C, D/H)
        logits: Array = module(torch.tensor(tokens), stored, past).numpy()  # (T, V)
        return logits

    return step
