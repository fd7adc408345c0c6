#include "overview/overview.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/missing_store.hpp"
#include "doctor/examination.hpp"
#include "doctor/supply_checks.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/version.hpp"
#include "metrics/metrics.hpp"
#include "settings/hinted_settings.hpp"
#include "tags/tag_supply.hpp"
#include "terminal/hint_text.hpp"
#include "terminal/remedy_text.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

/// For so long an answer counts.
constexpr std::chrono::seconds answer_lasts{2};
constexpr std::chrono::seconds checks_last{15};
/// Somebody looks on, who would rather see that the store does not answer.
constexpr milliseconds patience = std::chrono::seconds(2);

std::string id_text(std::int64_t id) {
  return std::to_string(id);
}

std::string time_text(leaf::UnixTime time) {
  return leaf::detail::format_rfc3339(time);
}

Json tag_json(const leaf::Tag& tag, const std::vector<TagOnHost>& on_host) {
  const TagOutlook outlook = outlook_of(tag, on_host);
  Json json{{"tag", tag.name},
            {"next_id", id_text(tag.next_id)},
            {"step", tag.step},
            {"limit", tag.limit ? Json(id_text(*tag.limit)) : Json()},
            {"left", id_text(outlook.ids.left)},
            {"seconds_left", outlook.seconds ? Json(std::llround(std::min(*outlook.seconds, 9e15))) : Json()},
            {"description", tag.description},
            {"updated", time_text(tag.updated_at)}};
  return json;
}

const char* state_of(const leaf::HostBuffer& buffer) {
  if (buffer.damaged) return "damaged";
  if (buffer.is_former) return "former";
  if (buffer.failures > 0) return "failing";
  return buffer.in_use ? "ok" : "empty";
}

Json buffer_json(const leaf::HostBuffer& buffer) {
  Json json;
  if (buffer.kind == leaf::HostBuffer::Kind::tag) {
    const auto left = static_cast<std::int64_t>(buffer.current.size() + buffer.next.size());
    json = {{"tag", buffer.name},
            {"left", left},
            {"next_ready", !buffer.next.empty()},
            {"step", buffer.step},
            {"drawn", buffer.drawn},
            {"per_minute", buffer.ids_per_second ? Json(std::llround(*buffer.ids_per_second * 60)) : Json()}};
  } else {
    json = {{"owner", buffer.name}};
    if (buffer.in_use) {
      json["worker"] = buffer.worker;
      json["layout"] = buffer.layout;
      json["window_end"] = time_text(buffer.next_window_end);
    }
  }
  json["state"] = state_of(buffer);
  json["fetches"] = buffer.fetches;
  json["failed_fetches"] = buffer.failed_fetches;
  json["fetched"] = buffer.in_use ? Json(time_text(buffer.fetched_at)) : Json();
  json["failure"] = buffer.failure.empty() ? Json() : Json(buffer.failure);
  json["store"] = buffer.store;
  return json;
}

Json store_json(const StoreAnswers& answers, const HintedOptions& hinted) {
  Json json{{"url", answers.url}, {"up", answers.is_up}};
  if (answers.failure) {
    json["failure"] = answers.failure->what();
    json["hint"] = with_options(hint_text(*answers.failure), hinted);
  }
  if (answers.health) {
    json["database"] = answers.health->database;
    json["version"] = answers.health->version;
    json["deployment"] = answers.health->deployment;
    json["clock_offset_ms"] = answers.health->clock_offset.count();
  }
  if (answers.layout) {
    json["layout"] = answers.layout->name();
    json["layout_ends"] = time_text(answers.layout->last_time());
  }
  return json;
}

Json workers_json(const StoreAnswers& answers, leaf::UnixTime now, const WorkerPolicy& policy) {
  if (!answers.worker_range || !answers.workers) return {};
  const leaf::UnixTime store_time = answers.health && answers.health->time ? *answers.health->time : now;
  const WorkerSupply supply = supply_of(*answers.workers, *answers.worker_range, store_time, policy);
  Json held = Json::array();
  for (const leaf::Worker& worker : *answers.workers) {
    if (worker.owner.empty()) continue;
    held.push_back({{"worker", worker.id},
                    {"owner", worker.owner},
                    {"leased", worker.leased},
                    {"window_end", time_text(worker.window_end)}});
  }
  return {{"total", supply.total}, {"free", supply.free}, {"held", held}};
}

Json check_json(const Check& check, const HintedOptions& hinted) {
  static constexpr const char* names[] = {"ok", "warning", "failed"};
  return {{"check", check.name},
          {"state", names[static_cast<std::size_t>(check.state)]},
          {"detail", with_options(check.detail, hinted)},
          {"hint", with_options(check.hint, hinted)},
          {"subject", check.subject}};
}

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// As Leaf's pages look without their style sheet.
std::string table_page(std::initializer_list<const char*> head,
                       const std::vector<std::vector<std::string>>& rows) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Leaf</title>\n"
      "<style>:root{color-scheme:light dark}body{font:14px sans-serif}table{border-collapse:collapse}"
      "td,th{padding:.4em .8em;border-bottom:1px solid #8884;text-align:left}</style>\n</head>\n<body>\n"
      "<table class=\"table table-hover\">\n<thead>\n<tr>";
  for (const char* const name : head) page += fmt::format("<th>{}</th>", name);
  page += "</tr>\n</thead>\n<tbody>\n";
  for (const auto& row : rows) {
    page += "<tr>";
    for (const std::string& cell : row) page += fmt::format("<td>{}</td>", escape_html(cell));
    page += "</tr>\n";
  }
  return page + "</tbody>\n</table>\n</body>\n</html>\n";
}

leaf::StoreOptions options_of(const Session& session) {
  leaf::StoreOptions options = session.store_options();
  options.timeout = std::min(options.timeout, patience);
  return options;
}

}  // namespace

StoreOverview::StoreOverview(const Session& session) : session_(session), options_(options_of(session)) {}

leaf::Store& StoreOverview::store() {
  if (!store_) store_.emplace(options_);
  return *store_;
}

const StoreAnswers& StoreOverview::answers(Time now) {
  if (!answers_ || now - asked_ > answer_lasts) {
    answers_ = ask_store(store(), session_.settings().store, session_.host());
    asked_ = std::chrono::steady_clock::now();
  }
  return *answers_;
}

const Checks& StoreOverview::checks(Time now) {
  if (!checks_ || now - checked_ > checks_last) {
    checks_ = examine(
        session_, [this] { return leaf::Store(options_); }, Asker::server);
    checked_ = std::chrono::steady_clock::now();
  }
  return *checks_;
}

std::vector<leaf::HostBuffer> StoreOverview::buffers() const {
  const auto host = session_.host();
  return host ? leaf::host_buffers(*host) : std::vector<leaf::HostBuffer>();
}

std::string StoreOverview::metrics() {
  const std::lock_guard lock(mutex_);
  const StoreAnswers& known = answers(std::chrono::steady_clock::now());
  const auto buffered = buffers();
  MetricsText metrics;
  add_host_metrics(metrics, buffered);
  add_store_metrics(metrics, known, buffered, current_time(), worker_policy(session_.settings()));
  return metrics.text();
}

std::string StoreOverview::status() {
  const std::lock_guard lock(mutex_);
  const auto asked = std::chrono::steady_clock::now();
  const StoreAnswers& known = answers(asked);
  const Checks& findings = checks(asked);
  const auto buffered = buffers();
  const leaf::UnixTime now = current_time();
  const HintedOptions hinted = hinted_options_elsewhere(session_.configuration);
  Json json{{"version", leaf::version()}, {"time", time_text(now)}, {"store", store_json(known, hinted)}};
  Json tags = Json::array();
  if (known.tags && known.identity) {
    const auto on_host = tags_on_host(buffered, *known.identity);
    for (const leaf::Tag& tag : *known.tags) tags.push_back(tag_json(tag, on_host));
  }
  json["tags"] = tags;
  json["buffers"] = Json::array();
  const auto served = known.identity ? known.identity : known_store(session_);
  for (const leaf::HostBuffer& buffer : buffered) {
    json["buffers"].push_back(buffer_json(buffer));
    json["buffers"].back()["served"] = served && buffer.is_of(*served);
  }
  json["workers"] = workers_json(known, now, worker_policy(session_.settings()));
  json["findings"] = Json::array();
  for (const Check& check : findings) json["findings"].push_back(check_json(check, hinted));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string StoreOverview::cache_page() {
  std::vector<std::vector<std::string>> rows;
  const auto store = known_store(session_);
  for (const leaf::HostBuffer& buffer : buffers()) {
    if (buffer.kind != leaf::HostBuffer::Kind::tag || !store || !buffer.is_of(*store)) continue;
    if (buffer.is_former || buffer.damaged) continue;
    const std::string step = std::to_string(buffer.step);
    rows.push_back({buffer.name, buffer.in_use ? "true" : "false", buffer.next.empty() ? "false" : "true",
                    "0", id_text(buffer.current.lo), id_text(buffer.current.hi), step,
                    id_text(buffer.next.lo), id_text(buffer.next.hi), step});
  }
  return table_page({"name", "init", "next", "pos", "value0", "max0", "step0", "value1", "max1", "step1"},
                    rows);
}

std::string StoreOverview::store_page() {
  const std::lock_guard lock(mutex_);
  const StoreAnswers& known = answers(std::chrono::steady_clock::now());
  if (!known.tags) throw leaf::Error(*known.failure);
  std::vector<std::vector<std::string>> rows;
  for (const leaf::Tag& tag : *known.tags)
    rows.push_back({tag.name, id_text(tag.next_id), std::to_string(tag.step), time_text(tag.updated_at)});
  return table_page({"tag", "max", "step", "update"}, rows);
}

}  // namespace leafctl
