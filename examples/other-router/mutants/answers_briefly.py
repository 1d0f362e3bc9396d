"""One token is asked for, however many the client wanted."""

import json
import sys
import urllib.request
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import router

SUITES = ("handoff",)


class Brief(urllib.request.Request):
    """A request whose body asks for one token."""

    def __init__(self, url: str, data: bytes, headers: dict[str, str], **more: Any) -> None:
        body = json.loads(data)
        if "max_tokens" in body:
            data = json.dumps(body | {"max_tokens": 1}).encode()
        super().__init__(url, data, headers, **more)


if __name__ == "__main__":
    router.urllib.request.Request = Brief
    sys.exit(router.main())
