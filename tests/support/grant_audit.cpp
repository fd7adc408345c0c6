#include "support/grant_audit.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace leaf::test {

GrantAudit::GrantAudit(const std::string& url) : url_(url), session_(url) {
  session_.run(R"(
    CREATE EXTENSION IF NOT EXISTS btree_gist;
    CREATE TABLE audit_committed (tag varchar, ids int8range, EXCLUDE USING gist (tag WITH =, ids WITH &&));
    CREATE TABLE audit_given (tag varchar, ids int8range, EXCLUDE USING gist (tag WITH =, ids WITH &&));
    CREATE FUNCTION audit_grant() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
    BEGIN
      INSERT INTO audit_committed VALUES (NEW.biz_tag, int8range(OLD.max_id, NEW.max_id));
      RETURN NULL;
    END
    $body$;
    CREATE TRIGGER audit_grant AFTER UPDATE OF max_id ON leaf_alloc
      FOR EACH ROW WHEN (NEW.max_id <> OLD.max_id) EXECUTE FUNCTION audit_grant();
  )");
}

void GrantAudit::given(const std::string& tag, leaf::Range range) {
  const std::vector<std::string> parameters{tag, std::to_string(range.lo), std::to_string(range.hi)};
  const std::string covering = session_.value(
      "SELECT count(*) FROM audit_committed WHERE tag = $1 AND ids @> int8range($2::bigint, $3::bigint)",
      parameters);
  if (covering != "1") {
    throw std::runtime_error(
        fmt::format("[{}, {}) of tag '{}' was given out but never granted", range.lo, range.hi, tag));
  }
  session_.rows("INSERT INTO audit_given VALUES ($1, int8range($2::bigint, $3::bigint))", parameters);
}

void GrantAudit::reconnect() {
  session_ = SqlSession(url_);
}

std::int64_t GrantAudit::committed(const std::string& tag) {
  return std::stoll(session_.value("SELECT count(*) FROM audit_committed WHERE tag = $1", {tag}));
}

std::int64_t GrantAudit::burnt(const std::string& tag) {
  return std::stoll(session_.value(
      "SELECT coalesce((SELECT sum(upper(ids) - lower(ids)) FROM audit_committed WHERE tag = $1), 0)"
      " - coalesce((SELECT sum(upper(ids) - lower(ids)) FROM audit_given WHERE tag = $1), 0)",
      {tag}));
}

}  // namespace leaf::test
