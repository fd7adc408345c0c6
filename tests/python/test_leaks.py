"""Nothing is left of what was done many times."""

import gc
import sys
import unittest

import leaf
from support import STORE, StoreCase


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


class Leaks(StoreCase):
    step = 1000

    def assertNothingLeft(self, work, rounds, bytes_of_round=40):
        """Of `work`: neither objects of Python nor memory of the library."""
        for _ in range(rounds // 4):  # what caches and the allocator keep
            work()
        gc.collect()
        blocks, resident = sys.getallocatedblocks(), resident_bytes()
        for _ in range(rounds):
            work()
        gc.collect()
        self.assertLess(sys.getallocatedblocks() - blocks, rounds // 2)
        self.assertLess(resident_bytes() - resident, rounds * bytes_of_round + 2_000_000)

    def test_draws(self):
        order, generator = self.tag(), self.snowflake()

        def work():
            next(order), next(generator), order.try_next(), generator.try_next()
            order.take(100), order.range(10), generator.take(10)

        self.assertNothingLeft(work, 5000)

    def test_errors(self):
        order, layout, store, allocator = self.tag("ordr"), leaf.Layout("leaf"), self.store(), self.allocator()
        closed = self.tag()
        closed.close()
        works = [
            lambda: closed.take(1),
            lambda: allocator.tag("no tag"),
            lambda: allocator.tag(5),
            lambda: layout.decode(-1),
            lambda: layout.encode(0),
            lambda: leaf.Layout("4x"),
            lambda: leaf.allocator(store="x", timeout=-1, runtime_dir="/x", program="x"),
            lambda: leaf.allocator(store="a\0b", config_file=b"/x"),
            lambda: leaf.snowflake(use_host_defaults=False, layout=layout, worker_name="x"),
            lambda: store.add("x", description="x", step=0),
        ]
        for work in works:

            def fail(work=work):
                with self.assertRaises((leaf.Error, TypeError)):
                    work()

            self.assertNothingLeft(fail, 2000)

        def fail_quickly():
            try:
                layout.decode(-1)
            except leaf.UsageError:
                pass

        self.assertNothingLeft(fail_quickly, 50_000, 10)

        def fail_in_the_store():
            with self.assertRaises(leaf.NotFound):
                store.tag("ordr")

        self.assertNothingLeft(fail_in_the_store, 500, 2000)

    def test_layouts_and_records(self):
        store = self.store()

        def work():
            layout = leaf.Layout("41,10,12")
            id = layout.encode(1_800_000_000_000, 5, 6)
            self.assertEqual(layout.decode(id).unix_ms, 1_800_000_000_000)
            layout.bounds(1_800_000_000_000, 1_800_000_001_000), str(layout), repr(layout), hash(layout)
            layout.__reduce__()

        self.assertNothingLeft(work, 5000)
        self.assertNothingLeft(store.tags, 500, 2000)

    def test_handles(self):
        allocator = self.allocator()

        def open_tag():
            with allocator.tag("order") as order:
                next(order)
            allocator.tag("order").close()
            next(allocator.tag("order"))

        def open_all():
            with leaf.allocator(**self.options()) as own:
                order = own.tag("order")
                next(order)
            leaf.allocator(**self.options())
            leaf.store(**self.options()).close()

        self.assertNothingLeft(open_tag, 2000)
        self.assertNothingLeft(open_all, 300 if STORE == "sqlite" else 50, 2000)

    def test_references_to_what_is_handed_out(self):
        allocator = self.allocator()
        before = sys.getrefcount(allocator)
        orders = [allocator.tag("order") for _ in range(10)]
        self.assertEqual(sys.getrefcount(allocator), before + 10)
        del orders
        self.assertEqual(sys.getrefcount(allocator), before)
        with allocator as same:
            self.assertIs(same, allocator)
        del same
        self.assertEqual(sys.getrefcount(allocator), before)


if __name__ == "__main__":
    unittest.main()
