"""Writes what follows from other files: python/lapidary/models.py, the types of docs/openapi.json; python/lapidary/_sync.py, which is
_async.py without `async`; and what the package is made of."""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE / "python/lapidary"
SYNC = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(Client|Iterator)\b", r"\1"),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\basyncio\b", "time"),
]
TYPED_DICTS = [
    "--output-model-type=typing.TypedDict",
    "--no-use-closed-typed-dict",
    "--target-python-version=3.11",
    "--enum-field-as-literal=all",
    "--use-schema-description",
    "--use-field-description",
    "--use-standard-collections",
    "--use-union-operator",
    "--formatters=builtin",
    "--disable-timestamp",
]


def models() -> None:
    command = [sys.executable, "-W", "ignore", "-m", "datamodel_code_generator", "--input-file-type=openapi", *TYPED_DICTS]
    subprocess.run([*command, f"--input={HERE / '../../docs/openapi.json'}", f"--output={PACKAGE / 'models.py'}"], check=True)


def sync() -> None:
    source = (PACKAGE / "_async.py").read_text()
    for written, instead in SYNC:
        source = re.sub(written, instead, source)
    (PACKAGE / "_sync.py").write_text(source)


def components() -> None:
    subprocess.run([HERE / "../../scripts/components", HERE, "lapidary-python"], check=True)


models()
sync()
components()
