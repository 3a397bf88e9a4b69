#!/usr/bin/env python3
"""A detector to compare with a recipe: `lapidary evaluate --detector 'python3 examples/minhash.py'`.

Uses FracMinHash (Irber et al. 2022). All runs of five words are hashed, and the hashes below a bound form the sketch of
the text. A book matches if the two sketches share at least three hashes, and at least 5 % of the smaller one.

Reads JSON Lines: {"add": 17, "text": "..."} for each book, then {"check": "..."} for each check. Answers each check with
a line of matching books, such as [17, 4].
"""
import json
import re
import sys
import zlib
from collections import Counter, defaultdict

RUN, KEPT, COMMON, SHARE = 5, 1 / 200, 3, 0.05


def sketch(text):
    words = re.findall(r"\w+", text.lower())
    runs = (" ".join(words[i : i + RUN]) for i in range(len(words) - RUN + 1))
    return {hashed for hashed in (zlib.crc32(run.encode()) for run in runs) if hashed < KEPT * 2**32}


books_with, sizes = defaultdict(list), {}
for line in sys.stdin:
    asked = json.loads(line)
    if "add" in asked:
        hashes = sketch(asked["text"])
        sizes[asked["add"]] = len(hashes)
        for hashed in hashes:
            books_with[hashed].append(asked["add"])
    else:
        hashes = sketch(asked["check"])
        shared = Counter(book for hashed in hashes for book in books_with.get(hashed, ()))
        matches = [
            book for book, count in shared.items() if count >= COMMON and count >= SHARE * min(len(hashes), sizes[book])
        ]
        print(json.dumps(sorted(matches)), flush=True)
