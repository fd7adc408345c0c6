"""Draws of programs with an event loop."""

import array
import asyncio
import unittest

import leaf
import leaf.aio
from support import StoreCase, refuse, silent_server


class Loops(StoreCase):
    def test_draws(self):
        async def draw(source):
            ids = [await leaf.aio.next(source)]
            ids += await leaf.aio.take(source, 5)
            ids += await asyncio.gather(*(leaf.aio.next(source) for _ in range(100)))
            return ids

        for source in self.tag(), self.snowflake():
            ids = asyncio.run(draw(source))
            self.assertEqual(len(ids), 106)
            self.assertNoneTwice(ids)
            self.assertIncreasing(ids[:6])
            self.assertIsInstance(asyncio.run(leaf.aio.take(source, 2)), array.array)

    def test_errors_come_back(self):
        with self.assertRaises(leaf.NotFound):
            asyncio.run(leaf.aio.next(self.tag("ordr")))
        with self.assertRaises(leaf.UsageError):
            asyncio.run(leaf.aio.take(self.tag(), -1))
        order = self.tag()
        order.close()
        with self.assertRaises(leaf.UsageError):
            asyncio.run(leaf.aio.next(order))

    def test_the_loop_goes_on_while_a_draw_waits(self):
        async def serve(url, server):
            with leaf.allocator(url, use_host_defaults=False, timeout=10) as allocator:
                order = allocator.tag("order")
                for draw in leaf.aio.next(order), leaf.aio.take(order, 5):
                    drawing = asyncio.ensure_future(draw)
                    connection, _ = await asyncio.get_running_loop().sock_accept(server)
                    self.assertFalse(drawing.done(), "the loop stood still")
                    drawing.cancel()
                    refuse(connection)
                    with self.assertRaises(asyncio.CancelledError):
                        await drawing

        with silent_server() as (url, server):
            server.setblocking(False)
            asyncio.run(serve(url, server))

    def test_what_is_there_comes_without_the_executor(self):
        with self.store() as store:
            store.add("wide", step=1000)
        wide = self.tag("wide")
        first = next(wide)
        coroutine = leaf.aio.next(wide)
        with self.assertRaises(StopIteration) as ended:
            coroutine.send(None)
        self.assertEqual(ended.exception.value, first + 1)


if __name__ == "__main__":
    unittest.main()
