from __future__ import annotations

import base64
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any, Literal, TypedDict

from .models import BookRef, Report

# How far apart the clocks of sender and receiver may be, in seconds.
TOLERANCE = 300


class MatchedBook(TypedDict):
    """A book that matches others."""

    book: BookRef
    """The book that was added or replaced."""
    change: int
    """The number of the change in the audit log."""
    report: Report
    """The result of checking it against all other books."""


class MatchedBookEvent(TypedDict):
    """What is posted of a book that matches others."""

    type: Literal["book.matched"]
    timestamp: str
    """When the book was added."""
    data: MatchedBook


class OtherEvent(TypedDict):
    """What is posted of everything else."""

    type: Literal[
        "book.quarantined",
        "book.confirmed",
        "library.trusted",
        "library.distrusted",
        "source.ended",
        "source.failed",
        "check.filed",
        "check.matched",
        "decision.made",
        "decision.appealed",
        "job.ended",
        "quota.reached",
        "webhook.test",
    ]
    timestamp: str
    """When it happened."""
    data: Any
    """As `webhooks` in the description of the API says, for each type."""


WebhookEvent = MatchedBookEvent | OtherEvent
"""What is posted to a webhook."""


class SignatureError(ValueError):
    """A request is not from the server that has the secret, or it is an old one."""


def verify_webhook(secret: str, headers: Mapping[str, str], body: bytes) -> WebhookEvent:
    """The event in a request to a webhook, if its signature (Standard Webhooks) is right and it was sent in the last five minutes.
    `secret` is that of `put_webhook`, `headers` and `body` are those of the request as it came.

    The same event can come more than once, then with the same header `webhook-id`."""
    named = {name.lower(): value for name, value in headers.items()}
    try:
        id, at, signatures = (named[f"webhook-{name}"] for name in ("id", "timestamp", "signature"))
        sent = int(at)
    except (KeyError, ValueError):
        raise SignatureError("the request has no headers webhook-id, webhook-timestamp and webhook-signature") from None
    if abs(int(time.time()) - sent) > TOLERANCE:
        raise SignatureError(f"the request was sent more than {TOLERANCE} seconds ago, or the clocks differ by more")
    signed = hmac.digest(_key(secret), _bytes(f"{id}.{at}.") + body, "sha256")
    expected = b"v1," + base64.b64encode(signed)
    if not any(hmac.compare_digest(expected, _bytes(one)) for one in signatures.split()):
        raise SignatureError("the signature is not that of this body and secret")
    event: WebhookEvent = json.loads(body)
    return event


def _bytes(header: str) -> bytes:
    """The bytes of a header, in which frameworks put surrogates for what is no UTF-8."""
    return header.encode(errors="surrogatepass")


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    # Anyone could sign with an empty key.
    if not key:
        raise ValueError("the secret of a webhook is `whsec_` and Base64, as put_webhook returned it")
    return key
