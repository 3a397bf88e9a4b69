"""A server to test with."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Self

PROGRAM = os.environ["LAPIDARY"]


def prose(seed: int, words: int = 4_000) -> str:
    """A made-up book."""
    made = random.Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return " ".join("".join(made.choices(letters, k=made.randint(2, 9))) for _ in range(words))


class Server:
    """A running server with an empty catalogue."""

    def __init__(self, *options: str) -> None:
        self._options = options
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name)

    def __enter__(self) -> Self:
        data = ["--data", str(self.path / "catalogue")]
        made = subprocess.run([PROGRAM, "keys", "add", *data, "--role", "admin", "python"], check=True, capture_output=True, text=True)
        self.key = made.stdout.split()[-1]
        command = [PROGRAM, "serve", *data, "--listen", "127.0.0.1:0", *self._options]
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.url = self._address()
        return self

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                return found[0]
        raise AssertionError(f"the server ended with status {self._process.wait()}")

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate()
        self._folder.cleanup()
