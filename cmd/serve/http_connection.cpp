#include "serve/http_connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "serve/id_ranges.hpp"
#include "serve/loop.hpp"
#include "serve/server.hpp"

namespace leafctl::serve {

namespace {

constexpr std::chrono::milliseconds overview_patience{10'000};

}  // namespace

HttpConnection::HttpConnection(Loop& loop, int socket, std::unique_ptr<TlsSession> tls, std::string remote)
    : Connection(loop, Protocol::http, socket, std::move(tls), std::move(remote)) {}

HttpConnection::~HttpConnection() {
  HttpConnection::abandon();
}

void HttpConnection::abandon() noexcept {
  if (draw_) {
    draw_->drawer = nullptr;
    loop().drawing().abandon(tag_, *draw_);
    draw_.reset();
  }
  awaited_.forget();
}

void HttpConnection::append_late(std::string& out) {
  exchange_ = {.keep_alive = false};
  style_ = Style::own;
  kind_ = Kind::unknown;
  fail(408, "the request did not arrive in time", Outcome::bad_request, out);
}

Connection::Step HttpConnection::handle(std::string_view& input, std::string& out) {
  HttpRequest& request = loop().http_request();
  const HttpRequest::Parsed parsed = request.parse(input);
  if (parsed == HttpRequest::Parsed::incomplete) {
    while (input.starts_with("\r\n")) input.remove_prefix(2);  // else it would be a request that does not end
    if (request.expects_continue && !request.is_version_1_0 && !std::exchange(has_said_continue_, true))
      out += "HTTP/1.1 100 Continue\r\n\r\n";
    return Step::incomplete;
  }
  has_said_continue_ = false;
  style_ = Style::own;
  kind_ = Kind::unknown;
  may_see_why_ = true;
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

Connection::Step HttpConnection::draw(const HttpRequest& request, std::string_view tag, std::uint64_t count,
                                      Shape shape, DrawnForm form, std::string& out) {
  kind_ = tag.empty() ? Kind::snowflake : Kind::segment;
  form_ = form;
  if (request.method == HttpRequest::Method::head)  // which must change nothing
    return answer(200, content_type_of(form), {}, Outcome::ok, out);
  if (request.is_from_other_site)
    return fail(403, "pages of other sites cannot draw IDs", Outcome::denied, out);
  tag_ = tag;
  std::int64_t id = 0;
  if (count == 1 && loop().drawing().try_next(tag, id)) {
    const leaf::Range one{id, id + 1};
    append_ranges({&one, 1}, out);
    return step_after_answer();
  }
  draw_ = std::make_shared<Draw>(count, shape, static_cast<Drawer*>(this));
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
    fail(*draw->error, sought(), out);
  } else {
    append_ranges(draw->ranges, out);
  }
}

void HttpConnection::append_ranges(std::span<const leaf::Range> ranges, std::string& out) {
  std::string& body = loop().body();
  body.clear();
  append_drawn_body(form_, tag_, ranges, body);
  loop().statistics().count_ids(kind_, count_of(ranges));
  answer(200, content_type_of(form_), body, Outcome::ok, out);
}

void HttpConnection::on_drawn() {
  std::string out;
  exchange_.keep_alive = exchange_.keep_alive && !is_finishing();
  append_drawn(out);
  resume_with(out);
}

void HttpConnection::begin_waiting() {
  saved_path_ = exchange_.path;
  saved_method_ = exchange_.method;
  exchange_.path = saved_path_;
  exchange_.method = saved_method_;
}

Connection::Step HttpConnection::wait_for(SharedAnswer& shared,
                                          std::function<std::string(const std::string&)> make,
                                          std::string_view content_type) {
  begin_waiting();
  content_type_ = content_type;
  awaited_.ask(shared, loop().context(), [this, make = std::move(make)](const SharedAnswer::Answer& found) {
    std::string out;
    exchange_.keep_alive = exchange_.keep_alive && !is_finishing();
    append_document(found, make, out);
    resume_with(out);
  });
  return Step::waits;
}

Connection::Step HttpConnection::wait_for(SharedAnswer& shared, std::string_view content_type) {
  return wait_for(
      shared, [](const std::string& text) { return text; }, content_type);
}

void HttpConnection::append_document(const SharedAnswer::Answer& found,
                                     const std::function<std::string(const std::string&)>& make,
                                     std::string& out) {
  if (found.error) {
    fail(*found.error, sought(), out);
    return;
  }
  try {
    answer(200, content_type_, make(found.text), Outcome::ok, out,
           content_type_ == html_type ? page_fields : std::string_view());
  } catch (const leaf::Error& error) {
    fail(error, Sought::parameters, out);
  }
}

void HttpConnection::resume_with(std::string_view answer) {
  loop().count_waited(Protocol::http, waits_since());
  resume(answer, !exchange_.keep_alive);
}

void HttpConnection::on_late() {
  HttpConnection::abandon();
  std::string out;
  exchange_.keep_alive = exchange_.keep_alive && !is_finishing();
  fail(leaf::Error(leaf::ErrorCode::unavailable, "the answer did not come in time"), sought(), out);
  resume_with(out);
}

/// What is shown of a store that is away takes its time to find that out.
std::chrono::milliseconds HttpConnection::patience() const noexcept {
  const bool is_shown = kind_ == Kind::metrics || kind_ == Kind::status || kind_ == Kind::page;
  return std::max(Connection::patience(), is_shown ? overview_patience : std::chrono::milliseconds(0));
}

bool HttpConnection::may_draw(const HttpRequest& request, std::string_view right, std::string& out) {
  if (!loop().server().needs_token()) return true;
  const auto tokens = loop().server().tokens();
  if (kind_ == Kind::unknown) kind_ = right == snowflake_right ? Kind::snowflake : Kind::segment;
  std::string text = token_in(request.authorization);
  if (text.empty() && style_ == Style::tinyid) text = request.parameter("token").value_or("");
  const Token* const token = tokens->find(text);
  if (token == nullptr) {
    fail(401, "a token is required", Outcome::denied, out, "WWW-Authenticate: Bearer\r\n");
    return false;
  }
  if (token->allows(right)) return true;
  fail(403, fmt::format("this token does not allow '{}'", right), Outcome::denied, out);
  return false;
}

/// Whoever sends any token, or need not.
bool HttpConnection::knows_token(const HttpRequest& request) const {
  if (!loop().server().needs_token()) return true;
  return loop().server().tokens()->find(token_in(request.authorization)) != nullptr;
}

bool HttpConnection::has_token(const HttpRequest& request, std::string& out) {
  if (knows_token(request)) return true;
  fail(401, "a token is required", Outcome::denied, out, "WWW-Authenticate: Bearer\r\n");
  return false;
}

/// Of what is waited for.
Sought HttpConnection::sought() const noexcept {
  switch (kind_) {
    case Kind::segment:
      return Sought::tag;
    case Kind::snowflake:
      return Sought::snowflake;
    case Kind::health:
      return Sought::readiness;
    default:
      return Sought::document;
  }
}

Connection::Step HttpConnection::fail(const leaf::Error& error, Sought sought, std::string& out) {
  const Failure failure = failure_of(error.code(), sought);
  if (!may_see_why_) {
    const Failure shown = failure_of(leaf::ErrorCode::unavailable, sought);
    return answer(shown.status, problem_type, problem_json(shown.status, {}, name_of(shown.outcome)),
                  failure.outcome, out, shown.fields);
  }
  // Leaf knows no other failure.
  const unsigned status = style_ == Style::leaf ? 500 : failure.status;
  return fail(status, error.what(), failure.outcome, out, failure.fields);
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
      if (form_ == DrawnForm::tinyid_lines || form_ == DrawnForm::tinyid_segment_line)
        return answer(200, text_type, {}, outcome, out);
      return answer(
          200, json_type,
          outcome == Outcome::denied ? tinyid_error_json(5, "token is error") : tinyid_error_json(6, detail),
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
