"""Unique 64-bit IDs from the buffers of this host.

    import leaf

    order = leaf.allocator().tag("order")
    next(order)           # an ID; order.take(1000) draws many, order.range(1000) a run of consecutive ones

    snowflake = leaf.snowflake()
    id = next(snowflake)
    snowflake.layout.decode(id).time

Everything may be used by any number of threads, and in the children of os.fork(): a server may open it before
it forks its workers. leaf.aio has the same for programs with an event loop.
"""

from functools import lru_cache as _lru_cache

from ._errors import Error, Exhausted, NotFound, Refused, Unavailable, UsageError
from ._records import Bounds, Decoded, TagInfo

try:
    from ._leaf import (
        Allocator,
        Layout,
        Snowflake,
        Store,
        Tag,
        allocator,
        libleaf_version,
        snowflake,
        store,
    )
except ImportError as _error:
    if "undefined symbol: leaf_" not in str(_error) and "version `LEAF_" not in str(_error):
        raise
    raise ImportError(f"libleaf is older than this module needs: upgrade libleaf ({_error})") from _error

__version__ = "0.1.0"

__all__ = [
    "Allocator",
    "Bounds",
    "Decoded",
    "Error",
    "Exhausted",
    "Layout",
    "NotFound",
    "Refused",
    "Snowflake",
    "Store",
    "Tag",
    "TagInfo",
    "Unavailable",
    "UsageError",
    "aio",
    "allocator",
    "bounds",
    "decode",
    "encode",
    "libleaf_version",
    "snowflake",
    "store",
]


def __getattr__(name):
    if name == "aio":  # imports asyncio, which takes longer than all the rest
        from importlib import import_module

        return import_module(".aio", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_layout = _lru_cache(maxsize=64, typed=True)(Layout)


def decode(id, /, layout="leaf"):
    """What is in an ID, as a Decoded."""
    return _layout(layout).decode(id)


def encode(time, worker=0, sequence=0, layout="leaf"):
    """The ID that holds these. A time is an aware datetime, or Unix milliseconds."""
    return _layout(layout).encode(time, worker, sequence)


def bounds(start, end, layout="leaf"):
    """The least and the greatest ID of the times from start to before end, as Bounds."""
    return _layout(layout).bounds(start, end)
