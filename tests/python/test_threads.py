"""Threads that draw at once, and such as close what others draw from."""

import threading
import unittest

import leaf
from support import StoreCase, refuse, silent_server


class Threads(StoreCase):
    def run_all(self, *works):
        failures = []

        def run(work):
            try:
                work()
            except BaseException as error:
                failures.append(error)
                raise

        threads = [threading.Thread(target=run, args=(work,)) for work in works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_no_id_comes_twice(self):
        for source in self.tag(), self.snowflake():
            drawn = [[] for _ in range(6)]

            def draw(ids):
                for _ in range(300):
                    ids.append(next(source))
                    ids.extend(source.take(5))

            self.run_all(*(lambda ids=ids: draw(ids) for ids in drawn))
            for ids in drawn:
                self.assertIncreasing(ids)
            self.assertNoneTwice(*drawn)

    def test_others_run_while_a_call_waits_and_may_close_what_it_uses(self):
        with silent_server() as (url, server):
            calls = {
                "next": lambda allocator: next(allocator.tag("order")),
                "take": lambda allocator: allocator.tag("order").take(5),
                "range": lambda allocator: allocator.tag("order").range(5),
            }
            for name, call in calls.items():
                with self.subTest(name), leaf.allocator(url, use_host_defaults=False, timeout=10) as allocator:
                    self.wait_and_close(server, allocator, lambda: call(allocator))
            for name in "tags", "tag", "add":
                arguments = () if name == "tags" else ("order",)
                with self.subTest(name), leaf.store(url, use_host_defaults=False, timeout=10) as store:
                    self.wait_and_close(server, store, lambda: getattr(store, name)(*arguments))

    def wait_and_close(self, server, handle, call):
        """`call` waits for the server: to accept its connection, and to close `handle`, is for this thread."""
        ended = threading.Event()
        errors = []

        def wait():
            try:
                call()
            except leaf.Error as error:
                errors.append(error)
            ended.set()

        thread = threading.Thread(target=wait)
        thread.start()
        connection, _ = server.accept()
        self.assertFalse(ended.is_set(), "the call let no other thread run")
        handle.close()
        self.assertTrue(handle.closed)
        self.assertFalse(ended.is_set(), "close() has waited for the call")
        refuse(connection)
        thread.join()
        # It has waited until now: no timeout came before.
        self.assertIn("password authentication failed", str(errors))
        with self.assertRaises(leaf.UsageError):
            handle.__enter__()

    def test_to_close_at_any_moment_harms_nobody(self):
        drawn = [[] for _ in range(4)]
        shared = {}
        has_drawn, is_over = threading.Event(), threading.Event()

        def draw(ids):
            while not is_over.is_set():
                try:
                    ids.append(next(shared["tag"]))
                    has_drawn.set()
                    ids.extend(shared["tag"].take(3))
                    ids.extend(shared["tag"].range(3))
                    ids.append(next(shared["allocator"].tag("order")))
                except leaf.UsageError as error:
                    if "is closed" not in str(error):
                        raise

        def reopen():
            try:
                has_drawn.wait(60)  # or all could be closed before the first call ends
                for round in range(60):
                    old = dict(shared)
                    shared["allocator"] = leaf.allocator(**self.options(host_buffer=round % 2 == 0))
                    shared["tag"] = shared["allocator"].tag("order")
                    old["tag"].close()
                    old["allocator"].close()
            finally:
                is_over.set()

        shared["allocator"] = self.allocator()
        shared["tag"] = shared["allocator"].tag("order")
        self.run_all(reopen, *(lambda ids=ids: draw(ids) for ids in drawn))
        shared["allocator"].close()
        self.assertNoneTwice(*drawn)
        self.assertTrue(any(drawn))

    def test_generators_too(self):
        drawn = [[] for _ in range(3)]
        shared = {"generator": self.snowflake()}
        is_over = threading.Event()

        def draw(ids):
            while not is_over.is_set():
                try:
                    ids.append(next(shared["generator"]))
                    ids.extend(shared["generator"].take(3))
                    shared["generator"].worker, shared["generator"].layout
                except leaf.UsageError as error:
                    if "is closed" not in str(error):
                        raise

        def reopen():
            try:
                for _ in range(30):
                    old, shared["generator"] = shared["generator"], leaf.snowflake(**self.options())
                    old.close()
            finally:
                is_over.set()

        self.run_all(reopen, *(lambda ids=ids: draw(ids) for ids in drawn))
        shared["generator"].close()
        self.assertNoneTwice(*drawn)


if __name__ == "__main__":
    unittest.main()
