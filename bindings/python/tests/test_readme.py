"""The examples of the README print what they say."""

import contextlib
import doctest
import os
import unittest
from pathlib import Path
from unittest import mock

from .server import Server, prose

README = Path(__file__).resolve().parent.parent / "README.md"


class Readme(unittest.TestCase):
    def test_examples(self) -> None:
        server = self.enterContext(Server())
        self.enterContext(mock.patch.dict(os.environ, LAPIDARY_KEY=server.key))
        self.enterContext(contextlib.chdir(server.path))
        Path("lighthouse.txt").write_text(prose(1))
        written = README.read_text().replace("http://127.0.0.1:8093", server.url).replace("```", "")
        examples = doctest.DocTestParser().get_doctest(written, {}, "README.md", str(README), 0)
        self.assertGreater(len(examples.examples), 10)
        failed, _ = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples)
        self.assertEqual(failed, 0)
