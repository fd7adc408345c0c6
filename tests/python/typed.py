"""A program that a type checker reads."""

from array import array
from datetime import datetime, timezone
from typing import Iterator, Optional

import leaf


def draw() -> None:
    with leaf.allocator("sqlite:x", timeout=0.5, host_buffer=True) as allocator:
        order: leaf.Tag = allocator.tag("order")
        id: int = next(order)
        there: Optional[int] = order.try_next()
        ids: array[int] = order.take(id)
        run: range = order.range(1000)
        iterator: Iterator[int] = iter(order)
        print(there, ids, run, iterator, order.name.upper(), order.closed)


def make() -> datetime:
    with leaf.snowflake(worker_name="here", layout=leaf.Layout("leaf")) as generator:
        decoded: leaf.Decoded = generator.layout.decode(next(generator))
        worker: int = decoded.worker + generator.worker
        first, last = leaf.bounds(datetime.now(timezone.utc), 1)
        print(worker, first + last, leaf.encode(decoded.time, worker) + 1, leaf.decode(first, "leaf").unix_ms)
        return decoded.time


def look_after(store: leaf.Store) -> list[str]:
    try:
        store.add("order", step=5, description="")
    except leaf.UsageError as error:
        print(error.hint.upper(), error.retryable is True)
    return [tag.name for tag in store.tags() if tag.granted is None or tag.granted > tag.updated]


async def serve(order: leaf.Tag) -> int:
    ids: array[int] = await leaf.aio.take(order, 5)
    return await leaf.aio.next(order) + ids[0]
