"""Each exception, and what is said to bad input and closed handles."""

import os
import pickle
import traceback
import unittest

import leaf
from support import STORE, StoreCase

# Nothing listens there.
AWAY = {"store": "postgresql://127.0.0.1:1/ids", "use_host_defaults": False, "timeout": 0}


class Errors(StoreCase):
    def raised(self, type, call):
        with self.assertRaises(leaf.Error) as caught:
            call()
        self.assertIs(caught.exception.__class__, type)
        return caught.exception

    def test_each_status_has_its_class(self):
        with self.store() as store:
            store.add("short", limit=2)
            failed = self.raised(leaf.Error, lambda: store.add("order", step=77))
            self.assertFalse(failed.retryable)
        self.raised(leaf.UsageError, lambda: self.tag("no tag"))
        missing = self.raised(leaf.NotFound, lambda: next(self.tag("ordr")))
        self.assertEqual(str(missing), "tag 'ordr' does not exist")
        self.assertTrue(missing.hint)
        self.assertFalse(missing.retryable)
        self.raised(leaf.Exhausted, lambda: self.tag("short").take(3))
        away = self.raised(leaf.Unavailable, lambda: next(leaf.allocator(**AWAY).tag("order")))
        self.assertTrue(away.retryable)
        os.mkdir(f"{self.folder}/open")
        os.chmod(f"{self.folder}/open", 0o777)
        self.raised(leaf.Refused, lambda: next(self.tag(runtime_dir=f"{self.folder}/open")))

    def test_what_one_may_expect_of_a_class(self):
        self.assertTrue(issubclass(leaf.UsageError, ValueError))
        self.assertTrue(issubclass(leaf.NotFound, LookupError))
        for type in leaf.UsageError, leaf.Unavailable, leaf.NotFound, leaf.Refused, leaf.Exhausted:
            self.assertTrue(issubclass(type, leaf.Error))
            self.assertEqual(type.__module__, "leaf")

    def test_a_traceback_shows_the_hint(self):
        missing = self.raised(leaf.NotFound, lambda: next(self.tag("ordr")))
        shown = traceback.format_exception(missing)
        self.assertEqual(shown[-2], "leaf.NotFound: tag 'ordr' does not exist\n")
        self.assertEqual(shown[-1], f"hint: {missing.hint}\n")

    def test_an_error_goes_to_other_processes(self):
        missing = self.raised(leaf.NotFound, lambda: next(self.tag("ordr")))
        again = pickle.loads(pickle.dumps(missing))
        self.assertIs(type(again), leaf.NotFound)
        self.assertEqual((str(again), again.hint), (str(missing), missing.hint))
        self.assertEqual(again.__notes__, missing.__notes__)

    def test_an_iteration_does_not_end_quietly(self):
        with self.store() as store:
            store.add("short", limit=2)
        drawn = []
        with self.assertRaises(leaf.Exhausted):
            for id in self.tag("short"):
                drawn.append(id)
        self.assertEqual(drawn, [1, 2])

    def test_a_store_that_is_not_there(self):
        if STORE == "sqlite":
            missing = f"sqlite:{self.folder}/missing/leaf.db"
        else:
            missing = f"{self.url}_missing"
        for draw in (
            lambda: next(leaf.allocator(missing, use_host_defaults=False, timeout=0).tag("order")),
            lambda: leaf.snowflake(missing, use_host_defaults=False, timeout=0),
            lambda: leaf.store(missing, use_host_defaults=False, timeout=0).tags(),
        ):
            with self.assertRaises(leaf.Error):
                draw()

    def test_values_out_of_bounds(self):
        order = self.tag()
        for count in -1, -(2**63), 2**63, -(2**63) - 1, 2**64, 10**5000:
            self.raised(leaf.UsageError, lambda: order.take(count))
            self.raised(leaf.UsageError, lambda: order.range(count))
        self.raised(leaf.UsageError, lambda: order.range(0))
        with self.assertRaises(MemoryError):
            order.take(2**60 - 1)
        with self.store() as store:
            for member, greatest in ("step", 1_000_000), ("start", 2**63 - 1), ("limit", 2**63 - 2):
                for value in 0, -1, 2**63, greatest + 1:
                    error = self.raised(leaf.UsageError, lambda: store.add("bad", **{member: value}))
                    self.assertEqual(str(error), f"{member} has to be from 1 to {greatest}")
            self.raised(leaf.UsageError, lambda: store.add("bad", description="x" * 257))
            store.add("none-left", start=2**63 - 1)
        self.raised(leaf.Exhausted, lambda: next(self.tag("none-left")))
        self.assertEqual(next(order), 1)

    def test_names_that_no_tag_can_have(self):
        allocator = self.allocator()
        with self.store() as store:
            for name in "", "no tag", "x" * 129, "täg", "a\0b", "a\n", "\udcff":
                for use in allocator.tag, store.add, store.tag:
                    self.raised(leaf.UsageError, lambda: use(name))
        with self.assertRaises(UnicodeEncodeError):
            allocator.tag("\ud800")

    def test_types_that_are_wrong(self):
        allocator = self.allocator()
        order = allocator.tag("order")
        store = self.store()
        for wrong in (
            lambda: order.take(),
            lambda: order.take(1.0),
            lambda: order.take("1"),
            lambda: order.take(None),
            lambda: order.range(1.0),
            lambda: order.try_next(1),
            lambda: allocator.tag(b"order"),
            lambda: allocator.tag(None),
            lambda: allocator.tag(),
            lambda: store.add(),
            lambda: store.add("x", 5),
            lambda: store.add("x", step="5"),
            lambda: store.add("x", description=5),
            lambda: store.add("x", colour="red"),
            lambda: store.tag(5),
        ):
            with self.assertRaises(TypeError):
                wrong()
        for open in leaf.allocator, leaf.snowflake, leaf.store:
            for wrong in (
                {"store": 5},
                {"store": b"sqlite:x"},
                {"runtime_dir": 5},
                {"config_file": 5},
                {"program": b"x"},
                {"timeout": "5"},
                {"host_buffer": 1},
                {"group": "no"},
                {"use_host_defaults": 0},
                {"worker": 5},
            ):
                with self.assertRaises(TypeError):
                    open(**wrong)
            with self.assertRaises(TypeError):
                open(self.url, self.run_dir)
        for wrong in {"worker_name": 5}, {"layout": 5}:
            with self.assertRaises(TypeError):
                leaf.snowflake(**wrong)
        with self.assertRaises(TypeError):
            leaf.allocator(layout="leaf")

    def test_options_that_make_no_sense(self):
        for open in leaf.allocator, leaf.snowflake, leaf.store:
            for wrong in (
                {"timeout": -1},
                {"timeout": float("nan")},
                {"timeout": float("-inf")},
                {"store": None},
                {"runtime_dir": None, "host_buffer": True},
                {"config_file": "/dev/null"},
                {"program": "a\0b"},
                {"store": "x:\0"},
            ):
                with self.assertRaises(leaf.UsageError):
                    open(**self.options(**wrong))
            with self.assertRaises(ValueError):
                open(**self.options(runtime_dir="a\0b"))
        for long in float("inf"), 1e300, 2**70:
            self.assertTrue(next(self.tag(timeout=long)))

    def test_a_timeout_is_in_seconds_and_0_is_one_attempt(self):
        for timeout, said in (0, "cannot connect"), (0.002, "could not fetch"), (0.0001, "within 1ms"):
            away = leaf.allocator(**AWAY | {"timeout": timeout}).tag("order")
            error = str(self.raised(leaf.Unavailable, lambda: next(away)))
            self.assertEqual("could not fetch" in error, timeout > 0)
            self.assertIn(said, error)

    def test_closed_handles(self):
        allocator, order = self.allocator(), self.tag()
        tag_of_closed = allocator.tag("order")
        next(tag_of_closed)
        allocator.close()
        order.close()
        generator, store = self.snowflake(), self.store()
        generator.close()
        store.close()
        for use in (
            lambda: allocator.tag("order"),
            allocator.__enter__,
            lambda: next(order),
            lambda: next(iter(order)),
            lambda: order.take(0),
            lambda: order.take(1),
            lambda: order.range(1),
            order.try_next,
            order.__enter__,
            lambda: next(tag_of_closed),
            lambda: tag_of_closed.take(1),
            lambda: next(generator),
            lambda: generator.take(1),
            lambda: generator.worker,
            lambda: generator.layout,
            generator.__enter__,
            lambda: store.add("x"),
            lambda: store.tag("order"),
            store.tags,
            store.__enter__,
        ):
            self.assertIn("is closed", str(self.raised(leaf.UsageError, use)))
        for handle in allocator, order, generator, store:
            handle.close()
        self.assertTrue(allocator.store)
        self.assertEqual(tag_of_closed.name, "order")


if __name__ == "__main__":
    unittest.main()
