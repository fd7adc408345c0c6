-- minimum reader: 6
-- Names of tags are compared by their bytes. An index that goes by the language of the database no longer finds a tag when
-- the operating system or ICU sorts otherwise, as after an upgrade or on a standby of another release; the tag would then
-- be added again, and begin at 1. The table stays in its file, and its index is made anew.

DO $bytes$
DECLARE
  kind text;
  place integer;
  found text;
  twice bigint;
BEGIN
  SELECT format_type(atttypid, atttypmod), attnum INTO kind, place FROM pg_attribute
  WHERE attrelid = 'leaf.leaf_alloc'::regclass AND attname = 'biz_tag' AND attcollation <> '"C"'::regcollation;
  IF kind IS NULL THEN
    RETURN;
  END IF;
  SELECT string_agg(DISTINCT r.ev_class::regclass::text, ', ') INTO found
  FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid
  WHERE d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass
    AND d.refobjid = 'leaf.leaf_alloc'::regclass AND d.refobjsubid = place;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'views keep column biz_tag of leaf_alloc as it is: %', found
      USING ERRCODE = 'dependent_objects_still_exist', HINT = 'drop them, and create them again afterwards';
  END IF;
  -- What such an index let in twice becomes one again: the row that has granted further.
  SELECT count(*) - count(DISTINCT biz_tag COLLATE "C") INTO twice FROM leaf.leaf_alloc;
  IF twice > 0 THEN
    ALTER TABLE leaf.leaf_alloc DISABLE TRIGGER leaf_alloc_never_gone;
    DELETE FROM leaf.leaf_alloc AS t USING (
      SELECT ctid AS row_at, row_number() OVER (
        PARTITION BY biz_tag COLLATE "C" ORDER BY max_id DESC, removed_at IS NOT NULL, ctid) AS n
      FROM leaf.leaf_alloc) AS ranked
    WHERE t.ctid = row_at AND n > 1;
    ALTER TABLE leaf.leaf_alloc ENABLE TRIGGER leaf_alloc_never_gone;
    UPDATE leaf.leaf_meta SET tags = tags - twice;
  END IF;
  EXECUTE format('ALTER TABLE %s ALTER COLUMN biz_tag TYPE %s COLLATE "C"', 'leaf.leaf_alloc'::regclass, kind);
END
$bytes$;
