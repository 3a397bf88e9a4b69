"""The client, against a server."""

import asyncio
import http.server
import os
import queue
import threading
import unittest
from collections.abc import Callable
from unittest import mock

import httpx

import lapidary
from lapidary import ApiError, AsyncClient, Client, models

from .server import Server, prose


class OfServer(unittest.TestCase):
    """Tests that share a server, each with a library of its own."""

    server: Server
    client: Client

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = cls.enterClassContext(Server("--private-webhooks"))
        cls.client = cls.enterClassContext(Client(cls.server.url, cls.server.key))

    def put(self, id: str, seed: int) -> models.Added:
        return self.client.put_book(self.id(), id, rights="protected", text=prose(seed), title=f"Book {seed}")


class Books(OfServer):
    def test_a_book_is_added_changed_and_removed(self) -> None:
        client, library = self.client, self.id()
        added = client.put_book(library, "1", rights="free", text=prose(1), authors=["A. Author"], keep_text=True)
        self.assertEqual(added["outcome"], "added")
        self.assertEqual(client.book(library, "1"), added["book"])
        self.assertEqual(client.book_text(library, "1"), prose(1))
        amended = client.amend_book(library, "1", rights="protected", note="checked")
        self.assertEqual(amended["rights"], "protected")
        client.delete_book(library, "1")
        with self.assertRaises(ApiError) as refused:
            client.book(library, "1")
        self.assertEqual((refused.exception.status, refused.exception.code), (404, "no_such_book"))
        self.assertTrue(refused.exception.request_id)

    def test_a_gate_keeps_copies_out(self) -> None:
        client, library = self.client, self.id()
        self.put("original", 2)
        with self.assertRaises(ApiError) as refused:
            client.put_book(library, "copy", rights="free", text=prose(2).upper(), unless="protected")
        self.assertEqual(refused.exception.code, "matches")
        assert refused.exception.report is not None
        self.assertEqual(refused.exception.report["matches"][0]["book"]["id"], "original")
        copy = client.put_book(library, "copy", rights="free", text=prose(2).upper(), unless="protected", except_=["original"])
        self.assertEqual(copy["outcome"], "added")
        books: list[models.BatchBook] = [{"id": "copy 2", "rights": "free", "text": prose(2).upper()}]
        for outcome, but in [("refused", []), ("added", ["original"])]:
            answers = client.add_books(library, books, unless="protected", except_=but)
            self.assertEqual([answer["outcome"] for answer in answers], [outcome])

    def test_files(self) -> None:
        client, library = self.client, self.id()
        file = self.server.path / "book.html"
        file.write_text(f"<html><body><p>{prose(3)}</p></body></html>")
        added = client.put_book(library, "3", file, rights="protected", title="Three", authors=["A", "B"], identifiers=["x:3"])
        self.assertEqual((added["book"]["title"], added["book"]["authors"]), ("Three", ["A", "B"]))
        report = client.check(file, library=library, recipes=["hardened", "released"], limit=1, detail=False)
        self.assertEqual((report["verdict"], report["recipes"]), ("protected", ["hardened", "released"]))
        self.assertEqual(client.check(b"A text of a few words.", library=library)["verdict"], "unknown")
        strict: models.Policy = {"relations": [], "min_covered": 1, "min_passage": 100_000}
        part = f"{prose(3)[:5_000]} {prose(5)}".encode()
        self.assertEqual(client.check(part, library=library, policy=strict)["verdict"], "unknown")

    def test_conditions(self) -> None:
        client, library = self.client, self.id()
        text = prose(4)
        for condition, code in [({"if_match": "*"}, 412), ({"if_none_match": "*"}, None), ({"if_none_match": "*"}, 412)]:
            try:
                client.put_book(library, "4", rights="free", text=text, **condition)  # type: ignore[arg-type]
                self.assertIsNone(code)
            except ApiError as refused:
                self.assertEqual(refused.status, code)
        with self.assertRaisesRegex(ApiError, "412"):
            client.delete_book(library, "4", if_match='"other"')

    def test_ids_of_any_characters(self) -> None:
        ids = ["a/b", "a//b", "..", "a/../b", ".", "ä?#%2F&", "я 1"]
        for id in ids:
            self.client.put_book(self.id(), id, rights="free", text=id)
            self.assertEqual(self.client.book(self.id(), id)["id"], id)
        self.assertEqual({book["id"] for book in self.client.books(self.id())}, set(ids))

    def test_lists_have_all_pages(self) -> None:
        count = 1_234
        books: list[models.BatchBook] = [{"id": f"{at:04}", "rights": "free", "title": "Pages", "text": f"Text {at}"} for at in range(count)]
        answers = list(self.client.add_books(self.id(), books))
        self.assertEqual([answer["line"] for answer in answers], list(range(1, count + 1)))
        self.assertEqual({answer["outcome"] for answer in answers}, {"added"})
        listed = [book["id"] for book in self.client.books(self.id())]
        self.assertEqual(listed, [book["id"] for book in books])
        found = [book["id"] for book in self.client.find_books(title="pages", library=self.id())]
        self.assertEqual(sorted(found), listed)
        self.assertIn(self.id(), [library["library"] for library in self.client.libraries()])


class Checks(OfServer):
    def test_gems_find_what_the_text_finds(self) -> None:
        self.put("1", 11)
        text = prose(11)[5_000:].upper()
        query = lapidary.query(text)
        report = self.client.check(gems=query.gems, indexed=query.indexed, recipe="hardened", library=self.id())
        by_text = self.client.check(text=text, recipe="hardened", library=self.id())
        self.assertEqual(report["matches"][0]["book"]["id"], "1")
        self.assertEqual(report["verdict"], by_text["verdict"])
        self.assertEqual(report["matches"][0]["common"], by_text["matches"][0]["common"])

    def test_a_batch_is_answered_in_its_order(self) -> None:
        self.put("1", 12)
        # More than what is sent at once, and lines that are larger than that. \u2028 is a part of a line.
        texts = [prose(12)[: 1_000 * at] + "\u2028" for at in range(1, 25)] * 4 + [prose(13, 30_000)]
        questions: list[models.BatchCheck] = [{"text": text, "ref": f"{at}\u2028", "library": self.id()} for at, text in enumerate(texts)]
        answers = list(self.client.check_batch([*questions, {"ref": "neither"}]))
        self.assertEqual([answer["ref"] for answer in answers], [*(question["ref"] for question in questions), "neither"])
        self.assertEqual([answer["line"] for answer in answers], list(range(1, len(questions) + 2)))
        *reports, last = answers
        for answer, text in zip(reports, texts):
            report = answer["report"]
            assert report is not None
            self.assertEqual(report, self.client.check(text=text, library=self.id()))
        problem = last["problem"]
        assert problem is not None
        self.assertEqual(problem["status"], 400)

    def test_files_of_a_batch_are_checked(self) -> None:
        batch = self.client.make_batch(["a.txt", "b.txt"])["id"]
        filed = self.client.check(b"A text of a few words.", record=True, name="a.txt", batch=batch).get("filed")
        answer = self.client.batch(batch)
        checks = [file.get("check") for file in answer["files"]]
        self.assertEqual((answer["checked"], [check and check["id"] for check in checks]), (1, [filed, None]))
        self.assertEqual(next(self.client.batches())["id"], batch)

    def test_two_files_are_compared(self) -> None:
        file = self.server.path / "part.txt"
        file.write_text(prose(16)[5_000:])
        self.assertTrue(self.client.compare(prose(16).encode(), file).startswith("<!DOCTYPE html>"))

    def test_decisions(self) -> None:
        self.put("1", 14)
        filed = self.client.check(text=prose(14), record=True, name="upload.txt", case="A 1")["filed"]
        assert filed is not None
        decided = self.client.decide(check=filed, ruling="refused", reason="a copy")
        self.assertEqual(self.client.decision(decided["id"]), decided)
        of_book = [decision["ruling"] for decision in self.client.decisions(library=self.id(), book="1")]
        self.assertEqual(of_book, ["checked", "refused"])

    def test_a_filed_check_is_shown_also_to_somebody_without_a_key(self) -> None:
        client = self.client
        self.put("1", 17)
        id = client.check(text=prose(17), record=True, library=self.id())["filed"]
        assert id is not None
        client.decide(check=id, ruling="assigned", assignee="key:python")
        self.assertEqual([one["id"] for one in client.decisions(state="open", assignee="key:python", min_covered=0.9)], [id])
        self.assertTrue(client.filed_page(id).startswith("<!DOCTYPE html>"))
        self.assertIn(f",{self.id()},protected,", client.filed_passages(id))
        link = client.make_report_link(id, book_texts=False)
        self.assertEqual(httpx.get(self.server.url + link["url"]).status_code, 200)
        self.assertEqual([one["id"] for one in client.report_links(id)], [link["id"]])
        client.delete_report_link(id, link["id"])
        self.assertEqual(list(client.report_links(id)), [])
        client.delete_evidence(id)
        with self.assertRaisesRegex(ApiError, "404"):
            client.delete_evidence(id)

    def test_what_decides_is_set_for_a_library(self) -> None:
        self.put("1", 18)
        self.assertEqual(self.client.set_policy(self.id(), min_passage=9)["min_passage"], 9)
        self.assertEqual(self.client.policy(self.id())["min_passage"], 9)

    def test_trust(self) -> None:
        self.put("1", 15)
        self.assertEqual(self.client.library_trust(self.id()), {"trusted": True})
        self.assertEqual(self.client.trust_library(self.id(), False), {"trusted": False})
        self.assertEqual(self.client.check(text=prose(15), library=self.id())["verdict"], "unknown")


class Administration(OfServer):
    def test_jobs(self) -> None:
        started = self.client.start_job({"kind": "verify"})
        while (job := self.client.job(started["id"]))["state"] == "running":
            pass
        self.assertEqual(job["state"], "done")
        self.assertIn(job, list(self.client.jobs()))

    def test_duplicates_are_found_and_resolved(self) -> None:
        client = self.client
        books: list[models.BookKey] = [{"library": self.id(), "id": id} for id in "12"]
        for book in books:
            self.put(book["id"], 23)
        client.put_book(self.id(), "part", rights="free", text=prose(23)[-5_000:])
        id = client.start_job({"kind": "duplicates", "library": self.id()})["id"]
        while client.job(id)["state"] == "running":
            pass
        client.resolve_duplicates(books, "editions")
        self.assertEqual([(group["size"], group.get("resolution")) for group in client.duplicate_groups(id)], [(2, "editions")])
        client.resolve_duplicates(books)
        self.assertEqual([group.get("resolution") for group in client.duplicate_groups(id)], [None])
        self.assertEqual([overlap["b"]["id"] for overlap in client.duplicate_overlaps(id)], ["part"])

    def test_a_job_is_cancelled(self) -> None:
        # It waits for texts, which nobody sends.
        self.put("1", 22)
        id = self.client.start_job({"kind": "reindex", "recipe": "hardened-fine", "from": "sources"})["id"]
        self.assertEqual(self.client.cancel_job(id)["id"], id)
        while (job := self.client.job(id))["state"] == "running":
            pass
        self.assertEqual(job["state"], "cancelled")
        with self.assertRaisesRegex(ApiError, "409 job_ended"):
            self.client.cancel_job(id)

    def test_webhooks(self) -> None:
        came: queue.Queue[tuple[dict[str, str], bytes]] = queue.Queue()

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                came.put((dict(self.headers), self.rfile.read(int(self.headers["content-length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        with serving(Receiver) as url:
            self.put("original", 21)
            secret = self.client.put_webhook(self.id(), url)["secret"]
            self.put("copy", 21)
            headers, body = came.get(timeout=20)
            self.assertEqual([webhook["url"] for webhook in self.client.webhooks()], [url])
            self.client.delete_webhook(self.id())
            secret_of_key = self.client.put_own_webhook(url, events=["job.ended"])["secret"]
            self.assertEqual(self.client.own_webhook()["events"], ["job.ended"])
            job = self.client.start_job({"kind": "verify"})
            ended = lapidary.verify_webhook(secret_of_key, *came.get(timeout=20))
            assert ended["type"] == "job.ended"
            self.assertEqual(ended["data"]["job"], job["id"])
            self.client.replay_own_webhook(ended["data"]["change"])
            self.assertEqual(lapidary.verify_webhook(secret_of_key, *came.get(timeout=20)), ended)
            self.assertEqual(self.client.test_own_webhook(), {"delivered": True})
            self.client.delete_own_webhook()
        event = lapidary.verify_webhook(secret, headers, body)
        self.assertEqual((event["type"], event["data"]["book"]["id"]), ("book.matched", "copy"))
        self.assertEqual(event["data"]["report"]["matches"][0]["book"]["id"], "original")
        for wrong in [("whsec_AAAA", headers, body), (secret, headers, body + b" "), (secret, {}, body)]:
            with self.assertRaises(lapidary.SignatureError):
                lapidary.verify_webhook(*wrong)

    def test_any_call(self) -> None:
        self.assertEqual(self.client.request("GET", "/healthz").json()["status"], "ok")

    def test_what_the_key_permits(self) -> None:
        me = self.client.me()
        self.assertEqual((me["name"], me["role"], me["libraries"]), ("python", "admin", []))

    def test_the_key_is_that_of_the_environment(self) -> None:
        with mock.patch.dict(os.environ, LAPIDARY_KEY=self.server.key), Client(self.server.url) as client:
            self.assertEqual(list(client.libraries()), list(self.client.libraries()))
        with Client(self.server.url, "lap_wrong") as client, self.assertRaisesRegex(ApiError, "401 bad_key"):
            list(client.libraries())


class Asynchronous(OfServer, unittest.IsolatedAsyncioTestCase):
    async def test_it_does_the_same(self) -> None:
        async with AsyncClient(self.server.url, self.server.key) as client:
            texts = {str(seed): prose(seed) for seed in range(31, 39)}
            await asyncio.gather(*(client.put_book("mine", id, rights="protected", text=text) for id, text in texts.items()))
            self.assertEqual({book["id"] async for book in client.books("mine")}, set(texts))
            reports = await asyncio.gather(*(client.check(text=text, limit=1) for text in texts.values()))
            self.assertEqual([report["matches"][0]["book"]["id"] for report in reports], list(texts))
            questions: list[models.BatchCheck] = [{"ref": id, "text": text} for id, text in texts.items()]
            self.assertEqual([answer["ref"] async for answer in client.check_batch(questions)], list(texts))
            await client.delete_book("mine", "31")
            with self.assertRaisesRegex(ApiError, "404 no_such_book"):
                await client.book("mine", "31")
            self.assertEqual((await client.request("GET", "/healthz")).json()["status"], "ok")


class Signatures(unittest.TestCase):
    # The example of the specification's reference libraries.
    SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    BODY = b'{"test": 2432232314}'
    HEADERS = {
        "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "Webhook-Timestamp": "1614265330",
        "Webhook-Signature": "v1a,x v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }

    def test_the_signature_is_the_standard_one(self) -> None:
        with mock.patch("time.time", return_value=1614265330 + 299):
            self.assertEqual(dict(lapidary.verify_webhook(self.SECRET, self.HEADERS, self.BODY)), {"test": 2432232314})
        for now in (1614265330 + 301, 1614265330 - 301):
            with mock.patch("time.time", return_value=now), self.assertRaisesRegex(lapidary.SignatureError, "300 seconds"):
                lapidary.verify_webhook(self.SECRET, self.HEADERS, self.BODY)

    def test_headers_of_any_content(self) -> None:
        for header in [{"Timestamp": "9" * 400}, {"Timestamp": "now"}, {"Id": "\udcff"}, {"Signature": "\udcff"}]:
            headers = self.HEADERS | {f"Webhook-{name}": value for name, value in header.items()}
            with mock.patch("time.time", return_value=1614265330), self.assertRaises(lapidary.SignatureError):
                lapidary.verify_webhook(self.SECRET, headers, self.BODY)

    def test_secrets_that_are_none(self) -> None:
        for secret in ["secret!", "", "whsec_", "whsec_ä"]:
            with mock.patch("time.time", return_value=1614265330), self.assertRaisesRegex(ValueError, "whsec_"):
                lapidary.verify_webhook(secret, self.HEADERS, self.BODY)


class Answers(unittest.TestCase):
    """Answers that are hard to get from a server."""

    def answers(self, *given: Callable[[http.server.BaseHTTPRequestHandler], None]) -> str:
        left = list(given)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                left.pop(0)(self)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                left.pop(0)(self)

            def log_message(self, *_: object) -> None:
                pass

        return self.enterContext(serving(Handler))

    def test_a_call_waits_and_is_made_again(self) -> None:
        url = self.answers(answer(429, {"retry-after": "0"}), answer(503, {"retry-after": "0"}), answer(200, {}, b'{"books": []}'))
        with Client(url) as client:
            self.assertEqual(list(client.books("mine")), [])

    def test_what_creates_something_has_one_name_however_often_it_is_sent(self) -> None:
        names: list[str | None] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                names.append(self.headers["idempotency-key"])
                again = answer(503, {"retry-after": "0"})
                (again if len(names) % 2 else answer(200, {}, b"{}"))(self)

            def log_message(self, *_: object) -> None:
                pass

        with Client(self.enterContext(serving(Handler))) as client:
            client.check(text="word", record=True)
            client.check(b"word", record=True)
            client.decide(check="0", ruling="accepted", reason="licensed")
            client.start_job({"kind": "verify"})
            client.make_batch(["a.txt"])
            client.make_report_link("0")
            client.check(text="word")
        named = names[:12]
        self.assertEqual(named[::2], named[1::2])
        self.assertEqual(len({name for name in named if name}), 6)
        self.assertEqual(names[12:], [None, None])

    def test_but_not_for_ever(self) -> None:
        again = answer(503, {"retry-after": "0"})
        for retries, answers in [(2, [again] * 3), (0, [again]), (2, [answer(429, {"retry-after": "3600"})])]:
            with Client(self.answers(*answers), retries=retries) as client, self.assertRaises(ApiError) as refused:
                client.book("mine", "1")
            self.assertEqual(refused.exception.code, "unknown")

    def test_what_is_no_problem_document_is_told(self) -> None:
        with Client(self.answers(answer(502, {}, b"<h1>Bad Gateway</h1>"))) as client:
            with self.assertRaisesRegex(ApiError, "answered 502 Bad Gateway: <h1>Bad Gateway</h1>"):
                client.book("mine", "1")

    def test_problem_documents_of_others(self) -> None:
        kind = {"content-type": "application/problem+json"}
        cases = [(b'{"title": "No", "detail": "Ask again."}', "^Ask again. "), (b'{"title"', "answered 502"), (b"[1]", "answered 502")]
        for body, told in cases:
            with Client(self.answers(answer(502, kind, body))) as client, self.assertRaisesRegex(ApiError, told) as refused:
                client.book("mine", "1")
            self.assertEqual((refused.exception.status, refused.exception.code), (502, "unknown"))

    def test_who_reads_answers_slowly_keeps_no_server_waiting(self) -> None:
        sent = threading.Event()
        # More than what the buffers of a connection hold.
        body = b"".join(b'{"line": %d, "ref": "%s"}\n' % (line, b"x" * 2**20) for line in range(1, 33))

        def send(handler: http.server.BaseHTTPRequestHandler) -> None:
            answer(200, {}, body)(handler)
            sent.set()

        with Client(self.answers(send)) as client:
            answers = client.check_batch([{"text": "A text."}] * 32)
            self.assertEqual(next(answers)["line"], 1)
            self.assertTrue(sent.wait(10))
            self.assertEqual([answer["line"] for answer in answers], list(range(2, 33)))

    def test_a_server_that_is_not_there(self) -> None:
        with Client("http://127.0.0.1:9") as client, self.assertRaises(httpx.TransportError):
            client.book("mine", "1")


def answer(status: int, headers: dict[str, str], body: bytes = b"") -> Callable[[http.server.BaseHTTPRequestHandler], None]:
    def send(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return send


class serving:
    """Answers requests in a thread."""

    def __init__(self, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        self._server = http.server.HTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
