"""The client. generate.py writes `_sync.py` from `_async.py`."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, Unpack

import httpx

from . import models
from ._bodies import conditions, content, file_body, given, once, path_of, pieces
from ._errors import error_of


class AsyncClient:
    """A client of a Lapidary server: each method makes a call of its API, and has its name. Answers are the JSON of the server, with the
    types in `lapidary.models`.

    `key` is by default that in the environment variable LAPIDARY_KEY. `timeout` is for how many seconds a connection may stand still. A
    call that is to wait at most that long (429, 503) is made again, up to `retries` times. Raises `ApiError` for what the server refuses,
    and `httpx.TransportError` if it cannot be reached.
    """

    def __init__(self, url: str, key: str | None = None, *, timeout: float = 60, retries: int = 2) -> None:
        key = key or os.environ.get("LAPIDARY_KEY")
        headers = {"authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.AsyncClient(base_url=url, headers=headers, timeout=timeout)
        self._timeout = timeout
        self._retries = retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def request(self, method: str, path: str, **sent: Any) -> httpx.Response:
        """Makes any call, such as one without a method here. `sent` is what httpx sends: `params`, `json`, `content`, `headers`."""
        request = self._http.build_request(method, path, **sent)
        left = self._retries
        while True:
            response = await self._http.send(request)
            if response.is_success:
                return response
            error = error_of(response)
            if left == 0 or error.retry_after is None or error.retry_after > self._timeout:
                raise error
            left -= 1
            await asyncio.sleep(error.retry_after)

    async def _json(self, method: str, path: str, **sent: Any) -> Any:
        return (await self.request(method, path, **sent)).json()

    async def _pages(self, path: str, field: str, parameters: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The entries of all pages of a list."""
        cursor = None
        while True:
            page = await self._json("GET", path, params=given({**parameters, "cursor": cursor}))
            for entry in page[field]:
                yield entry
            cursor = page.get("next_cursor")
            if cursor is None:
                return

    async def _lines(self, path: str, entries: Iterable[Mapping[str, Any]], parameters: Mapping[str, Any]) -> AsyncIterator[Any]:
        """The answers to the lines of a stream. Those of a piece are read at once: the server closes a connection over which it cannot
        send, which would be so while a caller works on an answer."""
        before = 0
        for piece in pieces(entries):
            headers = {"content-type": "application/x-ndjson"}
            response = await self.request("POST", path, content=b"".join(piece), headers=headers, params=given(parameters))
            for line in response.content.splitlines():
                answer = json.loads(line)
                answer["line"] += before
                yield answer
            before += len(piece)

    async def me(self) -> models.Me:
        """What the key permits, and what the server offers."""
        me: models.Me = await self._json("GET", "/v1/me")
        return me

    # Checks

    async def check(self, file: bytes | Path | None = None, /, **question: Unpack[models.Check]) -> models.Report:
        """Checks a file of any format, or `text`, or `gems`."""
        named = once() if question.get("record") else {}
        if file is None:
            report: models.Report = await self._json("POST", "/v1/checks", json=question, headers=named)
            return report
        several = ",".join(question.get("recipes") or []) or None
        policy = json.dumps(question["policy"]) if question.get("policy") else None
        sent = file_body(file)
        sent["headers"].update(named)
        report = await self._json("POST", "/v1/checks", params=given({**question, "recipes": several, "policy": policy}), **sent)
        return report

    def check_batch(self, questions: Iterable[models.BatchCheck]) -> AsyncIterator[models.CheckAnswer]:
        """Runs any number of checks. Each has an answer, in their order: a `report`, or a `problem` that does not affect the others."""
        return self._lines("/v1/checks:batch", questions, {})

    async def make_batch(self, files: Sequence[str]) -> models.Batch:
        """Begins to check files, which are then sent to `check` with `record`, their `name` and this `batch`."""
        made: models.Batch = await self._json("POST", "/v1/batches", json={"files": list(files)}, headers=once())
        return made

    async def batch(self, id: str) -> models.Batch:
        """A batch that the key made, with its files."""
        batch: models.Batch = await self._json("GET", path_of("batches", id))
        return batch

    def batches(self) -> AsyncIterator[models.Batch]:
        """The batches that the key made, the newest first."""
        return self._pages("/v1/batches", "batches", {})

    async def compare(self, first: bytes | Path, second: bytes | Path) -> str:
        """Compares two files word by word. Answers a page of HTML; nothing is kept."""
        form = [("file", ("file", content(file))) for file in (first, second)]
        return (await self.request("POST", "/v1/compare", files=form)).text

    # Books

    async def put_book(
        self,
        library: str,
        id: str,
        file: bytes | Path | None = None,
        /,
        *,
        unless: models.Unless | None = None,
        except_: Sequence[str] | Literal["same-library"] = (),
        if_match: str | None = None,
        if_none_match: str | None = None,
        **book: Unpack[models.NewBook],
    ) -> models.Added:
        """Adds or replaces a book: a file of any format, or `text`, or `gems`.

        With `unless="protected"`, the book is refused (`matches`, with a report) if it matches protected books, except those of its
        library that `except_` names by their ids. `if_none_match="*"` only adds, `if_match="*"` only replaces."""
        path = path_of("libraries", library, "books", id)
        headers = conditions(if_match, if_none_match)
        gate = given({"unless": unless, "except": except_})
        if file is None:
            beside = {name: book.pop(name) for name in ("allow_empty", "keep_text") if name in book}
            added: models.Added = await self._json("PUT", path, params={**gate, **beside}, json=book, headers=headers)
            return added
        named = {"authors": "author", "identifiers": "identifier"}
        about = {named.get(name, name): value for name, value in given(book).items()}
        body = file_body(file)
        headers.update(body["headers"])
        added = await self._json("PUT", path, params={**gate, **about}, content=body["content"], headers=headers)
        return added

    def add_books(
        self,
        library: str,
        books: Iterable[models.BatchBook],
        *,
        unless: models.Unless | None = None,
        except_: Sequence[str] | Literal["same-library"] = (),
        keep_text: bool | None = None,
    ) -> AsyncIterator[models.FeedAnswer]:
        """Adds any number of books. Each has an answer, in their order, once it is on disk. Sending the same again changes nothing."""
        parameters = {"unless": unless, "except": except_, "keep_text": keep_text}
        return self._lines(path_of("libraries", library, "books"), books, parameters)

    async def book(self, library: str, id: str) -> models.Record:
        """A book."""
        record: models.Record = await self._json("GET", path_of("libraries", library, "books", id))
        return record

    async def amend_book(
        self, library: str, id: str, *, if_match: str | None = None, **amendment: Unpack[models.Amendment]
    ) -> models.Record:
        """Changes what is known about a book."""
        path = path_of("libraries", library, "books", id)
        record: models.Record = await self._json("PATCH", path, json=amendment, headers=conditions(if_match, None))
        return record

    async def delete_book(self, library: str, id: str, *, if_match: str | None = None) -> None:
        """Removes a book."""
        await self.request("DELETE", path_of("libraries", library, "books", id), headers=conditions(if_match, None))

    async def book_text(self, library: str, id: str) -> str:
        """The text of a book that was added with `keep_text`."""
        return (await self.request("GET", path_of("libraries", library, "texts", id))).text

    async def matches(self, library: str, id: str) -> models.Report:
        """Checks a book against all others."""
        report: models.Report = await self._json("GET", path_of("libraries", library, "matches", id))
        return report

    def books(self, library: str) -> AsyncIterator[models.Record]:
        """The books of a library."""
        return self._pages(path_of("libraries", library, "books"), "books", {})

    def find_books(
        self, *, identifier: str | None = None, title: str | None = None, author: str | None = None, library: str | None = None
    ) -> AsyncIterator[models.Record]:
        """The books with an identifier, or with these words in the title or in the names of the authors."""
        parameters = {"identifier": identifier, "title": title, "author": author, "library": library}
        return self._pages("/v1/books", "books", parameters)

    # Libraries

    def libraries(self) -> AsyncIterator[models.LibraryListing]:
        """All libraries."""
        return self._pages("/v1/libraries", "libraries", {})

    async def library_trust(self, library: str) -> models.LibraryTrust:
        """Whether the books of a library decide in what others are told."""
        trust: models.LibraryTrust = await self._json("GET", path_of("libraries", library, "trust"))
        return trust

    async def trust_library(self, library: str, trusted: bool) -> models.LibraryTrust:
        """Sets whether the books of a library decide in what others are told."""
        trust: models.LibraryTrust = await self._json("PUT", path_of("libraries", library, "trust"), json={"trusted": trusted})
        return trust

    async def policy(self, library: str) -> models.Policy:
        """From how much on a match with a book of a library decides."""
        policy: models.Policy = await self._json("GET", path_of("libraries", library, "policy"))
        return policy

    async def set_policy(self, library: str, **policy: Unpack[models.Policy]) -> models.Policy:
        """Sets that. What is left out is as by default."""
        now: models.Policy = await self._json("PUT", path_of("libraries", library, "policy"), json=policy)
        return now

    # Decisions

    async def decide(self, **decision: Unpack[models.NewDecision]) -> models.Decision:
        """Records a decision about a check that was filed (`record`)."""
        recorded: models.Decision = await self._json("POST", "/v1/decisions", json=decision, headers=once())
        return recorded

    async def decision(self, id: str) -> models.Decision:
        """A filed check with its report, or a decision."""
        found: models.Decision = await self._json("GET", path_of("decisions", id))
        return found

    def decisions(
        self,
        *,
        digest: str | None = None,
        library: str | None = None,
        book: str | None = None,
        day: str | None = None,
        state: models.CheckState | None = None,
        verdict: models.Rights | None = None,
        actor: str | None = None,
        assignee: str | None = None,
        min_covered: float | None = None,
        q: str | None = None,
        batch: str | None = None,
    ) -> AsyncIterator[models.Decision]:
        """Filed checks and decisions, oldest first: of a text, of a book, or of a day. With `state`: filed checks in it, newest first,
        also with this verdict, filed by this actor, assigned to this one, and so on."""
        of = {"digest": digest, "library": library, "book": book, "day": day, "state": state, "verdict": verdict}
        more = {"actor": actor, "assignee": assignee, "min_covered": min_covered, "q": q, "batch": batch}
        return self._pages("/v1/decisions", "decisions", {**of, **more})

    async def filed_page(self, id: str) -> str:
        """A filed check as a page of HTML."""
        return (await self.request("GET", path_of("decisions", id, "page"))).text

    async def filed_passages(self, id: str) -> str:
        """The passages of a filed check, as CSV."""
        return (await self.request("GET", path_of("decisions", id, "passages"))).text

    async def delete_evidence(self, id: str) -> None:
        """Deletes the kept text of a filed check."""
        await self.request("DELETE", path_of("decisions", id, "text"))

    async def make_report_link(self, id: str, **link: Unpack[models.NewReportLink]) -> models.MadeReportLink:
        """Makes a link that shows a filed check to somebody without a key. Its `url` is a path on the server."""
        path = path_of("decisions", id, "links")
        made: models.MadeReportLink = await self._json("POST", path, json=link, headers=once())
        return made

    def report_links(self, id: str) -> AsyncIterator[models.ReportLink]:
        """The links to a filed check."""
        return self._pages(path_of("decisions", id, "links"), "links", {})

    async def delete_report_link(self, id: str, link: str) -> None:
        """Deletes a link to a filed check."""
        await self.request("DELETE", path_of("decisions", id, "links", link))

    # Jobs

    async def start_job(self, task: models.Task) -> models.Job:
        """Starts long work, such as `{"kind": "verify"}`."""
        job: models.Job = await self._json("POST", "/v1/jobs", json=task, headers=once())
        return job

    async def job(self, id: int) -> models.Job:
        """A job."""
        job: models.Job = await self._json("GET", path_of("jobs", id))
        return job

    async def cancel_job(self, id: int) -> models.Job:
        """Cancels a job. It ends soon after."""
        job: models.Job = await self._json("POST", path_of("jobs", id, "cancel"))
        return job

    def jobs(self) -> AsyncIterator[models.Job]:
        """All jobs, the newest first."""
        return self._pages("/v1/jobs", "jobs", {})

    def duplicate_groups(self, job: int) -> AsyncIterator[models.DuplicateGroup]:
        """The groups of books that are the same, as a job of the kind `duplicates` found them."""
        return self._pages(path_of("jobs", job, "groups"), "groups", {})

    def duplicate_overlaps(self, job: int) -> AsyncIterator[models.DuplicateOverlap]:
        """The books that overlap, as such a job found them."""
        return self._pages(path_of("jobs", job, "overlaps"), "overlaps", {})

    async def resolve_duplicates(
        self, books: Sequence[models.BookKey], resolution: models.DuplicateResolution | None = None
    ) -> None:
        """Says what all books of a group are; without `resolution`, takes that back."""
        await self.request("POST", "/v1/duplicates", json={"books": list(books), "resolution": resolution})

    # Webhooks

    async def put_webhook(self, library: str, url: str, *, events: list[models.EventType] | None = None) -> models.MadeWebhook:
        """Has events of a library posted to a URL, by default of books that match others. `verify_webhook` reads what comes, with
        the `secret` of the answer."""
        new = given({"url": url, "events": events})
        made: models.MadeWebhook = await self._json("PUT", path_of("libraries", library, "webhook"), json=new)
        return made

    async def delete_webhook(self, library: str) -> None:
        """Stops that."""
        await self.request("DELETE", path_of("libraries", library, "webhook"))

    def webhooks(self) -> AsyncIterator[models.Webhook]:
        """The webhooks of all libraries."""
        return self._pages("/v1/webhooks", "webhooks", {})

    async def put_own_webhook(self, url: str, *, events: list[models.EventType] | None = None) -> models.MadeKeyWebhook:
        """Has events posted to a URL of what the key sees, by default all: decisions about its checks, its books, its sources."""
        new = given({"url": url, "events": events})
        made: models.MadeKeyWebhook = await self._json("PUT", path_of("me", "webhook"), json=new)
        return made

    async def own_webhook(self) -> models.KeyWebhook:
        """The webhook of the key, and how it works."""
        webhook: models.KeyWebhook = await self._json("GET", path_of("me", "webhook"))
        return webhook

    async def delete_own_webhook(self) -> None:
        """Stops that."""
        await self.request("DELETE", path_of("me", "webhook"))

    async def replay_own_webhook(self, change: int) -> None:
        """Has the events sent again of a change in the audit log, which events name, and of all later ones."""
        await self.request("POST", path_of("me", "webhook", "replay"), json={"from": change})

    async def test_own_webhook(self) -> models.WebhookTest:
        """Sends a test to the webhook of the key, and answers whether it arrived."""
        test: models.WebhookTest = await self._json("POST", path_of("me", "webhook", "test"))
        return test
