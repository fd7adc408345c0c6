"""The tags of a store."""

import unittest
from datetime import datetime, timedelta, timezone

import leaf
from support import StoreCase


class Tags(StoreCase):
    def test_they_are_added_and_shown(self):
        store = self.store()
        self.assertIsNone(store.add("bill", step=50, start=100, limit=10_000, description="Rechnungen für alle"))
        store.add("bill", step=50, start=100, limit=10_000, description="Rechnungen für alle")
        bill = store.tag("bill")
        self.assertEqual(bill[:6], ("bill", "Rechnungen für alle", 100, 50, 100, 10_000))
        self.assertLess(abs(datetime.now(timezone.utc) - bill.updated), timedelta(minutes=1))
        self.assertIsNone(bill.granted)
        self.assertEqual(store.tags(), [bill, store.tag("order")])
        self.assertEqual(next(self.tag("bill")), 100)
        self.assertLess(abs(datetime.now(timezone.utc) - store.tag("bill").granted), timedelta(minutes=1))
        self.assertEqual(repr(store), "<leaf.Store>")

    def test_defaults(self):
        store = self.store()
        store.add("bill", step=None, start=None, limit=None, description=None)
        bill = store.tag("bill")
        self.assertEqual((bill.step, bill.start, bill.limit, bill.description), (1000, 1, 2**63 - 2, ""))

    def test_the_last_ids_there_are(self):
        store = self.store()
        store.add("last", start=2**63 - 3)
        last = self.tag("last")
        run = [*last.range(2)]
        run += [*last.range(1)] if len(run) < 2 else []
        self.assertEqual(run, [2**63 - 3, 2**63 - 2])
        with self.assertRaises(leaf.Exhausted):
            next(last)
        self.assertEqual(store.tag("last").next_id, 2**63 - 1)

    def test_one_that_is_missing(self):
        with self.assertRaises(leaf.NotFound):
            self.store().tag("ordr")


if __name__ == "__main__":
    unittest.main()
