#pragma once

namespace leaf::store {

/// Every statement that the program sends, once for each database (`<database>/sql.cpp`). Parameters are $1,
/// $2, ... A "tag" is the columns biz_tag, max_id, step, start_id, id_limit, description, last change as Unix
/// milliseconds, incarnation, last grant likewise or NULL. A removed tag is not there for any of them, but
/// for add_tag, add_tags, tag, tags_named, all_tags and bury_tags.
struct Sql {
  /// Opens the migrations' transaction and waits for every other one to end.
  const char* begin_migration;
  /// What a migration needs besides in a script, where nobody has called Connection::find_tables; may be
  /// empty.
  const char* migration_settings;
  /// -> what a session of another holds, so that nobody else may write there, with its process, role, program
  /// or NULL, and beginning in Unix milliseconds or NULL; by process. Null where the database cannot tell.
  /// The first is asked without any lock; the second reads the tables.
  const char* locked_tables;
  const char* locked_rows;
  /// -> what the log of changes lacks, in words; it takes a schema that has one.
  const char* missing_events;
  /// -> triggers of the store's tables, 1 or 0: does it run, and what turns it on
  const char* triggers;
  /// -> keys that the store's tables lack, in words, and what makes them; absent where none can be dropped
  const char* missing_keys;
  /// -> functions beside the store's tables, as NAME/ARGUMENTS. Null: there are none.
  const char* functions_there;
  /// Leads the migration that makes the log, where it is run again; placed like that.
  const char* drop_event_triggers;
  /// -> what keeps grants or changes from the rows of the store's tables, the SQL that undoes it or NULL, 1
  /// if it keeps those of the present role from what grants need. Null: there is no such thing.
  const char* table_faults;
  /// -> 1 or 0: is there a table leaf_meta. See Connection::find_tables, which may do without.
  const char* schema_exists;
  /// -> schema version, deployment, 1 if grants survive a crash of the server, minimum reader and its release
  /// or NULL where the schema is older than these, and, where there are table_faults, 1 if there is none
  const char* schema;
  /// $1 version
  const char* set_schema_version;
  /// Writes where nothing is to be changed: once that lasts, so does all that was committed before. Null: a
  /// commit that others can see lasts.
  const char* confirm;
  /// $1 version, $2 release
  const char* raise_minimum_reader;
  /// -> deployment, and what names the server and the tables, or NULL. An "identity" is these two.
  const char* identity;
  /// $1 deployment, $2 the one that takes its place -> that. No row: it is another one.
  const char* begin_deployment;
  /// $1 and $2 as of begin_deployment: notes it among the events.
  const char* note_deployment;

  /// Gives the role {role}, quoted as a name and as {role_text} as a text, the rights of a runtime role and
  /// no more, on the tables whose names {schema} leads. Null: the store has no roles.
  const char* runtime_grants;
  /// $1 role -> 1 if it exists, 1 if it owns a table of the store
  const char* runtime_role;
  /// $1 role -> what it can do beyond runtime_grants; NULL: nothing
  const char* runtime_excess;

  // What others have made where the tables are: written as migrations are, run by Connection::run_script in a
  // transaction. Null: the store has no roles.

  /// -> what it is, its owner, the SQL that takes it over or drops it, or NULL
  const char* foreign_objects;
  /// Keeps what is there as it is until the transaction ends.
  const char* lock_tables;
  /// Fails, and names it, where there is any. @ stands for the statement `foreign_objects`.
  const char* refuse_foreign_objects;
  /// -> roles and PUBLIC, other than the owner, that may create in the schema of the tables, and that schema
  const char* schema_creators;
  /// -> roles that own that schema, or may draw and are members of its owner, though the tables and servers
  /// are not theirs; the schema, and the owner of the tables
  const char* schema_owners;

  // The functions for SQL. Null: the store can have none.

  /// As Store::install_functions() makes them, with @NAMES@ for what depends on the layout and on where they
  /// are.
  const char* functions;
  /// $1 schema, $2 1 if that is quoted where it has to be -> its name, quoted where it has to be, and as it
  /// is. No row: there is none.
  const char* schema_named;
  /// -> the layout's text; also from a schema that is older than `layout` takes
  const char* layout_text;
  /// $1 what leads the names of the tables -> for each schema that has functions for these: its name, their
  /// version, the schema version and the layout that they were made for, 1 if they were for this deployment,
  /// the store's layout and minimum reader, 1 if the present role may replace them, who may create beside
  /// them, what others have made, who else owns the schema, their owner, 1 if they look for the tables
  /// elsewhere
  const char* functions_found;

  /// -> the store's clock. Null: it has none but this host's.
  const char* clock;

  // The guard against a server that took the place of another and may lack its last commits. Null: the store
  // has no server.

  /// -> how many steps a tag leaves out when the server is another one
  const char* guard_steps;
  /// $1 steps
  const char* set_guard_steps;
  /// -> from when on workers are leased, the store's clock. Notices another server.
  const char* leases_from;
  /// -> what names the server, or NULL; 1 if it leased last; from when on workers are leased; the store's
  /// clock
  const char* failover;
  /// $1 server -> by name the tags that wait or have left out IDs, and the removed ones that wait: name, 1 if
  /// it waits, the server of its last change, what was left out or NULL, 1 if it is removed
  const char* failover_tags;
  /// $1 server as it was seen, $2 1 if nothing was lost -> the tags that waited: name, 1 if there was room
  /// for the guard, what was left out
  const char* settle_failover;

  /// $1 tag, $2 count, $3 floor -> lo, hi, step, limit, incarnation, 1 if the commit is durable and the
  /// database would have warned if it were not, identity, start. No row: no tag, fewer left, or the store has
  /// gone back: IDs from below the floor would be granted. A guard against another server counts before the
  /// floor.
  const char* grant_exactly;
  /// $1 tag, $2 wish, $3 floor -> as grant_exactly, with max(step, wish) IDs or what is left. No row: no tag,
  /// or none left.
  const char* grant_segment;

  /// $1 tag, $2 step, $3 start or NULL, $4 limit or NULL, $5 description, $6 1 if $4 may be just below the
  /// next ID -> the tag. No row: it exists, or it was removed and has passed $3 or $4.
  const char* add_tag;
  // Of many tags at once, $1 being JSON. Rows are locked in the order of their names.

  /// $1 names -> those that there are, each as `tag` gives it
  const char* tags_named;
  /// $1 objects with tag, step, start, id_limit, description, incarnation -> the tags that were added, each
  /// as add_tag does with 1 for $6
  const char* add_tags;
  /// $1 objects with tag, step, id_limit, description, raise_to -> the tags that were changed, each as
  /// update_tag does with 0 for $6
  const char* update_tags;
  /// $1 objects with tag, raise_to, is_added -> the tags that are removed now: those that were before, and of
  /// the others those with 1 for is_added, which this transaction has added
  const char* bury_tags;

  /// -> tags by name
  const char* tags;
  /// -> the same and those that were removed, each with 1 if it was: one look has no tag twice, or misses one
  const char* all_tags;
  /// $1 tag -> the tag, also one that was removed, 1 if it was, and the deployment; of a tag that is not
  /// there NULL but for the last. One look tells all of them apart.
  const char* tag;
  /// $1 text, $2 difference, $3 count -> at most so many names of tags that are as long but for the
  /// difference, or begin with the text
  const char* similar_tags;
  /// $1 tag, then new values or NULL to keep: $2 step, $3 limit, $4 description, $5 max_id at least; $6 1 to
  /// have no limit -> the tag
  const char* update_tag;
  /// $1 tag, $2 1 to write once more what may have been done -> its name
  const char* remove_tag;

  /// $1 tag or NULL for all, $2 the earliest -> time, who, program, event, tag, worker, detail, in order
  const char* events;

  // Workers. "Now" is the earlier of the store's clock and the caller's, which is a parameter, so that a host
  // that lags a little gets a window that it can use at once. Where the store is a file both clocks are one.
  // A "lease" is the columns worker_id, begin, end, 1 if the commit is durable, the identity, and the layout.
  // Acquiring: $1 owner, $2 token, $3 length, $4 begin at the earliest, $5 the caller's clock, $6 as named,
  // the limits of clocks ($7 and $8 of the store's, $8 of earlier grants to this owner, $9 of what this owner
  // gave up, $10 and $11 of the window's begin), $12 as named -> the lease. No row, and nothing written:
  // there is none to be had in this way. None outside of the range that the store leases, which triggers see
  // to as well. All times and lengths in (Unix) milliseconds.

  /// -> the layout's text, the first worker that the store leases, the last one or NULL for all of the
  /// layout, 1 if IDs were made with the layout, and the deployment
  const char* layout;
  /// $1 text, $2 its greatest worker -> the text. No row: another layout is in use, or the workers go beyond.
  const char* set_layout;
  /// $1 first, $2 last or NULL, $3 the layout's text, $4 the caller's clock -> first. No row: the layout is
  /// another one, or a worker outside is leased, which may be an error too. In a transaction.
  const char* set_workers;
  /// $6 greatest worker. One that this owner held, its window over or given back, else a free one, its window
  /// over.
  const char* acquire_held;
  /// $6 greatest worker. One never used.
  const char* acquire_new;
  /// $1 greatest worker, $2 the caller's clock -> 1 if acquire_new may succeed when it is tried again
  const char* has_new;
  /// $6 greatest worker, $12 silence. One whose owner was silent for so long, its window over.
  const char* acquire_silent;
  /// $6 worker, $12 silence. That one, if it is new, free, the owner's own or silent, its window over; or if
  /// this owner has given it back.
  const char* acquire_this;
  /// Writes $1, a positive number, as the offset of the latest worker -> its number, 1 if it was written. No
  /// row: there is none. To be tried out.
  const char* touch_worker;
  /// $1 worker, $2 token, $3 end of the last window, $4 length, $5 the caller's clock, the limits of clocks
  /// ($6 and $7 of the store's, $7 of earlier grants, $8 of the window's begin) -> the lease of the time
  /// after it. Safe to repeat: time that an attempt without a reply has leased lies under the same token. No
  /// row: lost, or out of the limits.
  const char* renew;

  // What the clocks are, to tell why nothing was leased: the store's, the latest grant, the latest end of
  // what was given up; NULL: never.

  /// $1 owner, $2 the caller's clock -> one row, of all that this owner has
  const char* owner_clocks;
  /// $1 worker, $2 token, $3 the caller's clock -> of that lease, and when it may be renewed at the earliest,
  /// if one of the clocks has not come to that. No row: lost.
  const char* lease_clocks;
  /// $1 worker, $2 token, $3 end of what was used, $4 1 to free it for other owners too -> worker
  const char* give_up;
  /// $1 owner, $2 token, $3 worker, $4 length of the windows -> the other workers under that token, which are
  /// given up whole: attempts whose reply was lost leased them, and nobody uses them.
  const char* give_up_others;
  /// $1 the caller's clock -> worker_id, owner, 1 if it has a token, window_end, renewed_at, clock_offset,
  /// silence, 1 if the store leases it
  const char* workers;
  /// $1 worker, $2 the caller's clock, $3 1 to take it from a holder in being -> worker. No row: none, or not
  /// over.
  const char* recycle;
  /// $1 owner, $2 worker or NULL for all -> workers
  const char* release;
  /// $1 the caller's clock, $2 silence -> workers
  const char* recycle_silent;
};

}  // namespace leaf::store
