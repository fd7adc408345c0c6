// Which path leads to what, and what a request there may ask for.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "serve/documents.hpp"
#include "serve/http_connection.hpp"
#include "serve/loop.hpp"
#include "serve/server.hpp"
#include "text/time_text.hpp"

namespace leafctl::serve {

namespace {

/// What is left of `path` behind `prefix`; none if it does not begin with that.
std::optional<std::string_view> behind(std::string_view path, std::string_view prefix) noexcept {
  if (!path.starts_with(prefix)) return std::nullopt;
  return path.substr(prefix.size());
}

std::optional<std::int64_t> parse_number(std::string_view text) noexcept {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

leaf::Error usage(const std::string& what) {
  return {leaf::ErrorCode::usage, what};
}

}  // namespace

Connection::Step HttpConnection::route(const HttpRequest& request, std::string& out) {
  const std::string_view path = request.path;
  if (request.method == HttpRequest::Method::other)
    return fail(405, "only GET, HEAD and POST are allowed", Outcome::bad_request, out,
                "Allow: GET, HEAD, POST\r\n");
  if (const auto rest = behind(path, "/v1/")) return route_own(request, *rest, out);
  if (const auto tag = behind(path, "/api/segment/get/")) {
    style_ = Style::leaf;
    return draw_from_path(request, *tag, DrawnForm::plain, out);
  }
  if (const auto key = behind(path, "/api/snowflake/get/")) {
    style_ = Style::leaf;
    if (key->empty()) return fail(500, "Key is none", Outcome::bad_request, out);
    return may_draw(request, snowflake_right, out) ? draw(request, {}, 1, Shape::any, DrawnForm::plain, out)
                                                   : step_after_answer();
  }
  if (const auto rest = behind(path, "/tinyid/id/")) return route_tinyid(request, *rest, out);
  if (path == "/decodeSnowflakeId") return decode_as_leaf(request, out);
  if (path == "/healthz") {
    kind_ = Kind::health;
    return answer(200, text_type, "ok\n", Outcome::ok, out);
  }
  SharedAnswers& answers = loop().server().answers();
  if (path == "/readyz") {
    kind_ = Kind::health;
    may_see_why_ = knows_token(request);
    return wait_for(answers.readiness, text_type);
  }
  if (path == "/") {
    kind_ = Kind::page;
    return answer(200, html_type, page_document(), Outcome::ok, out, page_fields);
  }
  if (path == "/openapi.json") {
    kind_ = Kind::page;
    return answer(200, json_type, openapi_document(), Outcome::ok, out);
  }
  if (path == "/metrics") {
    kind_ = Kind::metrics;
    if (!has_token(request, out)) return step_after_answer();
    return wait_for(
        answers.metrics,
        [&server = loop().server()](const std::string& of_store) { return server.metrics() + of_store; },
        metrics_type);
  }
  if (path == "/cache" || path == "/db") {
    kind_ = Kind::page;
    if (!has_token(request, out)) return step_after_answer();
    return wait_for(path == "/db" ? answers.store_page : answers.cache_page, html_type);
  }
  return fail(404, "no such path", Outcome::not_found, out);
}

Connection::Step HttpConnection::route_own(const HttpRequest& request, Rest path, std::string& out) {
  if (const auto rest = behind(path, "tags/")) {
    const std::size_t slash = rest->find('/');
    if (slash != std::string_view::npos && rest->substr(slash) == "/next")
      return draw_with_parameters(request, rest->substr(0, slash), out);
  }
  if (path == "snowflake/next") return draw_with_parameters(request, {}, out);
  if (const auto id = behind(path, "decode/")) return decode(request, *id, out);
  if (path == "bounds") return find_bounds(request, out);
  if (path == "status") {
    kind_ = Kind::status;
    if (!has_token(request, out)) return step_after_answer();
    return wait_for(loop().server().answers().status, json_type);
  }
  return fail(404, "no such path", Outcome::not_found, out);
}

Connection::Step HttpConnection::draw_with_parameters(const HttpRequest& request, std::string_view tag,
                                                      std::string& out) {
  std::uint64_t count = 1;
  DrawnForm form = DrawnForm::ids;
  if (!request.query.empty() || !request.body.empty()) {
    if (const auto text = request.parameter("n")) {
      const auto number = parse_number(*text);
      const std::int64_t most = loop().server().options().max_count;
      if (!number || *number < 1 || *number > most) {
        kind_ = tag.empty() ? Kind::snowflake : Kind::segment;
        return fail(400, fmt::format("'n' must be a number from 1 to {}", most), Outcome::bad_request, out);
      }
      count = static_cast<std::uint64_t>(*number);
    }
    if (const auto text = request.parameter("form")) {
      if (*text == "ranges") {
        form = DrawnForm::ranges;
      } else if (*text == "text") {
        form = DrawnForm::lines;
      } else if (*text != "ids") {
        return fail(400, "'form' must be ids, ranges or text", Outcome::bad_request, out);
      }
    }
  }
  if (tag.empty() && request.path.starts_with("/v1/snowflake"))
    return may_draw(request, snowflake_right, out) ? draw(request, {}, count, Shape::any, form, out)
                                                   : step_after_answer();
  form_ = form;
  std::string decoded;
  if (tag.find('%') != std::string_view::npos) {
    decoded = decode_url_text(tag, false).value_or(std::string(1, '%'));
    tag = decoded;
  }
  kind_ = Kind::segment;
  if (!leaf::TagName::is_valid(tag))
    return fail(400, "a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -", Outcome::bad_request, out);
  return may_draw(request, tag, out) ? draw(request, tag, count, Shape::any, form, out) : step_after_answer();
}

/// Leaf answers whatever is wrong with 500.
Connection::Step HttpConnection::draw_from_path(const HttpRequest& request, std::string_view tag,
                                                DrawnForm form, std::string& out) {
  kind_ = Kind::segment;
  if (tag.empty()) return fail(500, "Key is none", Outcome::bad_request, out);
  std::string decoded;
  if (tag.find('%') != std::string_view::npos) {
    decoded = decode_url_text(tag, false).value_or(std::string(1, '%'));
    tag = decoded;
  }
  if (!leaf::TagName::is_valid(tag))
    return fail(500, "a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -", Outcome::bad_request, out);
  return may_draw(request, tag, out) ? draw(request, tag, 1, Shape::any, form, out) : step_after_answer();
}

Connection::Step HttpConnection::route_tinyid(const HttpRequest& request, Rest path, std::string& out) {
  style_ = Style::tinyid;
  kind_ = Kind::segment;
  const bool is_simple = path.ends_with("Simple");
  if (is_simple) path.remove_suffix(6);
  if (path != "nextId" && path != "nextSegmentId") return fail(404, "no such path", Outcome::not_found, out);
  const bool is_segment = path == "nextSegmentId";
  form_ = is_segment ? (is_simple ? DrawnForm::tinyid_segment_line : DrawnForm::tinyid_segment)
                     : (is_simple ? DrawnForm::tinyid_lines : DrawnForm::tinyid_list);
  const auto tag = request.parameter("bizType");
  if (!tag || !leaf::TagName::is_valid(*tag))
    return fail(usage("a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -"), Sought::parameters, out);
  if (!may_draw(request, *tag, out)) return step_after_answer();
  const std::int64_t most = loop().server().options().max_count;
  std::int64_t count = 1;
  if (is_segment) {
    count = Draw::one_step;
  } else if (const auto text = request.parameter("batchSize")) {
    const auto number = parse_number(*text);
    if (!number || *number < 1)
      return fail(usage("'batchSize' must be a positive number"), Sought::parameters, out);
    count = std::min(*number, most);
  }
  return draw(request, *tag, static_cast<std::uint64_t>(count), is_segment ? Shape::consecutive : Shape::any,
              form_, out);
}

/// By the layout that is asked for, or the store's.
Connection::Step HttpConnection::with_layout(const HttpRequest& request,
                                             std::function<std::string(const leaf::Layout&)> make,
                                             std::string& out) {
  try {
    std::optional<leaf::Layout> layout;
    if (const auto text = request.parameter("layout")) {
      layout = leaf::Layout::parse(*text);
    } else {
      layout = loop().server().drawing().recent_layout();
    }
    if (layout) return answer(200, json_type, make(*layout), Outcome::ok, out);
  } catch (const leaf::Error& error) {
    return fail(error, Sought::parameters, out);
  }
  return wait_for(
      loop().server().answers().layout,
      [&drawing = loop().server().drawing(), make = std::move(make)](const std::string&) {
        return make(drawing.known_layout().value());
      },
      json_type);
}

Connection::Step HttpConnection::decode(const HttpRequest& request, std::string_view text, std::string& out) {
  kind_ = Kind::decode;
  if (!has_token(request, out)) return step_after_answer();
  const auto id = parse_number(text);
  if (!id) return fail(400, "an ID must be a decimal number of at most 63 bits", Outcome::bad_request, out);
  return with_layout(
      request,
      [&overview = loop().server().options().overview, id = *id](const leaf::Layout& layout) {
        if (!layout.holds(id)) throw usage(fmt::format("no ID of layout '{}' can be {}", layout.name(), id));
        return overview.decode(layout, id);
      },
      out);
}

Connection::Step HttpConnection::find_bounds(const HttpRequest& request, std::string& out) {
  kind_ = Kind::bounds;
  if (!has_token(request, out)) return step_after_answer();
  const auto from_text = request.parameter("from");
  const auto to_text = request.parameter("to");
  if (!from_text)
    return fail(400, "'from' is missing: a time such as 2022-06-28 or now-1h", Outcome::bad_request, out);
  return with_layout(
      request,
      [from_text, to_text](const leaf::Layout& layout) {
        const leaf::UnixTime now = current_time();
        const leaf::UnixTime from = parse_bound("from", *from_text, now);
        const leaf::IdBounds bounds =
            to_text ? layout.bounds(from, parse_bound("to", *to_text, now)) : layout.bounds(from);
        return fmt::format("{{\"first\":\"{}\",\"last\":\"{}\"}}\n", bounds.first, bounds.last);
      },
      out);
}

Connection::Step HttpConnection::decode_as_leaf(const HttpRequest& request, std::string& out) {
  style_ = Style::leaf;
  kind_ = Kind::decode;
  if (!has_token(request, out)) return step_after_answer();
  const auto text = request.parameter("snowflakeId");
  if (!text)
    return fail(400, "Required String parameter 'snowflakeId' is not present", Outcome::bad_request, out);
  return answer(200, "application/json;charset=UTF-8", leaf_decoded_json(*text), Outcome::ok, out);
}

}  // namespace leafctl::serve
