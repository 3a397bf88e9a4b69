"""Uses PyPI's client of ClamAV's daemon, and `clamdscan` where it is installed, to look for copies of a book."""

import io
import pathlib
import shutil
import subprocess
import sys

import clamd

socket, book = sys.argv[1:]
client = clamd.ClamdUnixSocket(socket)
assert client.ping() == "PONG"
assert client.version().startswith("Lapidary "), client.version()


def check(content):
    return client.instream(io.BytesIO(content))["stream"]


copy = pathlib.Path(book).read_bytes()
assert check(copy) == ("FOUND", "Lapidary.Protected"), check(copy)
assert check(b"\xff\xd8\xff\xe0\0\x10JFIF\0") == ("OK", None)
assert check(b"") == ("OK", None)
assert check(b"PK\x03\x04 and no more") == ("ERROR", "damaged")
try:
    raise AssertionError(check(b"a" * (65 << 20)))
except clamd.BufferTooLongError:
    pass
refused = client.scan(book)
assert refused == {book: ("ERROR", "Only files sent with INSTREAM are checked.")}, refused

if program := shutil.which("clamdscan"):
    pathlib.Path("clamd.conf").write_text(f"LocalSocket {socket}\n")
    pathlib.Path("other.txt").write_text("A few words.")
    command = [program, "--config-file=clamd.conf", "--stream", "--no-summary"]
    found = subprocess.run([*command, book], capture_output=True, text=True)
    assert found.returncode == 1 and found.stdout.endswith(": Lapidary.Protected FOUND\n"), found
    clean = subprocess.run([*command, "other.txt"], capture_output=True, text=True)
    assert clean.returncode == 0 and clean.stdout.endswith("other.txt: OK\n"), clean
print("clients of ClamAV work")
