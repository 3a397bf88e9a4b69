from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

import httpx

from .models import Problem, Report


class ApiError(Exception):
    """The server refused a call. `code` is for programs, `detail` says what happened and what to do."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        super().__init__(problem, retry_after)
        self.problem = problem
        self.retry_after = retry_after
        """After how many seconds to try again, with 429 and 503."""

    def __str__(self) -> str:
        return f"{self.detail} ({self.status} {self.code})"

    @property
    def status(self) -> int:
        return self.problem["status"]

    @property
    def code(self) -> str:
        """Stable; `unknown` if something on the way answered in place of the server."""
        return self.problem["code"]

    @property
    def detail(self) -> str:
        return self.problem["detail"]

    @property
    def request_id(self) -> str | None:
        """The id of the request, to find it in the server's log."""
        return self.problem.get("request_id")

    @property
    def report(self) -> Report | None:
        """With `matches`: the report of the check that refused the book."""
        return self.problem.get("report")


def error_of(response: httpx.Response) -> ApiError:
    """The error of a response that was read."""
    seconds = response.headers.get("retry-after", "")
    return ApiError(_problem(response), float(seconds) if seconds.isdecimal() else None)


def _problem(response: httpx.Response) -> Problem:
    """The problem that the server tells. What something on the way tells may lack fields, or be cut off."""
    problem: dict[str, Any] = {
        "type": "about:blank",
        "title": response.reason_phrase,
        "status": response.status_code,
        "code": "unknown",
        "detail": f"{response.url} answered {response.status_code} {response.reason_phrase}: {response.text[:200]}",
    }
    if response.headers.get("content-type", "").startswith("application/problem+json"):
        with suppress(ValueError, TypeError):
            problem.update(response.json())
    return cast(Problem, problem)
