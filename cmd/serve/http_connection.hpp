#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "serve/connection.hpp"
#include "serve/drawing.hpp"
#include "serve/drawn_body.hpp"
#include "serve/failure.hpp"
#include "serve/http_request.hpp"
#include "serve/http_response.hpp"
#include "serve/shared_answer.hpp"
#include "serve/tokens.hpp"

namespace leafctl::serve {

/// A client of HTTP: this server's own paths, and those of Leaf's and tinyid's.
class HttpConnection : public Connection, private Drawer {
 public:
  HttpConnection(Loop& loop, int socket, std::unique_ptr<TlsSession> tls, std::string remote);
  ~HttpConnection() override;

 private:
  /// Whose manner an answer is in.
  enum class Style { own, leaf, tinyid };
  using Rest = std::string_view;

  Step handle(std::string_view& input, std::string& out) override;
  void append_late(std::string& out) override;
  void abandon() noexcept override;
  void on_drawn() override;
  void on_late() override;
  std::chrono::milliseconds patience() const noexcept override;

  // In http_routes.cpp.
  Step route(const HttpRequest& request, std::string& out);
  Step route_own(const HttpRequest& request, Rest path, std::string& out);
  Step route_tinyid(const HttpRequest& request, Rest path, std::string& out);
  Step draw_with_parameters(const HttpRequest& request, std::string_view tag, std::string& out);
  Step draw_from_path(const HttpRequest& request, std::string_view tag, DrawnForm form, std::string& out);
  Step decode(const HttpRequest& request, std::string_view text, std::string& out);
  Step decode_as_leaf(const HttpRequest& request, std::string& out);
  Step find_bounds(const HttpRequest& request, std::string& out);
  Step with_layout(const HttpRequest& request, std::function<std::string(const leaf::Layout&)> make,
                   std::string& out);

  Step draw(const HttpRequest& request, std::string_view tag, std::uint64_t count, Shape shape,
            DrawnForm form, std::string& out);
  void append_drawn(std::string& out);
  void append_ranges(std::span<const leaf::Range> ranges, std::string& out);
  /// The document that `make` makes of what it is waited for.
  Step wait_for(SharedAnswer& shared, std::function<std::string(const std::string&)> make,
                std::string_view content_type);
  Step wait_for(SharedAnswer& shared, std::string_view content_type);
  void append_document(const SharedAnswer::Answer& found,
                       const std::function<std::string(const std::string&)>& make, std::string& out);
  void resume_with(std::string_view answer);

  bool may_draw(const HttpRequest& request, std::string_view right, std::string& out);
  bool knows_token(const HttpRequest& request) const;
  bool has_token(const HttpRequest& request, std::string& out);

  Step answer(unsigned status, std::string_view content_type, std::string_view body, Outcome outcome,
              std::string& out, std::string_view fields = {});
  Step fail(unsigned status, std::string_view detail, Outcome outcome, std::string& out,
            std::string_view fields = {});
  Step fail(const leaf::Error& error, Sought sought, std::string& out);
  Sought sought() const noexcept;
  Step step_after_answer() const noexcept;
  void begin_waiting();

  HttpExchange exchange_;
  Style style_ = Style::own;
  Kind kind_ = Kind::unknown;
  DrawnForm form_ = DrawnForm::ids;
  bool may_see_why_ = true;  ///< an error may tell of the store and this host
  std::string_view content_type_;
  bool has_said_continue_ = false;
  std::string tag_;
  // Copies for an answer that follows.
  std::string saved_path_;
  std::string saved_method_;
  std::shared_ptr<Draw> draw_;
  Awaited awaited_;
};

}  // namespace leafctl::serve
