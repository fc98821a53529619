"""What every source has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from scale.live.address import hide_password
from scale.live.every import Every
from scale.live.intake import Intake

Tell = Callable[[str], None]


class Reader(ABC):
    """Reads one source in a thread of its own, and puts what it finds into an intake.

    Parameters
    ----------
    uri
        What the user gave, made absolute.
    """

    kind: str
    """Word for the source in the store."""
    live: ClassVar[bool] = False
    """Whether its images come whether or not anybody takes them."""
    every: ClassVar[Every | None] = None
    """How often frames are taken, if the user does not say it."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    @property
    def name(self) -> str:
        """What the source is called in the store and in messages: no password is in it."""
        return hide_password(self.uri)

    @property
    def ends(self) -> bool:
        """Whether the source has an end; such sources are read one after the other."""
        return False

    @abstractmethod
    def check(self) -> None:
        """Raise `InputError` for a source that cannot be there."""

    @abstractmethod
    def read(self, intake: Intake, tell: Tell) -> None:
        """Put all images into the intake, until the end or until the intake stops."""
