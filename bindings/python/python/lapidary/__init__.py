"""A client of Lapidary, which finds which books share parts with a text, and the gems of texts, its fingerprints."""

from . import models
from ._async import AsyncClient
from ._errors import ApiError
from ._recipe import Place, PlacedGem, Query, Recipe, fold, gems, places, query, recipes
from ._sync import Client
from ._webhooks import MatchedBook, MatchedBookEvent, OtherEvent, SignatureError, WebhookEvent, verify_webhook
from .models import Gem

__all__ = [
    "ApiError",
    "AsyncClient",
    "Client",
    "Gem",
    "MatchedBook",
    "MatchedBookEvent",
    "OtherEvent",
    "Place",
    "PlacedGem",
    "Query",
    "Recipe",
    "SignatureError",
    "WebhookEvent",
    "fold",
    "gems",
    "models",
    "places",
    "query",
    "recipes",
    "verify_webhook",
]
