-- minimum reader: 3
-- Programs of several releases share a store, each one that knows the minimum reader.

ALTER TABLE leaf_meta ADD COLUMN min_reader INTEGER NOT NULL DEFAULT 0;  -- the schema version that a program has to know
ALTER TABLE leaf_meta ADD COLUMN min_release TEXT;  -- the release that raised min_reader: it and later ones know it
