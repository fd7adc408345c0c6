-- minimum reader: 6
-- Where it is off, a backslash in what this function puts together would mean something else.

ALTER FUNCTION leaf.leaf_settle(oid, text, boolean, boolean) SET standard_conforming_strings = on;
