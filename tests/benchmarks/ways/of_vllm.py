"""vLLM on exported folders, as ways of decoding; each setting has a process and an engine there.

Counters are the engine's own. One defect of the pinned version on CPUs can be mended in the
running process: see ``mend``.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ways import Decode

__all__ = ["Served"]

ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # one thread, like everybody here
    "OMP_NUM_THREADS": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # the engine in this process, so that it can be mended
    "VLLM_LOGGING_LEVEL": "ERROR",
}
COUNTERS = ("drafts", "draft_tokens", "accepted_tokens", "accepted_tokens_per_pos")

_engine: list[Any] = []  # of a process that serves


class Served:
    """An engine in a process of its own.

    Args:
        target: folder of the target.
        speculation: its ``speculative_config``; None decodes plainly.
        context: most tokens of a request.
    """

    def __init__(self, target: Path, speculation: dict[str, Any] | None, context: int) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(1, spawning, _start, (str(target), speculation, context))

    def decode(self, new_tokens: int, temperature: float) -> Decode:
        """A way of decoding with this engine."""

        def decode(prompt: Sequence[int]) -> list[int]:
            return self._pool.submit(_write, list(prompt), new_tokens, temperature).result()

        return decode

    def counters(self) -> NDArray[np.int64]:
        """Rounds, tokens drafted, accepted, and rounds that accepted at least 1, ..., K tokens."""
        return np.array(self._pool.submit(_counters).result())

    def mend(self) -> None:
        """Let the temperature of a request reach all its drafted tokens.

        vLLM 0.32.0 on a CPU writes the expanded temperatures into a copy that is thrown away, so
        the logits of drafted positions are divided by whatever the memory held
        (github.com/vllm-project/vllm/issues/55005).
        """
        self._pool.submit(_mend).result()

    def stop(self) -> None:
        """End the process."""
        self._pool.shutdown()


def _start(target: str, speculation: dict[str, Any] | None, context: int) -> None:
    os.environ.update(ENVIRONMENT)
    from vllm import LLM

    _engine.append(
        LLM(
            target,
            dtype="float32",
            max_model_len=context,
            max_num_seqs=1,
            enforce_eager=True,
            enable_prefix_caching=False,
            speculative_config=speculation,
            disable_log_stats=False,
            seed=0,
        )
    )


def _write(prompt: list[int], new_tokens: int, temperature: float) -> list[int]:
    from vllm import SamplingParams

    sampling = SamplingParams(temperature=temperature, max_tokens=new_tokens, ignore_eos=True,
                              detokenize=False)  # fmt: skip
    [answer] = _engine[0].generate({"prompt_token_ids": prompt}, sampling, use_tqdm=False)
    return list(answer.outputs[0].token_ids)


def _counters() -> list[int]:
    found = {one.name: one for one in _engine[0].get_metrics()}
    rounds, drafted, accepted, by_position = (
        found[f"vllm:spec_decode_num_{name}"] for name in COUNTERS
    )
    return [rounds.value, drafted.value, accepted.value, *by_position.values]


def _mend() -> None:
    import torch
    from vllm.v1.sample import rejection_sampler

    def expand(x, cu_num_tokens, num_tokens, replace_from=0, replace_to=0):
        values = torch.where(x == replace_from, replace_to, x).to(x.dtype)
        lengths = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1))
        return values.repeat_interleave(lengths)

    rejection_sampler.expand_batch_to_tokens = expand
