#pragma once

#include <cstddef>
#include <memory>
#include <string>

struct ssl_st;
struct ssl_ctx_st;

namespace leafctl::serve {

/// A certificate with its key, as OpenSSL takes them: TLS 1.2 and later.
class TlsContext {
 public:
  /// Reads PEM files; what follows the certificate in its file is its chain. Throws leaf::Error (usage).
  TlsContext(const std::string& certificate_file, const std::string& key_file);

  ssl_ctx_st* get() const noexcept { return context_.get(); }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

/// The server's end of one connection over a socket that does not block.
class TlsSession {
 public:
  /// How far a call came.
  enum class Result {
    done,
    wants_read,   ///< nothing until the socket can be read
    wants_write,  ///< nothing until the socket can be written
    closed,       ///< by the other end, in order
    broken,
  };

  /// Throws std::bad_alloc.
  TlsSession(const TlsContext& context, int socket);

  Result read(char* to, std::size_t size, std::size_t& read);
  Result write(const char* from, std::size_t size, std::size_t& written);
  /// True if more can be read without the socket.
  bool has_more() const noexcept;
  /// Tells the other end that nothing follows.
  void close() noexcept;

 private:
  Result result_of(int returned) noexcept;

  struct Free {
    void operator()(ssl_st* session) const noexcept;
  };
  std::unique_ptr<ssl_st, Free> session_;
};

}  // namespace leafctl::serve
