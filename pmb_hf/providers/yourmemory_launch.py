"""Starts YourMemory's server with vectors from a service instead of a model to fetch.

A program of its own, run by path with the port and the service's address; it imports
nothing of this package. The server knows no setting for a service of vectors, so the
place where it keeps its model is filled before it starts.
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any


class RemoteModel:
    """What the server takes for its model: texts in, a vector out."""

    def __init__(self, url: str) -> None:
        """Ask the OpenAI-compatible service at ``url``."""
        self._url = url.rstrip("/") + "/embeddings"
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open

    def encode(self, text: str) -> Any:
        """The vector of one text, as an array."""
        import numpy as np

        body = json.dumps({"model": "local", "input": [text]}).encode()
        request = urllib.request.Request(  # noqa: S310 - the address of our own service
            self._url, body, {"content-type": "application/json"}
        )
        with self._open(request, timeout=60) as answer:
            vector = json.load(answer)["data"][0]["embedding"]
        return np.asarray(vector, dtype=np.float32)


def main(port: int, url: str) -> None:
    """Serve on ``port`` of loopback until told to stop."""
    import uvicorn
    from src.services import embed

    embed._model = RemoteModel(url)  # noqa: SLF001 - there is no other way in
    from src.app import app

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
