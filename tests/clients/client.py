"""Uses the generated Python client: checks a text, adds, lists and removes a book, and reads a problem."""

import sys

from lapidary_client import AuthenticatedClient
from lapidary_client.api.books import books, delete_book, put_book
from lapidary_client.api.checks import check
from lapidary_client.models import Added, Check, NewBook, Page, Problem, Report, Rights

url, key = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)
text = "A text of a few words."

added = put_book.sync("mine", "python/1", client=client, body=NewBook(rights=Rights.PROTECTED, title="A", text=text))
assert isinstance(added, Added) and added.book.title == "A", added

report = check.sync(client=client, body=Check(text=text))
assert isinstance(report, Report) and report.verdict == Rights.PROTECTED, report
assert report.matches[0].book.id == "python/1" and report.matches[0].identical, report

page = books.sync("mine", client=client, limit=10)
assert isinstance(page, Page) and [book.id for book in page.books] == ["python/1"], page

assert delete_book.sync_detailed("mine", "python/1", client=client).status_code == 204
problem = delete_book.sync("mine", "python/1", client=client)
assert isinstance(problem, Problem) and problem.code == "no_such_book", problem
print("the Python client works")
