#pragma once

#include <string>

#include "support/sql_session.hpp"

namespace leaf::test {

/// What a query of one value gives in `session`, or how it fails: "SQLSTATE|message|hint".
inline std::string verdict(SqlSession& session, const std::string& query) {
  if (session.value("SELECT to_regprocedure('pg_temp.verdict(text)') IS NULL") == "t")
    session.run(R"(CREATE FUNCTION pg_temp.verdict(query text) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE
      state text; message text; advice text; result text;
    BEGIN
      EXECUTE query INTO result;
      RETURN result;
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT, advice = PG_EXCEPTION_HINT;
      RETURN concat(state, '|', message, '|', advice);
    END $$)");
  // It runs behind a savepoint.
  return session.value("SELECT pg_temp.verdict($1) FROM set_config('leaf.draw_in_savepoints', 'on', true)",
                       {query});
}

}  // namespace leaf::test
