"""Imports aiohttp without what the router has no use for, before anything else of the router is imported.

aiohttp builds the TLS contexts of its client as it is imported, and each reads the machine's whole list of
authorities: a fifth of the router's start. The router uses aiohttp's server alone (`router.connection` speaks to
decoders, and reads the list where a decoder is https), so the list is left unread for that moment.
"""

from __future__ import annotations

import gc
import os

_LIST = "SSL_CERT_FILE"


def _import_aiohttp() -> None:
    given = os.environ.get(_LIST)
    os.environ[_LIST] = os.devnull
    try:
        import aiohttp.web  # noqa: F401
    finally:
        del os.environ[_LIST]
        if given is not None:
            os.environ[_LIST] = given


# What modules are made of lives as long as the router: to look for garbage in it is time lost.
gc.disable()
_import_aiohttp()
