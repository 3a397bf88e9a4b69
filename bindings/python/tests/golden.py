"""Where the tests find files."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(os.environ["CHECKOUT"])
GOLDEN = ROOT / "crates/gems/tests/golden"
CORPUS = ROOT / "../shared/corpus"


def text(name: str) -> str:
    """A file of the golden folder."""
    path = GOLDEN / name
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return content.decode()


def rows(name: str) -> list[list[str]]:
    return [line.split("\t") for line in text(name).split("\n") if line]


def json_lines(name: str) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in text(name).split("\n") if line)


def numbered() -> str:
    """The long text without repetitions of the tests in Rust."""
    syllables = ["ба", "ре", "ко", "сти", "лу", "мно", "гра", "чё", "pa", "tro", "sil", "ven", "mur", "dek", "lo", "ghi"]
    state = 1
    words = []
    for _ in range(5_000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        script = 8 if state >> 63 else 0
        words.append("".join(syllables[script + (state >> (40 + 3 * at) & 7)] for at in range(4)) + " ")
    return "".join(words)
