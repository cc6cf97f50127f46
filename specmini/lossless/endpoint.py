"""A server with the OpenAI completions interface, on the reader's own host, as an engine.

What is sent is the prompt and the sampling settings, to the address given and nowhere else: no
proxy is used, a redirect is an error, and an address that is not of this computer is refused unless
``remote`` says that it is meant. What is read back are the tokens, not the text, since two
tokenizations of a text are different outcomes. Servers give them in three forms, all understood
here: ``logprobs.tokens`` (OpenAI's completions, so vLLM and SGLang), ``logprobs.content``
(llama.cpp), or ``token_ids`` (vLLM with ``return_token_ids`` among the ``fields``).
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import re
import urllib.error
import urllib.request
from collections.abc import Hashable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlsplit

from specmini import json_files
from specmini.checks import positive, single, whole_number
from specmini.lossless.counts import Text
from specmini.lossless.engine import Prompt
from specmini.sampling import Sampling, plain

__all__ = ["Endpoint"]

LARGEST = 64 * 2**20  # bytes of an answer; more is sent by no sound server


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is meant for one host goes to no other."""

    def redirect_request(
        self, req: Any, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        raise urllib.error.HTTPError(req.full_url, code, f"redirected to {newurl}", headers, fp)


@dataclass(frozen=True)
class Endpoint:
    """A server that answers POST requests at ``<address>/completions``.

    Attributes:
        address: such as http://localhost:8000/v1.
        model: name the server knows the model by; the first it lists if not given.
        sampling: sent as temperature, top_p and, if set, top_k, which is no field of OpenAI's.
        fields: further fields of a request, such as a server's switch for speculation; they
            replace ours of the same name.
        choices: continuations asked for in one request (``n``), at least 1.
        at_once: requests in flight together, at least 1.
        timeout: seconds to wait for an answer, above 0.
        remote: allow an address that is not of this computer.

    Raises:
        ValueError: an argument is out of range, the address is no http address, or it is remote
            and that is not allowed.
    """

    address: str
    model: str = ""
    sampling: Sampling = plain
    fields: Mapping[str, Any] = field(default_factory=dict)
    choices: int = 1
    at_once: int = 8
    timeout: float = 60.0
    remote: bool = False

    def __post_init__(self) -> None:
        for name in ("choices", "at_once"):
            single(name, whole_number(name, getattr(self, name), minimum=1))
        single("timeout", positive("timeout", self.timeout))
        try:
            parts = urlsplit(self.address)
            host, _ = parts.hostname, parts.port
        except ValueError:
            host = None
        written = self.address.isascii() and not re.search(r"\s", self.address)
        if not host or not written or parts.scheme not in ("http", "https"):
            raise ValueError(
                f"address must be such as http://localhost:8000/v1, got {self.address!r}"
            )
        if not self.remote and not _is_here(host):
            raise ValueError(
                f"address must be of this computer, such as http://localhost:8000/v1, unless "
                f"remote is allowed, got {self.address!r}"
            )

    @property
    def sends(self) -> str:
        """What goes where, in a sentence."""
        chosen = f"temperature {self.sampling.temperature:g}, top-p {self.sampling.top_p:g}"
        if self.sampling.top_k is not None:
            chosen += f", top-k {self.sampling.top_k}"
        if self.fields:
            chosen += f", {json.dumps(dict(self.fields))}"
        return f"the prompt, to {self._url('completions')}, with {chosen}"

    def write(self, prompt: Prompt, new_tokens: int, count: int) -> list[Text]:
        """See ``specmini.lossless.engine.Engine``.

        Raises:
            ValueError: the server does not answer, or not with tokens; the message says which.
        """
        model = self.model or self._first_model()
        sizes = [self.choices] * (count // self.choices)
        if count % self.choices:
            sizes.append(count % self.choices)

        def ask(size: int) -> list[Text]:
            body = {
                "model": model,
                "prompt": prompt if isinstance(prompt, str) else list(prompt),
                "max_tokens": new_tokens,
                "n": size,
                "temperature": self.sampling.temperature,
                "top_p": self.sampling.top_p,
                "logprobs": 1,
                **({} if self.sampling.top_k is None else {"top_k": self.sampling.top_k}),
                **self.fields,
            }
            choices = self._json("completions", body).get("choices")
            if not isinstance(choices, list) or len(choices) != size:
                raise ValueError(f"{self.address} must give {size} choices, got {choices!r:.200}")
            return [_tokens(choice, self.address) for choice in choices]

        with ThreadPoolExecutor(self.at_once) as pool:
            return [text for texts in pool.map(ask, sizes) for text in texts]

    def _first_model(self) -> str:
        listed = self._json("models").get("data")
        try:
            name = listed[0]["id"]  # type: ignore[index]
        except (TypeError, LookupError):
            raise ValueError(f"model must be given, {self.address} lists {listed!r:.200}") from None
        return str(name)

    def _json(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        request = urllib.request.Request(
            self._url(path),
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect)
        try:
            with opener.open(request, timeout=self.timeout) as answer:
                found = json_files.parsed("the answer", answer.read(LARGEST))
        except urllib.error.HTTPError as error:
            said = error.read(500).decode("utf-8", "replace").strip()
            raise ValueError(f"{self._url(path)} answered {error}: {said}") from None
        except (http.client.HTTPException, OSError, ValueError, RecursionError) as error:
            raise ValueError(f"{self._url(path)} gave no answer: {error}") from None
        if not isinstance(found, dict):
            raise ValueError(f"{self._url(path)} must answer with an object, got {found!r:.200}")
        return found

    def _url(self, path: str) -> str:
        return f"{self.address.rstrip('/')}/{path}"


def _is_here(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _tokens(choice: Any, address: str) -> Text:
    """The tokens of one continuation, in whichever form the server gives them."""
    found = choice if isinstance(choice, dict) else {}
    logprobs = found.get("logprobs")
    logprobs = logprobs if isinstance(logprobs, dict) else {}
    tokens: Any = found.get("token_ids") or logprobs.get("tokens")
    if tokens is None and isinstance(logprobs.get("content"), list):
        tokens = [
            one.get("id", one.get("token")) if isinstance(one, dict) else None
            for one in logprobs["content"]
        ]
    if not isinstance(tokens, list) or not all(
        isinstance(token, Hashable) and token is not None for token in tokens
    ):
        raise ValueError(
            f"{address} must give the tokens of a text, as logprobs.tokens, logprobs.content or "
            f"token_ids, got {found!r:.200}"
        )
    return tokens
