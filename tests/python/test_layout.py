"""Snowflakes taken apart and put together."""

import copy
import pickle
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

import leaf

TIME = datetime(2026, 11, 20, 12, 30, 15, 250_000, tzinfo=timezone.utc)


class Layouts(unittest.TestCase):
    def test_an_id_that_is_put_together_comes_apart(self):
        id = leaf.encode(TIME, 7, sequence=9)
        decoded = leaf.decode(id)
        self.assertEqual(decoded, (TIME, 7, 9))
        self.assertIs(decoded.time.tzinfo, timezone.utc)
        self.assertEqual(decoded.unix_ms, 1_795_177_815_250)
        self.assertEqual(leaf.encode(decoded.unix_ms, 7, 9), id)
        self.assertEqual(leaf.encode(TIME.astimezone(timezone(timedelta(hours=5))), 7, 9), id)
        self.assertEqual(leaf.encode(TIME + timedelta(microseconds=999), 7, 9), id)

    def test_an_id_that_another_has_published(self):
        # The one that Discord's documentation takes apart.
        decoded = leaf.decode(175_928_847_299_117_063, "discord")
        self.assertEqual(decoded.time, datetime(2016, 4, 30, 11, 18, 25, 796_000, tzinfo=timezone.utc))
        self.assertEqual(decoded.sequence, 7)
        self.assertEqual(leaf.decode(175_928_847_299_117_063, layout=leaf.Layout("discord")), decoded)

    def test_bounds_hold_all_ids_of_a_time_and_no_other(self):
        end = TIME + timedelta(seconds=1)
        bounds = leaf.bounds(TIME, end)
        self.assertEqual(bounds.first, leaf.encode(TIME))
        self.assertEqual(bounds.last, leaf.encode(end) - 1)
        # Between two milliseconds: IDs of the one before are not in it.
        later = leaf.bounds(TIME + timedelta(microseconds=1), end + timedelta(microseconds=1))
        self.assertEqual(later.first, leaf.encode(TIME + timedelta(milliseconds=1)))
        self.assertEqual(later.last, leaf.encode(end + timedelta(milliseconds=1)) - 1)

    def test_layouts_are_values(self):
        layout = leaf.Layout("41,10,12")
        self.assertEqual(layout, leaf.Layout("leaf"))
        self.assertEqual(hash(layout), hash(leaf.Layout("leaf")))
        self.assertNotEqual(layout, leaf.Layout("baidu"))
        self.assertNotEqual(layout, "leaf")
        self.assertEqual(str(layout), "time:41,worker:10,sequence:12/1ms@1288834974657")
        self.assertEqual(eval(repr(layout)), layout)
        self.assertEqual(pickle.loads(pickle.dumps(layout)), layout)
        self.assertEqual(copy.deepcopy(layout), layout)
        self.assertIs(leaf.Layout(layout), layout)
        with self.assertRaises(TypeError):
            layout < layout

    def test_records_survive_pickle(self):
        decoded = leaf.decode(1)
        self.assertEqual(pickle.loads(pickle.dumps(decoded)), decoded)
        self.assertEqual(type(decoded).__module__, "leaf")

    def test_what_is_wrong_is_refused(self):
        layout = leaf.Layout("leaf")
        for wrong in (
            lambda: leaf.Layout("41,10,13"),
            lambda: leaf.Layout("le\0af"),
            lambda: leaf.Layout(""),
            lambda: layout.decode(-1),
            lambda: layout.decode(2**63),
            lambda: layout.decode(-(2**63) - 1),
            lambda: layout.decode(10**5000),
            lambda: layout.encode(TIME, 1024),
            lambda: layout.encode(TIME, -1),
            lambda: layout.encode(TIME, 2**64),
            lambda: layout.encode(TIME, 0, 4096),
            lambda: layout.encode(TIME.replace(tzinfo=None)),
            lambda: layout.bounds(TIME, TIME),
            lambda: layout.bounds(TIME, TIME - timedelta(seconds=1)),
        ):
            with self.assertRaises(leaf.UsageError):
                wrong()
        for wrong in (lambda: layout.encode(0), lambda: layout.encode(2**62), lambda: layout.encode(-(2**63))):
            with self.assertRaises(leaf.Exhausted):
                wrong()
        for wrong in (
            lambda: leaf.Layout(),
            lambda: leaf.Layout(41),
            lambda: leaf.Layout(b"leaf"),
            lambda: leaf.Layout("leaf", "leaf"),
            lambda: layout.decode("1"),
            lambda: layout.decode(1.0),
            lambda: layout.encode(1.5),
            lambda: layout.encode("today"),
            lambda: layout.encode(TIME.date()),
            lambda: layout.encode(TIME, "1"),
            lambda: layout.bounds(TIME),
            lambda: leaf.decode(),
            lambda: leaf.decode(1, 2),
        ):
            with self.assertRaises(TypeError):
                wrong()


if __name__ == "__main__":
    unittest.main()
