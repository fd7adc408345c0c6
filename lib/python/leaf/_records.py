"""What the library tells of IDs and tags, and how it tells times."""

import typing
from datetime import datetime, timedelta, timezone

from ._errors import UsageError

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def time_of(unix_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=unix_ms)


def unix_ms_of(time: datetime, up: bool = False) -> int:
    """What lies between two milliseconds goes to the one before, or up."""
    if not isinstance(time, datetime):
        raise TypeError("a time has to be a datetime, or Unix milliseconds")
    if time.utcoffset() is None:
        raise UsageError("a time has to know its zone", "such as datetime.now(timezone.utc)")
    since = time - _EPOCH
    return -(-since // _MILLISECOND) if up else since // _MILLISECOND


class Decoded(typing.NamedTuple):
    """What a snowflake holds."""

    time: datetime
    """When the unit of time began in which it was made."""
    worker: int
    """All worker fields as one number, the leftmost the most significant."""
    sequence: int
    """0 without such a field."""

    @property
    def unix_ms(self) -> int:
        """The time in Unix milliseconds."""
        return unix_ms_of(self.time)


class Bounds(typing.NamedTuple):
    """The least and the greatest ID of a stretch of time, both included."""

    first: int
    last: int


class TagInfo(typing.NamedTuple):
    """A tag as the store has it."""

    name: str
    description: str
    next_id: int
    """The first ID that has not been granted to a host."""
    step: int
    """IDs that a host gets at a time."""
    start: int
    """The first ID that it ever had; 1 where that is not known."""
    limit: int
    """The last ID that it may give."""
    updated: datetime
    """When somebody added or changed it last."""
    granted: typing.Optional[datetime]
    """The last grant."""


for _class in (Decoded, Bounds, TagInfo):
    _class.__module__ = "leaf"
del _class
