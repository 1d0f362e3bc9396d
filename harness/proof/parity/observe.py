"""Asks a real server for traces: each prompt cold, and once more from the warm slot as the control."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from harness.errors import HarnessError
from harness.proof.parity.prompts import Prompt
from harness.proof.parity.trace import Trace, read

CANDIDATES = 5
REQUEST_S = 300.0


@dataclass(frozen=True, slots=True)
class Asked:
    """One prompt on one build."""

    prompt: tuple[int, ...]
    cold: Trace
    warm: Trace


@dataclass(frozen=True, slots=True)
class Decoder:
    """A server that answers. Slot 0 is the one that is asked."""

    http: aiohttp.ClientSession
    url: str

    async def ids(self, prompt: Prompt) -> tuple[int, ...]:
        """Token ids of a prompt, by this server's own tokenizer."""
        if not isinstance(prompt, str):
            return prompt
        asked = {"content": prompt, "add_special": True, "parse_special": True}
        return tuple(int(token) for token in (await self._post("/tokenize", asked))["tokens"])

    async def both(self, prompt: Sequence[int], n_predict: int) -> Asked:
        cold = await self.trace(prompt, n_predict, reuse=False)
        return Asked(tuple(prompt), cold, await self.trace(prompt, n_predict, reuse=True))

    async def trace(self, prompt: Sequence[int], n_predict: int, *, reuse: bool, slot: int = 0) -> Trace:
        body = {
            "prompt": list(prompt),
            "n_predict": n_predict,
            "temperature": 0,
            "id_slot": slot,
            "cache_prompt": reuse,
            "n_probs": CANDIDATES,
        }
        told = await self._post("/completion", body)
        try:
            return read(told)
        except (KeyError, TypeError, ValueError) as error:
            raise HarnessError(f"{self.url} answered a completion without its candidates: {error!r}") from None

    async def slot(self, action: str, file: Path, slot: int = 0) -> Mapping[str, Any]:
        """Save or restore; the server knows the folder, so only the name is sent."""
        return await self._post(f"/slots/{slot}?action={action}", {"filename": file.name})

    async def _post(self, path: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(REQUEST_S), self.http.post(self.url + path, json=body) as response:
                told = await response.json()
                if response.status != 200:
                    raise HarnessError(f"{self.url}{path} answered {response.status}: {str(told)[:300]}")
                return dict(told)
        except TimeoutError:
            raise HarnessError(f"waited {REQUEST_S:g} s for {self.url}{path}") from None
        except (aiohttp.ClientError, ValueError) as error:
            raise HarnessError(f"{self.url}{path}: {type(error).__name__}: {error}") from None
