"""IDs of tags and snowflakes, and that the shell draws from the same buffer."""

import array
import copy
import os
import pickle
import subprocess
import sys
import unittest
from datetime import datetime, timedelta, timezone

import leaf
from support import StoreCase


class Tags(StoreCase):
    step = 1000  # one segment for a test: where two fetches meet, IDs may be left out

    def test_one_many_and_a_run(self):
        order = self.tag()
        self.assertEqual(next(order), 1)
        self.assertIs(iter(order), order)
        self.assertEqual([id for _, id in zip(range(4), order)], [2, 3, 4, 5])
        ids = order.take(20)
        self.assertEqual(ids, array.array("q", range(6, 26)))
        self.assertEqual(memoryview(ids).format, "q")
        run = order.range(3)
        self.assertIsInstance(run, range)
        self.assertEqual(run.start, 26)
        self.assertIn(len(run), (1, 2, 3))
        self.assertEqual(next(order), run.stop)
        self.assertEqual(order.take(0), array.array("q"))
        self.assertEqual(order.take(True), array.array("q", [run.stop + 1]))

    def test_a_run_is_not_longer_than_asked_for(self):
        order = self.tag()
        got = []
        while len(got) < 100:
            run = order.range(7)
            self.assertTrue(1 <= len(run) <= 7)
            got += run
        self.assertEqual(got, list(range(1, len(got) + 1)))
        self.assertGreater(len(order.range(2**63 - 1)), 0)

    def test_more_than_a_segment(self):
        order = self.tag()
        drawn = [order.take(2500), [next(order)], order.take(100_000), order.range(10**6), order.take(1)]
        self.assertIncreasing([id for ids in drawn for id in ids])
        self.assertEqual([len(ids) for ids in drawn if not isinstance(ids, range)], [2500, 1, 100_000, 1])

    def test_the_shell_and_this_process_draw_in_turn(self):
        self.leafctl("next", "order", "-n", "40")
        order = self.tag()
        self.assertEqual(self.leafctl("next", "order"), "41")
        self.assertEqual(next(order), 42)
        self.assertEqual(self.leafctl("next", "order"), "43")
        self.assertEqual(list(order.take(2)), [44, 45])
        self.assertEqual(self.leafctl("next", "order"), "46")

    def test_without_options_it_goes_by_what_the_shell_does(self):
        self.leafctl("next", "order", "-n", "40")
        program = "import leaf; print(next(leaf.allocator().tag('order')))"
        drawn = subprocess.run(
            [sys.executable, "-c", program], env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        ).stdout
        self.assertEqual(drawn, "41\n")
        self.assertEqual(self.leafctl("next", "order"), "42")

    def test_try_next_never_fetches(self):
        order = self.tag(host_buffer=False)
        self.assertIsNone(order.try_next())
        self.assertEqual(next(order), 1)
        self.assertEqual(order.try_next(), 2)

    def test_what_handles_show(self):
        with self.allocator() as allocator:
            self.assertTrue(allocator.store.startswith(self.url.split(":")[0]))
            with allocator.tag("order") as order:
                self.assertEqual(order.name, "order")
                self.assertEqual(repr(order), "<leaf.Tag 'order'>")
                self.assertFalse(order.closed)
            self.assertEqual(repr(order), "<leaf.Tag 'order', closed>")
            self.assertTrue(order.closed)
            self.assertFalse(allocator.closed)
            other = allocator.tag("order")
        self.assertTrue(allocator.closed)
        self.assertTrue(other.closed)
        self.assertIn(", closed>", repr(allocator))
        allocator.close()
        other.close()

    def test_a_tag_keeps_its_allocator(self):
        order = leaf.allocator(**self.options()).tag("order")
        self.assertEqual(next(order), 1)

    def test_paths_may_be_paths(self):
        import pathlib

        self.assertEqual(next(self.tag(runtime_dir=pathlib.Path(self.run_dir))), 1)
        self.assertEqual(next(self.tag(runtime_dir=os.fsencode(self.run_dir))), 2)

    def test_all_options(self):
        file = os.path.join(self.folder, "leafctl.yaml")
        with open(file, "w") as out:
            print(f"store: '{self.url}'", file=out)
        with leaf.allocator(
            config_file=file,
            runtime_dir=self.run_dir,
            program="billing",
            timeout=2.5,
            host_buffer=True,
            group=False,
            use_host_defaults=True,
        ) as allocator:
            self.assertEqual(next(allocator.tag("order")), 1)
        self.assertEqual(self.leafctl("next", "order"), "2")


class Snowflakes(StoreCase):
    def test_they_increase_and_hold_what_the_generator_says(self):
        with self.snowflake(worker_name="here", layout="leaf") as generator:
            ids = [next(generator) for _ in range(1000)]
            ids += generator.take(10_000)
            self.assertIncreasing(ids)
            self.assertEqual(generator.layout, leaf.Layout("leaf"))
            decoded = generator.layout.decode(ids[-1])
            self.assertEqual(decoded.worker, generator.worker)
            self.assertLess(abs(datetime.now(timezone.utc) - decoded.time), timedelta(minutes=1))
            self.assertEqual(repr(generator), "<leaf.Snowflake>")
            self.assertIs(iter(generator), generator)
        self.assertTrue(generator.closed)
        self.assertEqual(repr(generator), "<leaf.Snowflake, closed>")

    def test_what_is_there_is_had_without_waiting(self):
        generator = self.snowflake()
        ids = [next(generator)]
        for _ in range(100_000):  # a thread that draws one after the other
            ids.append(next(generator))
            if (id := generator.try_next()) is not None:
                ids.append(id)
                break
        else:
            self.fail("none was ever there")
        self.assertIncreasing(ids)

    def test_the_shell_and_this_process_share_the_worker(self):
        name = subprocess.run(["hostname"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        generator = self.snowflake(worker_name=name)
        before = next(generator)
        between = int(self.leafctl("next", "--snowflake"))
        self.assertIncreasing([before, between, next(generator)])
        self.assertEqual(generator.layout.decode(between).worker, generator.worker)

    def test_a_layout_that_the_store_does_not_have(self):
        for layout in "twitter:41,5,5,12/1ms@0", leaf.Layout("twitter:41,5,5,12/1ms@0"):
            with self.assertRaises(leaf.UsageError):
                leaf.snowflake(**self.options(layout=layout))


class Objects(StoreCase):
    def test_handles_are_made_by_functions_and_stay_in_their_process(self):
        for type in leaf.Allocator, leaf.Tag, leaf.Snowflake, leaf.Store:
            with self.assertRaises(TypeError):
                type()
            with self.assertRaises(TypeError):
                type.attribute = 1
        for handle in self.allocator(), self.tag(), self.snowflake(), self.store():
            with self.assertRaises(TypeError):
                pickle.dumps(handle)
            with self.assertRaises(TypeError):
                copy.copy(handle)

    def test_all_have_a_docstring(self):
        for name in leaf.__all__:
            value = getattr(leaf, name)
            if isinstance(value, str):
                continue
            self.assertTrue(value.__doc__, name)
            if isinstance(value, type) and not issubclass(value, Exception):
                for member in vars(value):
                    if not member.startswith("_"):
                        self.assertTrue(getattr(value, member).__doc__, f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
