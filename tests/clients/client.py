"""Uses the generated Python client. The clients in other languages do the same: make a key; add, list and remove a book; check a
text that is a copy of it; decide about the check; set a webhook; run a job; and read problems."""

import sys

from lapidary_client import AuthenticatedClient
from lapidary_client.api.books import books, delete_book, put_book
from lapidary_client.api.checks import batch, check, make_batch
from lapidary_client.api.decisions import decide, decision
from lapidary_client.api.jobs import job, start_job
from lapidary_client.api.keys import make_key
from lapidary_client.api.webhooks import delete_own_webhook, own_webhook, put_own_webhook
from lapidary_client.models import (
    Added,
    Batch,
    Check,
    Decision,
    EventType,
    Job,
    JobState,
    KeyWebhook,
    MadeKey,
    MadeKeyWebhook,
    NewBatch,
    NewBook,
    NewDecision,
    NewKey,
    NewWebhook,
    Page,
    Problem,
    Report,
    Rights,
    Role,
    Ruling,
    TaskType2,
    TaskType2Kind,
    Unless,
)

url, key = sys.argv[1:]
made = make_key.sync(client=AuthenticatedClient(base_url=url, token=key), body=NewKey(name="python", role=Role.ADMIN))
assert isinstance(made, MadeKey), made
client = AuthenticatedClient(base_url=url, token=made.secret)
text = "A text of a few words."

book = NewBook(rights=Rights.PROTECTED, title="A", text=text)
added = put_book.sync("mine", "python/1", client=client, body=book)
assert isinstance(added, Added) and added.book.title == "A", added
refused = put_book.sync("mine", "python/2", client=client, body=book, unless=Unless.PROTECTED)
assert isinstance(refused, Problem) and refused.code == "matches", refused
assert isinstance(refused.report, Report) and refused.report.matches[0].book.id == "python/1", refused

begun = make_batch.sync(client=client, body=NewBatch(files=["upload.txt"]))
assert isinstance(begun, Batch), begun
question = Check(text=text, record=True, name="upload.txt", batch=begun.id)
report = check.sync(client=client, body=question)
assert isinstance(report, Report) and report.verdict == Rights.PROTECTED, report
assert report.matches[0].book.id == "python/1" and report.matches[0].identical, report
ended = batch.sync(begun.id, client=client)
assert isinstance(ended, Batch) and ended.checked == 1, ended

assert isinstance(report.filed, str), report
decided = decide.sync(client=client, body=NewDecision(check=report.filed, ruling=Ruling.REFUSED, reason="a copy"))
assert isinstance(decided, Decision), decided
found = decision.sync(decided.id, client=client)
assert isinstance(found, Decision) and found.reason == "a copy", found

webhook = NewWebhook(url="https://example.com/", events=[EventType.LIBRARY_TRUSTED])
assert isinstance(put_own_webhook.sync(client=client, body=webhook), MadeKeyWebhook)
own = own_webhook.sync(client=client)
assert isinstance(own, KeyWebhook) and own.url == webhook.url, own
assert delete_own_webhook.sync_detailed(client=client).status_code == 204

started = start_job.sync(client=client, body=TaskType2(kind=TaskType2Kind.VERIFY))
while isinstance(started, Job) and started.state == JobState.RUNNING:
    started = job.sync(started.id, client=client)
assert isinstance(started, Job) and started.state == JobState.DONE, started

page = books.sync("mine", client=client, limit=10)
assert isinstance(page, Page) and [book.id for book in page.books] == ["python/1"], page
assert delete_book.sync_detailed("mine", "python/1", client=client).status_code == 204
problem = delete_book.sync("mine", "python/1", client=client)
assert isinstance(problem, Problem) and problem.code == "no_such_book", problem
print("the Python client works")
