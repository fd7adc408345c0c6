-- For those who look at IDs in SQL. Made for one layout and one deployment; made again, it replaces what is there.
-- Between at signs, `store` leads the names of the store's tables, `here` those of the functions, and `unused` ends words
-- that are in none of these names: for them something is put in while this runs. No name stands in a comment, which a line
-- in it would end. The functions run as who calls them, who needs the rights of a runtime role to draw IDs and none to
-- read them. Bodies that PostgreSQL puts in the place of a call see the search_path of the caller: there each name,
-- operator and type is told in full.

DO $check$
DECLARE
  found text;
BEGIN
  IF NOT pg_has_role(current_user, (SELECT relowner FROM pg_class WHERE oid = @meta_text@::regclass), 'MEMBER') THEN
    RAISE EXCEPTION 'permission denied: the tables of the store are another role''s' USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT layout INTO found FROM @store@leaf_meta;
  IF found IS DISTINCT FROM '@layout@' THEN
    RAISE EXCEPTION 'the store has another layout by now: ''%''', found
      USING ERRCODE = 'LF008', HINT = 'make the functions for that one';
  END IF;
  -- What one replaces keeps its owner, who could make it do anything. A superuser trusts superusers alone.
  SELECT string_agg(format('%s of role ''%s''', p.oid::regprocedure, o.rolname), ', ') INTO found
  FROM pg_proc p JOIN pg_roles o ON o.oid = p.proowner JOIN pg_roles me ON me.rolname = current_user
  WHERE p.pronamespace = @here_text@::regnamespace AND p.proname = ANY ('@names@') AND o.oid <> me.oid AND NOT o.rolsuper
    AND (me.rolsuper OR NOT pg_has_role(me.oid, o.oid, 'MEMBER'));
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'functions of these names are another role''s: %', found
      USING ERRCODE = 'LF008', HINT = 'install them as that role, or drop those, or choose another schema';
  END IF;
  SELECT string_agg(p.oid::regprocedure::text, ', ') INTO found FROM pg_proc p
  WHERE p.pronamespace = @here_text@::regnamespace AND p.proname = ANY ('@names@')
    AND strpos(p.prosrc, E'\n-- leaf functions ') <> 1;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'there are other functions of these names: %', found
      USING ERRCODE = 'LF008', HINT = 'drop or rename those, or choose another schema';
  END IF;
END
$check$;

-- Errors. They are no part of an expression, and so need no pure SQL.

CREATE OR REPLACE FUNCTION @here@leaf_not_an_id(id bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
  COST 1 SET search_path = pg_catalog, pg_temp AS $body$
@marker@
BEGIN
  IF id < 0 THEN
    RAISE EXCEPTION '''%'' is not an ID: it is negative', id USING ERRCODE = 'numeric_value_out_of_range';
  END IF;
  RAISE EXCEPTION '''%'' is not an ID of layout ''@layout_name@''', id
    USING ERRCODE = 'numeric_value_out_of_range', HINT = 'they end with @last_id@ in @last_time@';
END
$body$;

CREATE OR REPLACE FUNCTION @here@leaf_not_a_time("time" timestamptz) RETURNS bigint LANGUAGE plpgsql IMMUTABLE STRICT
  PARALLEL SAFE COST 1 SET search_path = pg_catalog, pg_temp AS $body$
@marker@
BEGIN
  IF "time" < '@epoch@' THEN
    RAISE EXCEPTION 'time ''%'' is before the epoch of layout ''@layout_name@''', "time"
      USING ERRCODE = 'datetime_field_overflow', HINT = 'its first time is @first_time@';
  END IF;
  RAISE EXCEPTION 'time ''%'' is past the end of layout ''@layout_name@''', "time"
    USING ERRCODE = 'datetime_field_overflow', HINT = 'its last time is @last_time@';
END
$body$;

CREATE OR REPLACE FUNCTION @here@leaf_no_bounds(from_time timestamptz, to_time timestamptz) RETURNS bigint LANGUAGE plpgsql
  IMMUTABLE STRICT PARALLEL SAFE COST 1 SET search_path = pg_catalog, pg_temp AS $body$
@marker@
BEGIN
  IF NOT @is_ordered@ THEN
    RAISE EXCEPTION 'the IDs of layout ''@layout_name@'' have no bounds in time, which is not their first field'
      USING ERRCODE = 'feature_not_supported';
  ELSIF from_time < '@epoch@' OR from_time >= '@end@' THEN
    RETURN @here@leaf_not_a_time(from_time);
  ELSIF from_time >= to_time THEN
    RAISE EXCEPTION 'the end ''%'' of the stretch is not after its beginning ''%''', to_time, from_time
      USING ERRCODE = 'invalid_parameter_value';
  ELSIF to_time > '@end@' THEN
    RETURN @here@leaf_not_a_time(to_time);
  END IF;
  RAISE EXCEPTION 'no unit of layout ''@layout_name@'' begins from ''%'' to before ''%''', from_time, to_time
    USING ERRCODE = 'invalid_parameter_value', HINT = 'its times are @unit@ apart; take a longer stretch';
END
$body$;

-- What IDs hold. Each is one expression, so that it costs no call and finds an index.

CREATE OR REPLACE FUNCTION @here@leaf_time(id bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
@marker@
SELECT CASE WHEN @holds@
  THEN pg_catalog.timezone(interval '0', timestamp '1970-01-01' OPERATOR(pg_catalog.+) pg_catalog.make_interval(0, 0, 0,
    (@time_ms@ OPERATOR(pg_catalog./) 86400000::bigint)::integer, 0, 0,
    (@time_ms@ OPERATOR(pg_catalog.%) 86400000::bigint)::double precision OPERATOR(pg_catalog./) 1000::double precision))
  ELSE pg_catalog.to_timestamp(@here@leaf_not_an_id($1)::double precision) END
$body$;

CREATE OR REPLACE FUNCTION @here@leaf_worker(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
@marker@
SELECT CASE WHEN @holds@ THEN @worker@ ELSE @here@leaf_not_an_id($1) END
$body$;

CREATE OR REPLACE FUNCTION @here@leaf_sequence(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
@marker@
SELECT CASE WHEN @holds@ THEN @sequence@ ELSE @here@leaf_not_an_id($1) END
$body$;

-- Units of time since the epoch, from a time that is not infinite. In whole microseconds: extract() would round.
CREATE OR REPLACE FUNCTION @here@leaf_units("time" timestamptz, round_up bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
  PARALLEL SAFE AS $body$
@marker@
SELECT ((pg_catalog.timezone(interval '0', $1)::pg_catalog.date OPERATOR(pg_catalog.-) '1970-01-01'::pg_catalog.date)::bigint
  OPERATOR(pg_catalog.*) 86400000000::bigint
  OPERATOR(pg_catalog.+) (pg_catalog.date_part('epoch', pg_catalog.timezone(interval '0', $1)::time)
    OPERATOR(pg_catalog.*) 1000000::double precision)::bigint
  OPERATOR(pg_catalog.-) @epoch_us@::bigint OPERATOR(pg_catalog.+) $2) OPERATOR(pg_catalog./) @unit_us@::bigint
$body$;

CREATE OR REPLACE FUNCTION @here@leaf_id_at("time" timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $body$
@marker@
SELECT CASE WHEN $1 OPERATOR(pg_catalog.>=) '@epoch@'::timestamp with time zone
    AND $1 OPERATOR(pg_catalog.<) '@end@'::timestamp with time zone
  THEN @here@leaf_units($1, 0::bigint) OPERATOR(pg_catalog.<<) @time_shift@
  ELSE @here@leaf_not_a_time($1) END
$body$;

CREATE OR REPLACE FUNCTION @here@leaf_bounds(from_time timestamptz, to_time timestamptz)
  RETURNS TABLE (first bigint, last bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 1 AS $body$
@marker@
SELECT CASE WHEN @in_order@
    THEN CASE WHEN @here@leaf_units($1, @round_up@::bigint) OPERATOR(pg_catalog.<) @here@leaf_units($2, @round_up@::bigint)
      THEN @here@leaf_units($1, @round_up@::bigint) OPERATOR(pg_catalog.<<) @time_shift@
      ELSE @here@leaf_no_bounds($1, $2) END
    ELSE @here@leaf_no_bounds($1, $2) END,
  CASE WHEN @in_order@
    THEN CASE WHEN @here@leaf_units($1, @round_up@::bigint) OPERATOR(pg_catalog.<) @here@leaf_units($2, @round_up@::bigint)
      THEN ((@here@leaf_units($2, @round_up@::bigint) OPERATOR(pg_catalog.-) 1::bigint) OPERATOR(pg_catalog.<<) @time_shift@)
        OPERATOR(pg_catalog.|) @lower_bits@::bigint
      ELSE @here@leaf_no_bounds($1, $2) END
    ELSE @here@leaf_no_bounds($1, $2) END
$body$;

-- A grant, as the program takes it: the same statement, and what the program looks at in the answer. What it cannot know
-- is how the transaction ends: that is the caller's. The deployment is put in.
DO $grant$
BEGIN
  EXECUTE replace($function$
CREATE OR REPLACE FUNCTION @here@leaf_grant_ids(tag text, n bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE
  SET search_path = pg_catalog, pg_temp AS $body$
@marker@
#variable_conflict use_column
DECLARE
  first bigint;
  past bigint;
  durability integer;
  deployment uuid;
  reader integer;
  highest bigint;
  left_over text;
  shown text;
  as_word text;
BEGIN
  IF coalesce(tag, '') = '' OR octet_length(tag) > 128 OR tag ~ '[^A-Za-z0-9._:-]' COLLATE "C" THEN
    -- Nothing that moves the cursor of a terminal.
    shown := regexp_replace(left(tag, 128), '[^ -~]' COLLATE "C", '?', 'g') || CASE WHEN length(tag) > 128 THEN '...' ELSE '' END;
    RAISE EXCEPTION '%', CASE WHEN coalesce(tag, '') = '' THEN 'the name of a tag is empty'
                              WHEN octet_length(tag) > 128 THEN format('tag ''%s'' has a name of %s characters', shown, length(tag))
                              ELSE format('tag ''%s'' has a character that is not allowed', shown) END
      USING ERRCODE = 'invalid_parameter_value',
        HINT = 'a tag''s name has 1 to 128 characters of A-Z a-z 0-9 . _ : -';
  ELSIF n IS NULL OR n < 1 OR n > @most@ THEN
    RAISE EXCEPTION 'the number of IDs % is not from 1 to @most@', coalesce(n::text, 'NULL')
      USING ERRCODE = 'invalid_parameter_value';
  END IF;

  FOR attempt IN 1 .. 10 LOOP
    UPDATE @store@leaf_alloc AS t SET max_id = t.max_id + $2, last_grant = $2, update_time = now()
    WHERE t.biz_tag = $1 AND t.removed_at IS NULL
      AND $2 - 1 <= coalesce(t.id_limit, 9223372036854775806) - t.max_id
    RETURNING t.max_id - t.last_grant, t.max_id,
      CASE WHEN current_setting('synchronous_commit', true) = 'off'
             OR current_setting('client_min_messages', true) = 'error' THEN 0
           WHEN current_setting('synchronous_commit', true) = 'local'
             AND current_setting('synchronous_standby_names', true) <> '' THEN 5
           WHEN current_setting('session_replication_role', true) = 'replica' THEN 4
           WHEN NOT pg_relation_is_publishable(t.tableoid) THEN 2
           WHEN EXISTS (SELECT FROM pg_subscription_rel WHERE srrelid = t.tableoid) THEN 7
           WHEN split_part(t.granted_by, '.', 3) <> t.tableoid::text THEN 3
           -- The old row, put back by a trigger of somebody's.
           WHEN t.update_time <> now() THEN 8
           -- A row that a subtransaction wrote has its number.
           WHEN t.xmin <> pg_current_xact_id()::xid
             AND current_setting('leaf.draw_in_savepoints', true) IS DISTINCT FROM 'on' THEN 6 ELSE 1 END,
      (SELECT m.deployment FROM @store@leaf_meta AS m WHERE m.min_reader <= @schema_version@)
    INTO first, past, durability, deployment;
    EXIT WHEN first IS NOT NULL;

    SELECT coalesce(t.id_limit, 9223372036854775806), t.max_id INTO highest, past
    FROM @store@leaf_alloc AS t WHERE t.biz_tag = $1 AND t.removed_at IS NULL;
    as_word := CASE WHEN left(tag, 1) = '-' THEN '-- ' ELSE '' END || tag;
    left_over := CASE WHEN highest < past THEN format('tag ''%s'' is used up: its limit is %s', tag, highest)
                      ELSE format('tag ''%s'' has only %s left (limit %s)', tag,
                        CASE highest - past WHEN 0 THEN '1 ID' ELSE format('%s IDs', highest - past + 1) END, highest) END;
    IF highest IS NULL THEN
      RAISE EXCEPTION 'tag ''%'' does not exist', tag
        USING ERRCODE = 'undefined_object', HINT = format('create it with ''leafctl add-tag %s''', as_word);
    ELSIF n - 1 > highest - past AND highest < 9223372036854775806 THEN
      RAISE EXCEPTION '%', left_over
        USING ERRCODE = 'sequence_generator_limit_exceeded',
          HINT = format('raise it with ''leafctl tags update --limit ID %s''', as_word);
    ELSIF n - 1 > highest - past THEN
      RAISE EXCEPTION '%', left_over
        USING ERRCODE = 'sequence_generator_limit_exceeded', HINT = 'go on with another tag: no ID is greater';
    END IF;
    -- Somebody has changed it in between.
  END LOOP;

  IF first IS NULL THEN
    RAISE EXCEPTION 'tag ''%'' was changed by somebody else meanwhile', tag
      USING ERRCODE = 'serialization_failure', HINT = 'try again';
  END IF;
  IF durability = 3 THEN
    RAISE EXCEPTION 'table leaf_alloc was recreated without its triggers: IDs that were granted may come again'
      USING ERRCODE = 'LF002', HINT = 'put back the one that was there, or the whole store from a backup';
  ELSIF durability = 8 THEN
    RAISE EXCEPTION 'a trigger puts back the old row: IDs that were granted would come again'
      USING ERRCODE = 'LF002', HINT = 'drop the trigger on table leaf_alloc that returns OLD';
  ELSIF durability = 6 THEN
    RAISE EXCEPTION 'tag ''%'' is drawn from behind a savepoint: going back to it gives the IDs to others, whoever knows them', tag
      USING ERRCODE = 'invalid_transaction_state',
        HINT = 'draw before the savepoint, or before the block with EXCEPTION; or, where no ID is used after going back,'
        ' say ''SET leaf.draw_in_savepoints = on''';
  ELSIF durability <> 1 THEN
    PERFORM @store@leaf_require_durable(@alloc_text@::regclass::oid);
    RAISE EXCEPTION 'table leaf_alloc is not published: a crash of the server may empty it' USING ERRCODE = 'LF002';
  END IF;
  IF deployment IS DISTINCT FROM 'DEPLOYMENT@unused@' THEN
    SELECT m.deployment, m.min_reader INTO deployment, reader FROM @store@leaf_meta AS m;
    IF deployment IS NULL THEN
      RAISE EXCEPTION 'table leaf_meta has lost its row: the other tables may have lost some too'
        USING ERRCODE = 'LF008', HINT = 'restore the store from a backup; a new one repeats IDs';
    ELSIF reader > @schema_version@ THEN
      RAISE EXCEPTION 'the store asks for functions that know schema version %; these know @schema_version@', reader
        USING ERRCODE = 'LF008', HINT = 'install them again with ''leafctl init-db --functions''';
    END IF;
    RAISE EXCEPTION 'the store is deployment % now, and the functions are for DEPLOYMENT@unused@', deployment
      USING ERRCODE = 'LF008', HINT = 'look which store it is; if it is the right one, install them again with'
        ' ''leafctl init-db --functions''';
  END IF;
  IF first < 0 OR first >= past THEN
    RAISE EXCEPTION 'the store granted no valid range: [%, %)', first, past USING ERRCODE = 'internal_error';
  END IF;
  RETURN first;
END
$body$$function$, 'DEPLOYMENT@unused@', (SELECT deployment::text FROM @store@leaf_meta));
END
$grant$;

-- Of functions of one name PostgreSQL calls the one that fits best, whoever made it and in whichever schema of the
-- search_path. So there is one for each way to call these; what has no type goes to text.
-- Rows are what INSERT ... SELECT takes; whoever wants the ends asks for min() and max().
DO $next$
DECLARE
  tag text;
  n text;
BEGIN
  FOREACH tag IN ARRAY ARRAY['text', 'varchar'] LOOP
    EXECUTE replace($function$
CREATE OR REPLACE FUNCTION @here@leaf_next(tag pg_catalog.TAG@unused@) RETURNS bigint LANGUAGE sql VOLATILE AS $body$
@marker@
SELECT @here@leaf_grant_ids($1::pg_catalog.text, 1::bigint)
$body$;
COMMENT ON FUNCTION @here@leaf_next(pg_catalog.TAG@unused@) IS
  'the next ID of a tag. A rollback gives it back, and somebody else gets it: show it to nobody before the commit. Until then'
  ' everybody else who draws from this tag waits'$function$, 'TAG@unused@', tag);
    FOREACH n IN ARRAY ARRAY['int2', 'int4', 'int8', 'text'] LOOP
      EXECUTE replace(replace($function$
CREATE OR REPLACE FUNCTION @here@leaf_next(tag pg_catalog.TAG@unused@, n pg_catalog.NUMBER@unused@) RETURNS SETOF bigint
LANGUAGE sql VOLATILE AS $body$
@marker@
SELECT pg_catalog.generate_series(granted.first,
  granted.first OPERATOR(pg_catalog.+) $2::bigint OPERATOR(pg_catalog.-) 1::bigint)
FROM (SELECT @here@leaf_grant_ids($1::pg_catalog.text, $2::bigint) OFFSET 0) AS granted (first)
$body$;
COMMENT ON FUNCTION @here@leaf_next(pg_catalog.TAG@unused@, pg_catalog.NUMBER@unused@) IS
  'the next n IDs of a tag, in order. A rollback gives them back, and somebody else gets them: show them to nobody before the'
  ' commit. Until then everybody else who draws from this tag waits'$function$, 'TAG@unused@', tag), 'NUMBER@unused@', n);
    END LOOP;
  END LOOP;
END
$next$;

COMMENT ON FUNCTION @here@leaf_time(bigint) IS 'when a snowflake ID of layout @layout_name@ was made';
COMMENT ON FUNCTION @here@leaf_worker(bigint) IS 'the worker that made a snowflake ID of layout @layout_name@';
COMMENT ON FUNCTION @here@leaf_sequence(bigint) IS 'the sequence number in a snowflake ID of layout @layout_name@';
COMMENT ON FUNCTION @here@leaf_id_at(timestamptz) IS
  'the least snowflake ID of the unit of time that this falls in, in layout @layout_name@';
COMMENT ON FUNCTION @here@leaf_bounds(timestamptz, timestamptz) IS
  'the least and the greatest snowflake ID from the first time to before the second, in layout @layout_name@';
