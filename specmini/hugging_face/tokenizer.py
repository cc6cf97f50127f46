"""Our tokenizer as the tokenizer.json that Hugging Face's ``tokenizers`` reads.

Theirs cuts text, then writes each byte as a printable character (as GPT-2 did), then merges. So
the pattern of ``specmini.tokenizer`` is stated once more for text: a byte outside ASCII is there a
character outside ASCII. For text both give the same ids; bytes that are no UTF-8 only ours reads.
"""

from __future__ import annotations

from typing import Any, Final

from specmini.tokenizer import Tokenizer

__all__ = ["END_OF_TEXT", "tokenizer_json"]

END_OF_TEXT: Final = "<|endoftext|>"

# \s would take in spaces outside ASCII, whose bytes are part of words here
_space: Final = r" \t\n\r\x0b\x0c"
_pattern: Final = "|".join(
    [
        r" ?(?:[A-Za-z_]|[^\x00-\x7F])+",
        r" ?[0-9]+",
        r" ?[\x00-\x08\x0e-\x1f!-/:-@\[-\^`{-\x7f]+",
        rf"[{_space}]+(?![^{_space}])",
        rf"[{_space}]+",
    ]
)


def tokenizer_json(tokenizer: Tokenizer) -> dict[str, Any]:
    """The content of a tokenizer.json that encodes text as a tokenizer does.

    Args:
        tokenizer: whose merges make different strings of bytes, which training sees to.

    Raises:
        ValueError: two ids have the same bytes, which a vocabulary by name cannot hold.
    """
    characters = _characters()
    names = [
        "".join(characters[byte] for byte in tokenizer.decode([token]))
        for token in range(tokenizer.end_of_text)
    ]
    if len(set(names)) != len(names):
        raise ValueError("tokenizer must have different bytes for each id, got the same for two")
    end = {
        "id": tokenizer.end_of_text,
        "content": END_OF_TEXT,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    to_bytes = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    cut = {
        "type": "Split",
        "pattern": {"Regex": _pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [end],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, to_bytes]},
        "post_processor": None,
        "decoder": to_bytes,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {name: token for token, name in enumerate(names)},
            "merges": [f"{names[left]} {names[right]}" for left, right in tokenizer.merges],
        },
    }


def _characters() -> list[str]:
    """A printable character for each byte, Latin-1 where it is one (Radford et al. 2019)."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (chr(0x100 + place) for place in range(256))
    return [chr(byte) if byte in printable else next(others) for byte in range(256)]
