"""Servers that open before they fork, and children that are killed."""

import itertools
import os
import random
import threading
import unittest

import leaf
from support import Child, StoreCase

CHILDREN = 8
IDS = 2000


class Forks(StoreCase):
    step = 100

    def storm(self, source):
        """Draws in this process while it forks, in its children, and afterwards."""
        before = [next(source) for _ in range(10)]
        is_over = threading.Event()
        own = []

        def draw_until_over():
            while not is_over.is_set():
                own.append(next(source))
                own.extend(source.take(3))

        def draw_in_child():
            yield from itertools.islice(source, IDS)
            yield from source.take(IDS)

        thread = threading.Thread(target=draw_until_over)
        thread.start()
        try:
            children = [Child(draw_in_child) for _ in range(CHILDREN)]
            ends = [child.end() for child in children]
        finally:
            is_over.set()
            thread.join()
        for ids, status in ends:
            self.assertEqual(status, 0)
            self.assertEqual(len(ids), 2 * IDS)
            self.assertIncreasing(ids)
        self.assertIncreasing(before + own)
        self.assertNoneTwice(before, own, *(ids for ids, _ in ends))

    def test_children_draw_from_the_tag_that_their_parent_opened(self):
        self.storm(self.tag())

    def test_children_get_buffers_of_their_own_where_the_parent_has_one(self):
        with leaf.allocator(**self.of_one_process()) as allocator:
            self.storm(allocator.tag("order"))

    def test_children_draw_from_the_generator_that_their_parent_opened(self):
        self.storm(self.snowflake())

    def test_a_generator_of_one_process_is_none_of_its_children(self):
        with leaf.snowflake(**self.of_one_process(worker_name="parent")) as generator:
            next(generator)

            def draw_in_child():
                for use in lambda: next(generator), lambda: generator.take(1), lambda: generator.worker:
                    try:
                        use()
                        raise AssertionError("the child used its parent's worker")
                    except leaf.Error as error:
                        assert type(error) is leaf.Error and "fork" in error.hint, error
                generator.close()
                with leaf.snowflake(**self.of_one_process(worker_name="child")) as own:
                    yield next(own)

            ids, status = Child(draw_in_child).end()
            self.assertEqual((len(ids), status), (1, 0))
            self.assertNotIn(next(generator), ids)

    def test_children_close_what_they_inherit(self):
        with self.allocator() as allocator, self.snowflake() as generator, self.store() as store:
            order = allocator.tag("order")
            first = next(order)

            def close_and_open():
                store.add("of_child")
                for handle in order, allocator, generator, store:
                    handle.close()
                with leaf.allocator(**self.options()) as own:
                    yield next(own.tag("order"))

            ids, status = Child(close_and_open).end()
            self.assertEqual(status, 0)
            self.assertIncreasing([first, *ids, next(order)])
            next(generator)
            self.assertEqual(store.tag("of_child").next_id, 1)

    def test_children_that_are_killed_take_nothing_along(self):
        randomness = random.Random(1)
        order, generator = self.tag(), self.snowflake()
        for source in order, generator:
            drawn = []
            for _ in range(3):
                children = [Child(lambda: source) for _ in range(4)]
                for child in randomness.sample(children, len(children)):
                    drawn.append(child.read(randomness.randrange(1, 500)))
                    child.kill()
                for child in children:
                    ids, status = child.end()
                    self.assertEqual(status, -9)
                    drawn.append(ids)
                drawn.append([next(source)])
            self.assertNoneTwice(*drawn)

    def test_multiprocessing(self):
        import multiprocessing

        order = self.tag()
        next(order)
        with multiprocessing.get_context("fork").Pool(2, _open, (self.options(),)) as pool:
            lists = pool.map(_take, [100] * 20, chunksize=1)
        self.assertNoneTwice([next(order)], *lists)


def _open(options):
    global _order
    _order = leaf.allocator(**options).tag("order")


def _take(count):
    return list(_order.take(count))


if __name__ == "__main__":
    unittest.main()
