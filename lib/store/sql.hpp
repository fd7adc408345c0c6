#pragma once

namespace leaf::store {

/// Every statement that the program sends, once for each database (`<database>/sql.cpp`). Parameters are $1,
/// $2, ... A "tag" is the columns biz_tag, max_id, step, start_id, id_limit, description, update_time as Unix
/// milliseconds, incarnation. A removed tag is not there for any of them, but for add_tag.
struct Sql {
  /// Opens the migrations' transaction and waits for every other one to end.
  const char* begin_migration;
  /// -> one row, 1 or 0: is there a table leaf_meta
  const char* schema_exists;
  /// -> schema version, deployment, 1 if grants survive a crash of the server
  const char* schema;
  /// $1 version
  const char* set_schema_version;

  /// $1 tag, $2 count -> lo, hi, step, limit, incarnation, 1 if the commit is durable. No row: no tag, or
  /// fewer left.
  const char* grant_exactly;
  /// $1 tag, $2 wish -> as grant_exactly, with max(step, wish) IDs or what is left. No row: no tag, or none
  /// left.
  const char* grant_segment;

  /// $1 tag, $2 step, $3 start or NULL, $4 limit or NULL, $5 description -> the tag.
  /// No row: it exists, or it was removed and has passed $3.
  const char* add_tag;
  /// -> tags by name
  const char* tags;
  /// $1 tag -> the tag
  const char* tag;
  /// $1 tag -> max_id of a removed tag
  const char* removed_tag;
  /// $1 tag, then new values or NULL to keep: $2 step, $3 limit, $4 description, $5 max_id at least; $6 1 to
  /// have no limit -> the tag
  const char* update_tag;
  /// $1 tag -> its name
  const char* remove_tag;
};

}  // namespace leaf::store
