"""What requests carry."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

# Several lines are sent at once only if all of them fit into the buffers of a connection: the server stops reading while nobody reads its
# answers, and these are read only after everything was sent.
AT_ONCE = 64 * 1024


def path_of(*parts: str | int) -> str:
    """The path of these parts. Dots are escaped because `..` would be resolved, and slashes are parts of ids."""
    return "/v1/" + "/".join(quote(str(part), safe="").replace(".", "%2E") for part in parts)


def given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a query, without those that are not given."""
    return {name: value for name, value in parameters.items() if value is not None}


def conditions(if_match: str | None, if_none_match: str | None) -> dict[str, str]:
    return given({"if-match": if_match, "if-none-match": if_none_match})


def once() -> dict[str, str]:
    """Names a request, so that the server does what it asks for once if it is sent again."""
    return {"idempotency-key": str(uuid.uuid4())}


def content(file: bytes | Path) -> bytes:
    return file if isinstance(file, bytes) else file.read_bytes()


def file_body(file: bytes | Path) -> dict[str, Any]:
    return {"content": content(file), "headers": {"content-type": "application/octet-stream"}}


def pieces(entries: Iterable[Mapping[str, Any]]) -> Iterator[list[bytes]]:
    """Lines of JSON, as many at a time as can be sent at once."""
    piece: list[bytes] = []
    size = 0
    for entry in entries:
        line = json.dumps(entry, ensure_ascii=False).encode() + b"\n"
        if piece and size + len(line) > AT_ONCE:
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    if piece:
        yield piece
