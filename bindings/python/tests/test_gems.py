"""Gems equal the recorded outputs, and those of the program."""

import hashlib
import os
import re
import subprocess
import threading
import time
import unittest
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import lapidary

from .golden import CORPUS, json_lines, numbered, rows, text

EXACT = ["documented", "released"]
WEIGHED = re.compile(r"^(tf-idf|tf-ridf|tf-idfopt|heavy-sent|i-match|key-words)(;|$)|^set.*df=")


class Golden(unittest.TestCase):
    """Cases: what, what it is, what it should be."""

    def none_differ(self, cases: Iterator[tuple[str, Any, Any]]) -> None:
        count = 0
        for what, found, expected in cases:
            self.assertEqual(found, expected, what[:200])
            count += 1
        self.assertGreater(count, 0)

    def test_folds(self) -> None:
        cases = list(json_lines("fold.jsonl.gz"))
        for name in EXACT:
            recipe = lapidary.Recipe(name)
            self.none_differ((case["text"], recipe.fold(case["text"]), case[name]) for case in cases)

    def test_gems_of_texts(self) -> None:
        cases = list(json_lines("gems.jsonl.gz"))
        for name in EXACT:
            recipe = lapidary.Recipe(name)
            self.none_differ(
                (case["text"], (recipe.fold(case["text"]), recipe.gems(case["text"])), (case[name]["digits"], case[name]["gems"]))
                for case in cases
            )

    def test_code_points(self) -> None:
        for name in EXACT:
            recipe = lapidary.Recipe(name)

            def folds(code: str) -> list[str]:
                c = chr(int(code, 16))
                return [recipe.fold(text) for text in (f"{c}aaaaaa", f"bagala{c}madara", f"aaaaaa{c} bagala", c * 7)]

            self.none_differ((code, folds(code), expected) for code, *expected in rows(f"codepoints.{name}.tsv.gz"))

    def test_hardened(self) -> None:
        russian, english = text("hardened.ru.txt"), text("hardened.en.txt")
        texts = [russian, english, f"{russian}\n\n{english} " * 40, numbered()]

        def summary(number: str, recipe: str) -> list[str]:
            gems = [str(gem) for gem in lapidary.gems(texts[int(number)], recipe, clean=False)]
            total = reduce(lambda sum, gem: ((sum << 5 | sum >> 59) % 2**64) ^ int(gem, 16), gems, 0)
            return [str(len(gems)), f"{total:016x}", ",".join(gems[:4])]

        self.none_differ((f"{number} {name}", summary(number, name), expected) for number, name, *expected in rows("hardened.tsv"))

    def test_signatures(self) -> None:
        lexicon = text("signatures.lexicon.tsv")
        cases = list(json_lines("signatures.jsonl.gz"))

        def named(case: dict[str, Any]) -> str:
            written = ((name, str(value).lower() if isinstance(value, bool) else value) for name, value in case["params"].items())
            return ";".join([case["method"], *(f"{name}={value}" for name, value in written)])

        def signature(case: dict[str, Any]) -> tuple[list[str], list[str]]:
            recipe = lapidary.Recipe(named(case), lexicon=lexicon if case.get("lexicon") else None)
            return recipe.fold(case["text"]).split("\n"), [str(gem) for gem in recipe.gems(case["text"])]

        methods = [case for case in cases if case.get("strings")]
        self.none_differ((case["text"], signature(case), (case["strings"], case["signature"])) for case in methods)
        words = [case for case in cases if case["method"] == "words"]
        self.none_differ((case["text"], lapidary.fold(case["text"], "sum"), " ".join(case["signature"])) for case in words)
        self.none_differ(
            (word, lapidary.fold(word, f"tf;min_len=1;stem=snowball:{language};stop=none"), stem)
            for language, word, stem in rows("signatures.stems.tsv")[1:]
        )

    @unittest.skipUnless(CORPUS.exists(), "needs the corpus")
    def test_books(self) -> None:
        def sha256(text: str) -> str:
            return hashlib.sha256(text.encode()).hexdigest()

        def book(name: str) -> str:
            return (CORPUS / name).read_bytes().decode()

        for name in EXACT:
            recipe = lapidary.Recipe(name)
            for file, *expected in rows(f"books.{name}.tsv"):
                digits, gems = recipe.fold(book(file)), [str(gem) for gem in recipe.gems(book(file))]
                found = [str(len(digits.encode())), sha256(digits), str(len(gems)), sha256(",".join(gems))]
                self.assertEqual(found, expected, file)
        # Signatures that need the lexicon of all books are tested in Rust.
        for case in json_lines("signatures.jsonl.gz"):
            if case["method"] != "*":
                continue
            for name in (name for name in case["signature"] if "@" not in name and not WEIGHED.search(name)):
                gems = [str(gem) for gem in lapidary.gems(book(case["book"]), name)]
                hashed = (len(gems), sha256(",".join(gems))[:32])
                self.assertEqual(hashed, (case["gems"][name], case["signature"][name]), f"{case['book']} {name}")

    @unittest.skipUnless(CORPUS.exists(), "needs the corpus")
    def test_gems_are_those_of_the_program(self) -> None:
        for folder in sorted(folder for folder in CORPUS.iterdir() if folder.is_dir()):
            book = sorted(folder.glob("*.txt"))[0]
            for recipe in [*lapidary.recipes(), "tf", "winnow"]:
                printed = subprocess.check_output([os.environ["LAPIDARY"], "gems", "--recipe", recipe, book], text=True)
                gems = lapidary.gems(book.read_bytes().decode(), recipe)
                self.assertTrue(gems)
                self.assertEqual(",".join(map(str, gems)), printed.strip(), f"{recipe} of {book}")


class Functions(unittest.TestCase):
    def test_places_are_bytes_of_the_text(self) -> None:
        written = numbered()
        placed = lapidary.places(written)
        self.assertEqual([gem for gem, _ in placed], lapidary.gems(written))
        for _, place in placed:
            assert place is not None
            passage = written.encode()[place.start : place.end].decode()
            self.assertIn(passage, written)
            self.assertGreater(len(passage), 10)
        self.assertEqual({place for _, place in lapidary.places(written, "tf")}, {None})

    def test_a_query_has_more_gems_than_the_text(self) -> None:
        written = numbered()
        query = lapidary.query(written)
        indexed = {(query.gems[at], query.places[at]) for at in query.indexed}
        placed = {(gem, place) for gem, place in lapidary.places(written)}
        self.assertGreater(len(query.gems), 2 * len(indexed))
        self.assertEqual(len(query.places), len(query.gems))
        self.assertGreater(len(indexed & placed), 0.9 * len(placed))
        exact = lapidary.query(written, "released")
        self.assertEqual(exact.gems, lapidary.gems(written, "released"))
        self.assertTrue(all(isinstance(gem, int) for gem in exact.gems))

    def test_print_artifacts(self) -> None:
        printed = "The trea\u00adsure lay in o\ufb03ce mar-\nble. "
        plain = "The treasure lay in office marble."
        self.assertEqual(lapidary.fold(printed), lapidary.fold(plain))
        self.assertEqual(lapidary.fold(printed, "released", clean=True), lapidary.fold(plain, "released"))
        self.assertNotEqual(lapidary.fold(printed, "released"), lapidary.fold(plain, "released"))

    def test_refusals(self) -> None:
        refused: list[tuple[Callable[[], object], str]] = [
            (lambda: lapidary.gems("text", "hard"), "there is no recipe 'hard'"),
            (lambda: lapidary.gems("text", "hardened@0123abcd"), "there is no recipe"),
            (lambda: lapidary.gems("text", "tf-idf"), "lexicon"),
            (lambda: lapidary.Recipe("tf-idf", lexicon="no lexicon"), "line 1"),
            (lambda: lapidary.gems("\ufdfa" * 10_000), "more characters than bytes"),
            (lambda: lapidary.gems("\ud800"), "surrogates"),
        ]
        for call, why in refused:
            with self.assertRaisesRegex(ValueError, why):
                call()
        self.assertEqual(lapidary.gems(""), [])
        self.assertEqual(lapidary.Recipe("winnow;k=5").name, "winnow;k=5")

    def test_other_threads_run_meanwhile(self) -> None:
        recipe = lapidary.Recipe()
        written = numbered() * 100
        turns: list[float] = []
        ended = threading.Event()

        def count() -> None:
            while not ended.wait(0.001):
                turns.append(time.monotonic())

        counting = threading.Thread(target=count)
        counting.start()
        begun = time.monotonic()
        recipe.gems(written)
        took = time.monotonic() - begun
        ended.set()
        counting.join()
        self.assertTrue([turn for turn in turns if took / 4 < turn - begun < took * 3 / 4], f"of {len(turns)} turns in {took} s")
