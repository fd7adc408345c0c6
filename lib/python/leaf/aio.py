"""Draws that never hold up an event loop: what may wait does so in a thread of the loop's executor.

import leaf, leaf.aio

order = leaf.allocator().tag("order")
id = await leaf.aio.next(order)
ids = await leaf.aio.take(order, 1000)

IDs of a call that is cancelled are lost.
"""

import asyncio as _asyncio
from array import array as _array
from typing import Union as _Union

from . import Snowflake as _Snowflake
from . import Tag as _Tag

__all__ = ["next", "take"]


async def next(source: _Union[_Tag, _Snowflake], /) -> int:
    """The next ID of a Tag or Snowflake: at once if it is there to be taken."""
    id = source.try_next()
    return await _asyncio.to_thread(source.__next__) if id is None else id


async def take(source: _Union[_Tag, _Snowflake], count: int, /) -> "_array[int]":
    """An array of that many IDs in increasing order."""
    return await _asyncio.to_thread(source.take, count)
