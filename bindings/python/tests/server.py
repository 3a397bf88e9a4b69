"""A server to test with."""

from __future__ import annotations

import os
import random
import re
import subprocess
import tempfile
import time
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
        # A file, because nobody reads a pipe while the tests run.
        self._log = self.path / "log"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(command, stderr=log)
        self.url = self._address()
        return self

    def _address(self) -> str:
        while self._process.poll() is None:
            if found := re.search(r"(http://127\.0\.0\.1:\d+)\n", self._log.read_text()):
                return found[1]
            time.sleep(0.01)
        raise AssertionError(self._log.read_text())

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()
        self._folder.cleanup()
