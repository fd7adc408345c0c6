#include "doctor/nagios.hpp"

#include <doctest/doctest.h>

using leafctl::Check;
using leafctl::Checks;
using leafctl::CheckState;
using leafctl::nagios_line;
using leafctl::nagios_status;

TEST_CASE("nagios: the worst check counts, and is named first") {
  Checks checks{{"schema", CheckState::ok, "fine"}};
  CHECK(nagios_status(checks) == 0);
  CHECK(nagios_line(checks) == "LEAFCTL OK - 1 checks\n");
  checks.push_back({"clock", CheckState::warning, "is 3s off", "set it right"});
  CHECK(nagios_status(checks) == 1);
  CHECK(nagios_line(checks) == "LEAFCTL WARNING - clock: is 3s off\n");
  checks.insert(checks.begin(), {"tags", CheckState::failed, "tag 'a' has none left"});
  CHECK(nagios_status(checks) == 2);
  CHECK(nagios_line(checks) == "LEAFCTL CRITICAL - tags: tag 'a' has none left; clock: is 3s off\n");
}

TEST_CASE("nagios: measures are performance data, with seconds for their unit") {
  const Checks checks{
      {.name = "tags",
       .detail = "",
       .subject = "it's=o|k",
       .measures = {{"ids_left", std::int64_t{9'223'372'036'854'775'806}}, {"seconds_left", 2.5}}},
      {.name = "workers", .detail = "", .measures = {{"free", std::int64_t{7}}}}};
  CHECK(nagios_line(checks) ==
        "LEAFCTL OK - 2 checks | 'tags_it''s_o_k_ids_left'=9223372036854775806"
        " 'tags_it''s_o_k_seconds_left'=2.5s 'workers_free'=7\n");
}

TEST_CASE("nagios: nothing in a detail ends the line or begins the data") {
  CHECK(nagios_line({{"connection", CheckState::failed, "a|b\nc\x1b"}}) ==
        "LEAFCTL CRITICAL - connection: a/b\\nc\\x1b\n");
}
