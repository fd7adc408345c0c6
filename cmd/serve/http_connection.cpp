#include "serve/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <charconv>
#include <chrono>
#include <utility>

#include "serve/documents.hpp"
#include "serve/json_text.hpp"
#include "serve/loop.hpp"
#include "serve/server.hpp"
#include "text/time_text.hpp"

namespace leafctl::serve {

namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view problem_type = "application/problem+json";
constexpr std::string_view text_type = "text/plain;charset=utf-8";
constexpr const char* html_type = "text/html;charset=utf-8";
/// The page needs nothing from elsewhere.
constexpr std::string_view page_fields =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n";

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

unsigned status_of(const leaf::Error& error) noexcept {
  switch (error.code()) {
    case leaf::ErrorCode::usage:
      return 400;
    case leaf::ErrorCode::not_found:
      return 404;
    case leaf::ErrorCode::exhausted:
      return 409;
    case leaf::ErrorCode::unavailable:
    case leaf::ErrorCode::refused:
      return 503;
    default:
      return 500;
  }
}

std::string tinyid_error(int code, std::string_view message) {
  std::string json = fmt::format(R"({{"data":null,"code":{},"message":)", code);
  append_json(message, json);
  json += '}';
  return json;
}

/// Parameters may stand in the query, or in the body of a form.
std::optional<std::string> parameter(const HttpRequest& request, std::string_view name) {
  auto text = query_parameter(request.query, name);
  if (!text && request.content_type.starts_with("application/x-www-form-urlencoded"))
    text = query_parameter(request.body, name);
  return text ? decode_url_text(*text, true) : std::nullopt;
}

}  // namespace

HttpConnection::HttpConnection(Loop& loop, int socket, std::unique_ptr<TlsSession> tls, std::string remote)
    : Connection(loop, Protocol::http, socket, std::move(tls), std::move(remote)) {}

HttpConnection::~HttpConnection() {
  HttpConnection::abandon();
}

void HttpConnection::abandon() noexcept {
  if (draw_) draw_->drawer = nullptr;
  if (is_waiting_) *is_waiting_ = false;
}

void HttpConnection::append_late(std::string& out) {
  exchange_ = {.keep_alive = false};
  style_ = Style::own;
  kind_ = Kind::unknown;
  fail(408, "the request took too long to arrive", Outcome::bad_request, out);
}

Connection::Step HttpConnection::handle(std::string_view& input, std::string& out) {
  HttpRequest& request = loop().http_request();
  const HttpRequest::Parsed parsed = request.parse(input);
  if (parsed == HttpRequest::Parsed::incomplete) {
    if (request.expects_continue && !request.is_version_1_0 && !std::exchange(has_said_continue_, true))
      out += "HTTP/1.1 100 Continue\r\n\r\n";
    return Step::incomplete;
  }
  has_said_continue_ = false;
  style_ = Style::own;
  kind_ = Kind::unknown;
  tag_.clear();
  if (parsed == HttpRequest::Parsed::wrong) {
    exchange_ = {.keep_alive = false};
    fail(request.status, request.mistake, Outcome::bad_request, out);
    return Step::rejects;
  }
  exchange_ = {.method = request.method_text,
               .path = request.path,
               .is_head = request.method == HttpRequest::Method::head,
               .keep_alive = request.keep_alive && !is_finishing(),
               .is_version_1_0 = request.is_version_1_0};
  input.remove_prefix(request.size);
  return route(request, out);
}

Connection::Step HttpConnection::route(const HttpRequest& request, std::string& out) {
  const std::string_view path = request.path;
  if (request.method == HttpRequest::Method::other)
    return fail(405, "only GET, HEAD and POST are served", Outcome::bad_request, out,
                "Allow: GET, HEAD, POST\r\n");
  if (const auto rest = behind(path, "/v1/")) return route_own(request, *rest, out);
  if (const auto tag = behind(path, "/api/segment/get/")) {
    style_ = Style::leaf;
    return draw_from_path(request, *tag, Form::plain, out);
  }
  if (const auto key = behind(path, "/api/snowflake/get/")) {
    style_ = Style::leaf;
    if (key->empty()) return fail(500, "Key is none", Outcome::bad_request, out);
    return may_draw(request, snowflake_right, out) ? draw(request, {}, 1, Shape::any, Form::plain, out)
                                                   : step_after_answer();
  }
  if (const auto rest = behind(path, "/tinyid/id/")) return route_tinyid(request, *rest, out);
  if (path == "/decodeSnowflakeId") return decode_as_leaf(request, out);
  if (path == "/healthz") {
    kind_ = Kind::health;
    return answer(200, text_type, "ok\n", Outcome::ok, out);
  }
  if (path == "/readyz") {
    kind_ = Kind::health;
    return wait_for(
        [&drawing = loop().server().drawing()] {
          drawing.require_ready();
          return std::string("ready\n");
        },
        text_type.data());
  }
  if (path == "/") {
    kind_ = Kind::page;
    return answer(200, html_type, page_document(), Outcome::ok, out, page_fields);
  }
  if (path == "/openapi.json") {
    kind_ = Kind::page;
    return answer(200, json_type, openapi_document(), Outcome::ok, out);
  }
  const Overview& overview = loop().server().options().overview;
  if (path == "/metrics") {
    kind_ = Kind::metrics;
    if (!has_token(request, out)) return step_after_answer();
    return wait_for([&server = loop().server(), &overview] { return server.metrics() + overview.metrics(); },
                    "text/plain; version=0.0.4; charset=utf-8");
  }
  if (path == "/cache" || path == "/db") {
    kind_ = Kind::page;
    if (!has_token(request, out)) return step_after_answer();
    return wait_for(path == "/db" ? overview.store_page : overview.cache_page, html_type);
  }
  return fail(404, "there is nothing at this path", Outcome::not_found, out);
}

Connection::Step HttpConnection::route_own(const HttpRequest& request, Rest path, std::string& out) {
  if (const auto rest = behind(path, "tags/")) {
    const std::size_t slash = rest->find('/');
    if (slash != std::string_view::npos && rest->substr(slash) == "/next")
      return draw_with_query(request, rest->substr(0, slash), out);
  }
  if (path == "snowflake/next") return draw_with_query(request, {}, out);
  if (const auto id = behind(path, "decode/")) return decode(request, *id, out);
  if (path == "bounds") return find_bounds(request, out);
  if (path == "status") {
    kind_ = Kind::status;
    if (!has_token(request, out)) return step_after_answer();
    return wait_for(loop().server().options().overview.status, json_type.data());
  }
  return fail(404, "there is nothing at this path", Outcome::not_found, out);
}

Connection::Step HttpConnection::draw_with_query(const HttpRequest& request, std::string_view tag,
                                                 std::string& out) {
  std::uint64_t count = 1;
  Form form = Form::ids;
  if (!request.query.empty()) {
    if (const auto text = query_parameter(request.query, "n")) {
      const auto number = parse_number(*text);
      const std::int64_t most = loop().server().options().max_count;
      if (!number || *number < 1 || *number > most) {
        kind_ = tag.empty() ? Kind::snowflake : Kind::segment;
        return fail(400, fmt::format("'n' is a number from 1 to {}", most), Outcome::bad_request, out);
      }
      count = static_cast<std::uint64_t>(*number);
    }
    if (const auto text = query_parameter(request.query, "form")) {
      if (*text == "ranges") {
        form = Form::ranges;
      } else if (*text == "text") {
        form = Form::lines;
      } else if (*text != "ids") {
        return fail(400, "'form' is ids, ranges or text", Outcome::bad_request, out);
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
Connection::Step HttpConnection::draw_from_path(const HttpRequest& request, std::string_view tag, Form form,
                                                std::string& out) {
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
  if (path != "nextId" && path != "nextSegmentId")
    return fail(404, "there is nothing at this path", Outcome::not_found, out);
  const bool is_segment = path == "nextSegmentId";
  form_ = is_segment ? (is_simple ? Form::tinyid_segment_line : Form::tinyid_segment)
                     : (is_simple ? Form::tinyid_lines : Form::tinyid_list);
  const auto tag = parameter(request, "bizType");
  if (!tag || !leaf::TagName::is_valid(*tag))
    return fail(usage("a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -"), out);
  if (!may_draw(request, *tag, out)) return step_after_answer();
  const std::int64_t most = loop().server().options().max_count;
  std::int64_t count = 1;
  if (is_segment) {
    count = Draw::one_step;
  } else if (const auto text = parameter(request, "batchSize")) {
    const auto number = parse_number(*text);
    if (!number || *number < 1) return fail(usage("'batchSize' is a number from 1 on"), out);
    count = std::min(*number, most);
  }
  return draw(request, *tag, static_cast<std::uint64_t>(count), is_segment ? Shape::consecutive : Shape::any,
              form_, out);
}

Connection::Step HttpConnection::draw(const HttpRequest& request, std::string_view tag, std::uint64_t count,
                                      Shape shape, Form form, std::string& out) {
  kind_ = tag.empty() ? Kind::snowflake : Kind::segment;
  form_ = form;
  if (request.method == HttpRequest::Method::head)  // which must change nothing
    return answer(200, form == Form::plain || form == Form::lines ? text_type : json_type, {}, Outcome::ok,
                  out);
  if (request.is_from_other_site)
    return fail(403, "pages of other sites draw nothing here", Outcome::denied, out);
  tag_ = tag;
  std::int64_t id = 0;
  if (count == 1 && loop().drawing().try_next(tag, id)) {
    const leaf::Range one{id, id + 1};
    append_ranges({&one, 1}, out);
    return step_after_answer();
  }
  draw_ = std::make_shared<Draw>(Draw{.count = count, .shape = shape, .drawer = this});
  if (!loop().drawing().begin(tag, draw_)) {
    begin_waiting();
    return Step::waits;
  }
  append_drawn(out);
  return step_after_answer();
}

void HttpConnection::append_drawn(std::string& out) {
  const auto draw = std::exchange(draw_, nullptr);
  if (draw->error) {
    fail(*draw->error, out);
  } else {
    append_ranges(draw->ranges, out);
  }
}

void HttpConnection::append_ranges(std::span<const leaf::Range> ranges, std::string& out) {
  std::string& body = loop().body();
  body.clear();
  std::string_view type = json_type;
  const auto append_list = [&](std::string_view quote, std::string_view after) {
    append_texts(ranges, quote, after, body);
    body.pop_back();  // the comma
  };
  switch (form_) {
    case Form::plain:
      append_texts(ranges, {}, {}, body);
      type = text_type;
      break;
    case Form::lines:
      append_texts(ranges, {}, "\n", body);
      type = text_type;
      break;
    case Form::ids:
    case Form::ranges:
      body += '{';
      if (!tag_.empty()) {
        body += R"("tag":")";  // a tag's name needs no escapes
        body += tag_;
        body += "\",";
      }
      if (form_ == Form::ids) {
        body += R"("ids":[)";
        append_list("\"", "\",");
      } else {
        body += R"("ranges":[)";
        for (const leaf::Range range : ranges)
          body += fmt::format(R"({{"first":"{}","last":"{}"}},)", range.lo, range.hi - 1);
        body.pop_back();
      }
      body += "]}\n";
      break;
    case Form::tinyid_list:
      body += R"({"data":[)";
      append_list({}, ",");
      body += R"(],"code":200,"message":""})";
      break;
    case Form::tinyid_lines:
      append_list({}, ",");
      type = text_type;
      break;
    case Form::tinyid_segment:
    case Form::tinyid_segment_line: {
      // Its IDs lie behind the current one, up to the greatest; at a fifth of them the next ones are fetched.
      const std::int64_t current = ranges.front().lo - 1;
      const std::int64_t last = ranges.back().hi - 1;
      const std::int64_t loading = current + (last - current) / 5;
      if (form_ == Form::tinyid_segment) {
        body += fmt::format(
            R"({{"data":{{"maxId":{},"loadingId":{},"currentId":{},"delta":1,"remainder":0}},"code":200,"message":""}})",
            last, loading, current);
      } else {
        body += fmt::format("{},{},{},1,0", current, loading, last);
        type = text_type;
      }
      break;
    }
  }
  loop().statistics().count_ids(kind_, count_of(ranges));
  answer(200, type, body, Outcome::ok, out);
}

void HttpConnection::on_drawn() {
  std::string out;
  const auto begun = draw_->begun;
  exchange_.keep_alive = exchange_.keep_alive && !is_finishing();
  append_drawn(out);
  loop().count_waited(Protocol::http, begun);
  resume(out, !exchange_.keep_alive);
}

void HttpConnection::begin_waiting() {
  saved_path_ = exchange_.path;
  saved_method_ = exchange_.method;
  exchange_.path = saved_path_;
  exchange_.method = saved_method_;
}

Connection::Step HttpConnection::wait_for(std::function<std::string()> make, const char* content_type) {
  begin_waiting();
  content_type_ = content_type;
  is_waiting_ = std::make_shared<bool>(true);
  boost::asio::post(loop().server().helpers(), [this, &owner = loop(), is_waiting = is_waiting_,
                                                make = std::move(make), begun = loop().now()] {
    Document document;
    try {
      document.text = make();
    } catch (const leaf::Error& error) {
      document.error = error;
    } catch (const std::exception& error) {
      document.error = leaf::Error(leaf::ErrorCode::failed, error.what());
    }
    boost::asio::post(owner.context(), [this, &owner, is_waiting, document = std::move(document), begun] {
      if (!*is_waiting) return;
      is_waiting_.reset();
      std::string out;
      exchange_.keep_alive = exchange_.keep_alive && !is_finishing();
      append_document(document, out);
      owner.count_waited(Protocol::http, begun);
      resume(out, !exchange_.keep_alive);
    });
  });
  return Step::waits;
}

void HttpConnection::append_document(const Document& document, std::string& out) {
  if (document.error) {
    fail(*document.error, out);
  } else {
    answer(200, content_type_, document.text, Outcome::ok, out,
           content_type_ == html_type ? page_fields : std::string_view());
  }
}

/// By the layout that is asked for, or the store's.
Connection::Step HttpConnection::with_layout(const HttpRequest& request,
                                             std::function<std::string(const leaf::Layout&)> make,
                                             std::string& out) {
  try {
    std::optional<leaf::Layout> layout;
    if (const auto text = parameter(request, "layout")) {
      layout = leaf::Layout::parse(*text);
    } else {
      layout = loop().server().drawing().known_layout();
    }
    if (layout) return answer(200, json_type, make(*layout), Outcome::ok, out);
  } catch (const leaf::Error& error) {
    return fail(error, out);
  }
  return wait_for(
      [&drawing = loop().server().drawing(), make = std::move(make)] { return make(drawing.layout()); },
      json_type.data());
}

Connection::Step HttpConnection::decode(const HttpRequest& request, std::string_view text, std::string& out) {
  kind_ = Kind::decode;
  if (!has_token(request, out)) return step_after_answer();
  const auto id = parse_number(text);
  if (!id) return fail(400, "an ID is a decimal number of up to 63 bits", Outcome::bad_request, out);
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
  const auto from_text = parameter(request, "from");
  const auto to_text = parameter(request, "to");
  if (!from_text)
    return fail(400, "'from' is missing: a time such as 2022-06-28 or now-1h", Outcome::bad_request, out);
  return with_layout(
      request,
      [from_text, to_text](const leaf::Layout& layout) {
        const leaf::UnixTime now = current_time();
        const leaf::UnixTime from = parse_time("from", *from_text, now);
        const leaf::IdBounds bounds =
            to_text ? layout.bounds(from, parse_time("to", *to_text, now)) : layout.bounds(from);
        return fmt::format("{{\"first\":\"{}\",\"last\":\"{}\"}}\n", bounds.first, bounds.last);
      },
      out);
}

Connection::Step HttpConnection::decode_as_leaf(const HttpRequest& request, std::string& out) {
  style_ = Style::leaf;
  kind_ = Kind::decode;
  if (!has_token(request, out)) return step_after_answer();
  const auto text = parameter(request, "snowflakeId");
  if (!text)
    return fail(400, "Required String parameter 'snowflakeId' is not present", Outcome::bad_request, out);
  return answer(200, "application/json;charset=UTF-8", leaf_decoded_json(*text), Outcome::ok, out);
}

bool HttpConnection::may_draw(const HttpRequest& request, std::string_view right, std::string& out) {
  const auto tokens = loop().server().tokens();
  if (!tokens->is_needed()) return true;
  if (kind_ == Kind::unknown) kind_ = right == snowflake_right ? Kind::snowflake : Kind::segment;
  std::string text = token_in(request.authorization);
  if (text.empty() && style_ == Style::tinyid) text = parameter(request, "token").value_or("");
  const Token* const token = tokens->find(text);
  if (token == nullptr) {
    fail(401, "a token is needed", Outcome::denied, out, "WWW-Authenticate: Bearer\r\n");
    return false;
  }
  if (token->allows(right)) return true;
  fail(403, fmt::format("this token is not for '{}'", right), Outcome::denied, out);
  return false;
}

bool HttpConnection::has_token(const HttpRequest& request, std::string& out) {
  const auto tokens = loop().server().tokens();
  if (!tokens->is_needed() || tokens->find(token_in(request.authorization)) != nullptr) return true;
  fail(401, "a token is needed", Outcome::denied, out, "WWW-Authenticate: Bearer\r\n");
  return false;
}

Connection::Step HttpConnection::fail(const leaf::Error& error, std::string& out) {
  unsigned status = status_of(error);
  // Leaf knows no other failure.
  if (style_ == Style::leaf && status != 400) status = 500;
  return fail(status, error.what(), outcome_of(error), out, error.retryable() ? "Retry-After: 1\r\n" : "");
}

Connection::Step HttpConnection::fail(unsigned status, std::string_view detail, Outcome outcome,
                                      std::string& out, std::string_view fields) {
  switch (style_) {
    case Style::leaf:
      return answer(status, json_type, spring_error_json(status, detail, exchange_.path), outcome, out,
                    fields);
    case Style::tinyid:
      // As its clients expect: what failed is in the body, and a plain answer has none.
      if (status == 404 && kind_ == Kind::unknown) break;
      if (form_ == Form::tinyid_lines || form_ == Form::tinyid_segment_line)
        return answer(200, text_type, {}, outcome, out);
      return answer(200, json_type,
                    outcome == Outcome::denied ? tinyid_error(5, "token is error") : tinyid_error(6, detail),
                    outcome, out);
    case Style::own:
      break;
  }
  return answer(status, problem_type, problem_json(status, detail, name_of(outcome)), outcome, out, fields);
}

Connection::Step HttpConnection::answer(unsigned status, std::string_view content_type, std::string_view body,
                                        Outcome outcome, std::string& out, std::string_view fields) {
  append_response(exchange_, status, content_type, body, loop().date(), fields, out);
  loop().statistics().count_request(Protocol::http, kind_, outcome);
  loop().count_answered(Protocol::http);
  if (AccessLog* const log = loop().server().access_log())
    log->add({.remote = remote(),
              .protocol = Protocol::http,
              .method = exchange_.method,
              .subject = exchange_.path,
              .outcome = outcome,
              .status = status});
  return step_after_answer();
}

Connection::Step HttpConnection::step_after_answer() const noexcept {
  return exchange_.keep_alive ? Step::handled : Step::closes;
}

}  // namespace leafctl::serve
