from __future__ import annotations

from typing import NamedTuple

from . import _native
from .models import Gem


class Place(NamedTuple):
    """A passage, in bytes of the text as UTF-8: `text.encode()[start:end].decode()`."""

    start: int
    end: int


class PlacedGem(NamedTuple):
    """A gem, and the passage that it represents. Gems of signatures have no place."""

    gem: Gem
    place: Place | None


class Query(NamedTuple):
    """What a check looks up of a text: `client.check(recipe=recipe, gems=query.gems, indexed=query.indexed)`."""

    gems: list[Gem]
    """More gems than the text has, so that changed copies are found."""
    indexed: list[int]
    """The positions of those that a book with the same text would have."""
    places: list[Place | None]
    """The passage of each."""


class Recipe:
    """A recipe, ready to be used for many texts. Threads can use it at the same time.

    `clean` ignores print artifacts: running heads, page numbers, hyphens at line ends, ligatures. By default, `hardened` and
    `hardened-fine` do. `lexicon` is the content of a lexicon file, for signatures that weigh words.

    Raises `ValueError` if there is no such recipe, or its lexicon does not fit. The methods raise it for the few texts that are refused
    because their gems would take disproportionately long.
    """

    def __init__(self, name: str = "hardened", *, clean: bool | None = None, lexicon: str | None = None) -> None:
        self._native = _native.Recipe(name, clean, lexicon)

    def __repr__(self) -> str:
        return f"Recipe({self.name!r})"

    @property
    def name(self) -> str:
        """The name, which signatures write in one form only."""
        return self._native.name

    def gems(self, text: str) -> list[Gem]:
        """The gems of a text, without duplicates, in the order of the text."""
        return self._native.gems(text)

    def places(self, text: str) -> list[PlacedGem]:
        """The gems of a text with their places."""
        return [PlacedGem(gem, _place(place)) for gem, place in self._native.places(text)]

    def query(self, text: str) -> Query:
        """What a check looks up of a text. A check of it finds what a check of the text does."""
        gems, indexed, places = self._native.query(text)
        return Query(gems, indexed, [_place(place) for place in places])

    def fold(self, text: str) -> str:
        """The fold of a text, as `lapidary fold` prints it."""
        return self._native.fold(text)


def _place(place: tuple[int, int] | None) -> Place | None:
    return Place(*place) if place else None


def gems(text: str, recipe: str = "hardened", *, clean: bool | None = None, lexicon: str | None = None) -> list[Gem]:
    """The gems of a text, without duplicates, in the order of the text. They are written as JSON has them: 16 hexadecimal digits, or a
    number with the exact recipes (`released`, `documented`, `documented-second`)."""
    return Recipe(recipe, clean=clean, lexicon=lexicon).gems(text)


def places(text: str, recipe: str = "hardened", *, clean: bool | None = None, lexicon: str | None = None) -> list[PlacedGem]:
    """The gems of a text with their places."""
    return Recipe(recipe, clean=clean, lexicon=lexicon).places(text)


def query(text: str, recipe: str = "hardened", *, clean: bool | None = None, lexicon: str | None = None) -> Query:
    """What a check looks up of a text. A check of it finds what a check of the text does."""
    return Recipe(recipe, clean=clean, lexicon=lexicon).query(text)


def fold(text: str, recipe: str = "hardened", *, clean: bool | None = None, lexicon: str | None = None) -> str:
    """The fold of a text, as `lapidary fold` prints it."""
    return Recipe(recipe, clean=clean, lexicon=lexicon).fold(text)


def recipes() -> list[str]:
    """The names of the built-in recipes. Signatures, such as `tf` or `winnow;k=5`, have gems, too."""
    return _native.recipes()
