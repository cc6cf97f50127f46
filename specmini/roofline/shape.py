"""The shape of a model: how many weights it has, which of them a token meets, what it caches.

Two kinds of attention are known. Grouped-query attention (Llama, Qwen; one group per head is
GPT-2's) caches a key and a value for each KV head. Multi-head latent attention (DeepSeek-V2,
arXiv 2405.04434) caches one compressed vector and one rotated key for all heads; decoding kernels
attend to those directly, by multiplying the up-projection into the query and the output, which
costs each new token the same products as projecting it and no products at all for the past.
"""

from __future__ import annotations

import datetime
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from specmini import checks
from specmini.roofline.experts import Experts

__all__ = ["LatentAttention", "Model"]


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention, source: DeepSeek-V2, arXiv 2405.04434, section 2.1.

    Attributes:
        rank: width of the compressed keys and values that the cache holds.
        rope_dim: width of the rotated key that all heads share, cached beside them; the last
            ``rope_dim`` of the model's ``head_dim``.
        value_dim: width of a head's value.
        query_rank: width of the compressed query; ``None`` where queries are not compressed.

    Raises:
        ValueError: a size is not a whole number of at least 1.
    """

    rank: int
    rope_dim: int
    value_dim: int
    query_rank: int | None = None

    def __post_init__(self) -> None:
        sizes = ("rank", "rope_dim", "value_dim")
        for size in sizes if self.query_rank is None else (*sizes, "query_rank"):
            checked = checks.whole_number(size, getattr(self, size), minimum=1)
            object.__setattr__(self, size, checks.single(size, checked))


class AttentionLayers(NamedTuple):
    """Layers that attend alike: how many, and how far back (``None``: to the beginning)."""

    number: int
    window: int | None


@dataclass(frozen=True)
class Model:
    """Shape of a decoder.

    Attributes:
        name: as a reader knows it.
        layers: transformer blocks.
        hidden: width of the residual stream.
        intermediate: width inside the MLP of a dense layer.
        heads: query heads; a multiple of ``kv_heads``.
        kv_heads: key (and value) heads; 1 with latent attention, whose heads share one vector.
        head_dim: width of a head's query; ``heads * head_dim`` need not equal ``hidden``.
        vocabulary: rows of the embedding table, padding included.
        tied_embeddings: the output head is the input embedding table.
        source: where the shape comes from.
        checked_on: the day it was last read there.
        qkv_bias: the query, key and value projections have biases (Qwen2.5).
        qk_norm: each query and key head is normalized (Qwen3).
        gated_mlp: the MLP has a gate, so three matrices (Llama); without one two (GPT-2).
        biases: every matrix inside the blocks has a bias (GPT-2, gpt-oss); includes ``qkv_bias``.
        norm_biases: norms have a bias beside their weight (GPT-2).
        positions: rows of a learned position table, 0 for none (GPT-2 has one).
        sinks: each head has one number more in its softmax (gpt-oss).
        windowed_layers: layers that attend to the last ``window`` positions only.
        window: that number, the new token included; ``None`` if no layer does.
        fused_states: states of width ``hidden`` that a matrix turns into one before the first
            layer, 0 for no such matrix; an EAGLE head fuses 2.
        latent: multi-head latent attention instead of grouped-query attention.
        experts: mixture of experts instead of a dense MLP.

    Raises:
        ValueError: a size is not a whole number in its range, a switch is not a bool,
            ``heads`` is not a multiple of ``kv_heads``, more layers are windowed or dense than
            there are, or ``window`` is missing or superfluous.
    """

    name: str
    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied_embeddings: bool
    source: str
    checked_on: datetime.date
    qkv_bias: bool = False
    qk_norm: bool = False
    _: KW_ONLY
    gated_mlp: bool = True
    biases: bool = False
    norm_biases: bool = False
    positions: int = 0
    sinks: bool = False
    windowed_layers: int = 0
    window: int | None = None
    fused_states: int = 0
    latent: LatentAttention | None = None
    experts: Experts | None = None

    def __post_init__(self) -> None:
        sizes = ("layers", "hidden", "intermediate", "heads", "kv_heads", "head_dim", "vocabulary")
        minimum = {**dict.fromkeys(sizes, 1), "positions": 0, "windowed_layers": 0}
        minimum["fused_states"] = 0
        if self.window is not None:
            minimum["window"] = 1
        for size, least in minimum.items():
            checked = checks.whole_number(size, getattr(self, size), minimum=least)
            object.__setattr__(self, size, checks.single(size, checked))
        switches = ("tied_embeddings", "qkv_bias", "qk_norm", "gated_mlp", "biases", "norm_biases")
        for switch in (*switches, "sinks"):
            checks.switch(switch, getattr(self, switch))
        self._require_a_possible_shape()

    def _require_a_possible_shape(self) -> None:
        if self.latent and self.kv_heads != 1:
            raise ValueError(f"kv_heads must be 1 with latent attention, got {self.kv_heads}")
        if self.latent and self.latent.rope_dim >= self.head_dim:
            raise ValueError(
                f"head_dim must exceed latent.rope_dim (= {self.latent.rope_dim}), "
                f"got {self.head_dim}"
            )
        if self.heads % self.kv_heads:
            raise ValueError(
                f"heads must be a multiple of kv_heads (= {self.kv_heads}), got {self.heads}"
            )
        if not self.windowed_layers <= self.layers:
            raise ValueError(
                f"windowed_layers must be a whole number in [0, {self.layers}], "
                f"got {self.windowed_layers}"
            )
        if (self.window is None) != (self.windowed_layers == 0):
            raise ValueError(
                "window must be a whole number of at least 1 with windowed layers and None "
                f"without, got {self.window!r} with {self.windowed_layers}"
            )
        if self.experts and self.experts.dense_layers >= self.layers:
            raise ValueError(
                f"experts.dense_layers must be a whole number in [0, {self.layers - 1}], "
                f"got {self.experts.dense_layers}"
            )

    @property
    def parameters(self) -> int:
        """Parameters of the whole model; a tied table counts once."""
        block = self._attention_parameters + 2 * self._norm(self.hidden)
        sparse = self.expert_layers * self._sparse_parameters
        dense = (self.layers - self.expert_layers) * self._mlp(self.intermediate)
        tables = self._table if self.tied_embeddings else 2 * self._table
        rest = self._norm(self.hidden) + tables + self.positions * self.hidden
        return self.layers * block + dense + sparse + rest + self.fused_states * self.hidden**2

    @property
    def active_parameters(self) -> int:
        """Parameters that one token has to do with: all but the experts it does not visit."""
        if self.experts is None:
            return self.parameters
        idle = self.experts.count - self.experts.per_token
        return self.parameters - self.expert_layers * idle * self.expert_parameters

    @property
    def matmul_parameters(self) -> int:
        """Parameters that a token is multiplied with; in a dense model also what one pass reads.

        The active ones but for tables that are only looked up: an input embedding table of its own
        and learned positions. A tied table counts, since it is the output head. Norms and biases
        are included although they are not matrices: at most 0.1 % of the total in the catalog,
        GPT-2 aside.
        """
        looked_up = 0 if self.tied_embeddings else self._table
        return self.active_parameters - looked_up - self.positions * self.hidden

    @property
    def expert_layers(self) -> int:
        """Layers with experts."""
        return self.layers - self.experts.dense_layers if self.experts else 0

    @property
    def expert_parameters(self) -> int:
        """Parameters of one routed expert in one layer; 0 for a dense model."""
        return self._mlp(self.experts.width) if self.experts else 0

    @property
    def replicated_parameters(self) -> int:
        """Those matrices of a pass that tensor parallelism leaves whole on every device.

        Routers, and latent attention's projections down to its compressed vectors: neither has a
        head or a column to divide by. Norms are left out.
        """
        down = 0
        if self.latent:
            compressed = self.latent.rank + self.latent.rope_dim + (self.latent.query_rank or 0)
            down = self.layers * self.hidden * compressed
        routers = self.expert_layers * self.hidden * (self.experts.count if self.experts else 0)
        return down + routers

    @property
    def kv_values_per_layer(self) -> int:
        """Numbers that one layer's cache holds for one position."""
        if self.latent:
            return self.latent.rank + self.latent.rope_dim
        return 2 * self.kv_heads * self.head_dim

    @property
    def kv_values_per_token(self) -> int:
        """Numbers that the cache holds for one position while no window is full."""
        return self.layers * self.kv_values_per_layer

    @property
    def flops_per_attended(self) -> int:
        """Operations in one layer's attention for one new token and one position it attends to.

        Two for each product of the score and two for each of the weighted sum. Latent attention
        scores ``rank + rope_dim`` numbers and sums ``rank``, in every head.
        """
        if self.latent:
            return 2 * self.heads * (2 * self.latent.rank + self.latent.rope_dim)
        return 4 * self.heads * self.head_dim

    @property
    def attention_layers(self) -> tuple[AttentionLayers, ...]:
        """Layers by how far back they attend."""
        whole = AttentionLayers(self.layers - self.windowed_layers, None)
        windowed = AttentionLayers(self.windowed_layers, self.window)
        return tuple(layers for layers in (whole, windowed) if layers.number)

    def weight_bytes(self, bytes_per_weight: ArrayLike = 2) -> NDArray[np.float64]:
        """Bytes of weights that a pass over one token reads.

        Args:
            bytes_per_weight: bytes a stored weight takes, any shape.

        Returns:
            ``matmul_parameters * bytes_per_weight``, same shape. A dense model reads no more in
            any other pass.

        Raises:
            ValueError: ``bytes_per_weight`` is not positive and finite.
        """
        per_weight = checks.positive("bytes_per_weight", bytes_per_weight)
        return np.multiply(per_weight, self.matmul_parameters)

    @property
    def _table(self) -> int:
        return self.vocabulary * self.hidden

    def _norm(self, width: int) -> int:
        return 2 * width if self.norm_biases else width

    def _mlp(self, width: int) -> int:
        into = 2 if self.gated_mlp else 1
        bias = into * width + self.hidden if self.biases else 0
        return (into + 1) * self.hidden * width + bias

    @property
    def _sparse_parameters(self) -> int:
        if self.experts is None:
            return 0
        experts = self.experts
        router = (self.hidden + (1 if experts.router_bias else 0)) * experts.count
        shared = self._mlp(experts.shared_width) if experts.shared_width else 0
        gate = self.hidden if experts.shared_gate else 0
        return router + shared + gate + experts.count * self.expert_parameters

    @property
    def _attention_parameters(self) -> int:
        if self.latent:
            return self._latent_parameters
        query = self.heads * self.head_dim
        keys_and_values = 2 * self.kv_heads * self.head_dim
        matrices = self.hidden * (query + keys_and_values) + query * self.hidden
        bias = query + keys_and_values if self.qkv_bias or self.biases else 0
        bias += self.hidden if self.biases else 0
        norms = 2 * self.head_dim if self.qk_norm else 0
        return matrices + bias + norms + (self.heads if self.sinks else 0)

    @property
    def _latent_parameters(self) -> int:
        latent = self.latent
        assert latent is not None
        plain_dim = self.head_dim - latent.rope_dim
        query = self.heads * self.head_dim
        if latent.query_rank is None:
            queries = self.hidden * query
        else:
            queries = latent.query_rank * (self.hidden + query) + self._norm(latent.query_rank)
        down = self.hidden * (latent.rank + latent.rope_dim) + self._norm(latent.rank)
        up = latent.rank * self.heads * (plain_dim + latent.value_dim)
        return queries + down + up + self.heads * latent.value_dim * self.hidden
