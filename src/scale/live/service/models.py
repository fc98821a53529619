"""The answers of the service, as the OpenAPI description shows them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from scale.live.service.context import LARGEST

Ids = Annotated[
    list[Annotated[int, Field(ge=1, le=LARGEST)]], Field(min_length=1, max_length=10_000)
]

Responses = dict[int | str, dict[str, Any]]
"""What a route may answer besides success, for the description."""


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the name must be valid Unicode") from None
    return text


Name = Annotated[
    str,
    StringConstraints(min_length=1, max_length=100, strip_whitespace=True),
    AfterValidator(_encodable),
]


class Problem(BaseModel):
    """Why a request was refused, and what to do."""

    detail: str


class ImageOut(BaseModel):
    """An image of the store.

    `name` is the one that a person gave (`given`) or that its neighbours give with a `confidence`.
    """

    id: int
    taken: float
    came: float
    source: str
    path: str | None
    width: int
    height: int
    box: list[int] | None
    batch: int | None
    stored: bool
    name: str | None = None
    given: bool = False
    confidence: float | None = None


class Near(BaseModel):
    """An image near another one, and its cosine similarity to it."""

    id: int
    score: float


class ImageDetail(ImageOut):
    """An image, the named ones that decided its name, the nearest ones, and its events."""

    decided_by: list[int] = []
    nearest: list[Near] = []
    events: list[int] = []


class ImageList(BaseModel):
    """Images, newest first. `more` says whether there are older ones."""

    images: list[ImageOut]
    more: bool


class Taken(BaseModel):
    """The images that the gate let through; none if it skipped the image or there was no room."""

    images: list[int]


class Hour(BaseModel):
    """An hour: `hour` is unix time divided by 3600. `names` are those that persons gave."""

    hour: int
    images: int
    events: int
    names: dict[str, int]


class Hours(BaseModel):
    """The hours in which images were taken, oldest first."""

    hours: list[Hour]


class Known(BaseModel):
    """An image that was known when an event opened, and its distance to what was new."""

    id: int
    distance: float


class EventOut(BaseModel):
    """Something new that stayed in view. `score` is above `threshold`; `nearest` were known.

    `images` are the first that were new, `count` says how many were.
    """

    id: int
    kind: str
    image: int
    opened: float
    closed: float | None
    state: str
    score: float
    threshold: float
    count: int
    nearest: list[Known]
    images: list[int]


class EventList(BaseModel):
    """Events, newest first."""

    events: list[EventOut]


class HourDetail(BaseModel):
    """Images of an hour, oldest first, and the events that opened in it."""

    hour: int
    images: list[ImageOut]
    events: list[EventOut]
    more: bool


class Point(BaseModel):
    """An image on the map; x and y are in 0..1."""

    id: int
    x: float
    y: float
    name: str | None


class MapOut(BaseModel):
    """The map of images. Similar ones lie together."""

    points: list[Point]
    total: int


class Group(BaseModel):
    """Images without a name that lie together, the most typical first."""

    images: list[int]
    tightness: float


class Groups(BaseModel):
    """Proposed groups; tight and large ones come first."""

    groups: list[Group]


class HitOut(ImageOut):
    """An image that was found, and its cosine similarity to the query."""

    score: float


class Found(BaseModel):
    """The answer to a search, nearest first. `stale` embeddings are older than the learner."""

    hits: list[HitOut]
    stale: int
    step: int | None


class NameOut(BaseModel):
    """A name: how many images a person gave it, and its leave-one-out accuracy.

    `lately` counts the newest images that have it, also from their neighbours.
    """

    name: str
    count: int
    accuracy: float | None
    lately: int
    examples: list[int]


class NameList(BaseModel):
    """All names, and how many of the newest images are unknown."""

    names: list[NameOut]
    newest: int
    unknown: int


class Naming(BaseModel):
    """Images and the name that they get."""

    images: Ids
    name: Name


class Unnaming(BaseModel):
    """Images that lose their name."""

    images: Ids


class Changed(BaseModel):
    """How many images were changed."""

    changed: int


class MemoryOut(BaseModel):
    """The learner's memory, in its order. `why` says how its images are chosen."""

    images: list[ImageOut]
    total: int
    size: int | None
    why: str


class History(BaseModel):
    """Diagnostics of batches; `step` is the number of batches learned."""

    step: list[int]
    series: dict[str, list[float | None]]


class SourceOut(BaseModel):
    """A source and what it last said."""

    uri: str
    kind: str
    state: str
    message: str
    changed: float


class Rates(BaseModel):
    """Images per second over the last minute."""

    model_config = ConfigDict(populate_by_name=True)
    coming: float = Field(alias="in")
    learned: float


class Queue(BaseModel):
    """Images that wait to be learned from, and how many may."""

    waiting: int
    room: int


class Updates(BaseModel):
    """Updates per batch: now, and while images come no faster than they are learned."""

    now: int
    usual: int


class GuardOut(BaseModel):
    """Whether the learner retrieves images of its memory better than its untrained start."""

    better: bool
    score: float
    start_score: float


class Status(BaseModel):
    """How the learner is. What is not known is null, for example while none is watching."""

    state: str
    watching: bool
    problem: str | None = None
    images: int
    stored: int
    named: int
    open_events: int
    step: int
    skipped: dict[str, int]
    dropped: int
    sources: list[SourceOut]
    images_per_second: Rates | None = None
    queue: Queue | None = None
    updates: Updates | None = None
    loss: float | None = None
    effective_rank: float | None = None
    collapsed: bool | None = None
    drift: float | None = None
    guard: GuardOut | None = None
    memory_bytes: int | None = None
    disk_bytes: int | None = None
    uptime: float | None = None
    method: str | None = None


class Health(BaseModel):
    """The service answers."""

    status: str
