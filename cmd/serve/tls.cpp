#include "serve/tls.hpp"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <new>

#include "leaf/error.hpp"

namespace leafctl::serve {

namespace {

leaf::Error file_error(const char* what, const std::string& file) {
  char reason[256];
  ERR_error_string_n(ERR_peek_last_error(), reason, sizeof reason);
  ERR_clear_error();
  return {leaf::ErrorCode::usage, fmt::format("cannot use {} '{}': {}", what, file, reason)};
}

}  // namespace

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept {
  SSL_CTX_free(context);
}

void TlsSession::Free::operator()(ssl_st* session) const noexcept {
  SSL_free(session);
}

TlsContext::TlsContext(const std::string& certificate_file, const std::string& key_file)
    : context_(SSL_CTX_new(TLS_server_method())) {
  if (!context_) throw std::bad_alloc();
  SSL_CTX* const context = context_.get();
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context,
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1)
    throw file_error("certificate", certificate_file);
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1)
    throw file_error("key", key_file);
}

TlsSession::TlsSession(const TlsContext& context, int socket) : session_(SSL_new(context.get())) {
  if (!session_ || SSL_set_fd(session_.get(), socket) != 1) throw std::bad_alloc();
  SSL_set_accept_state(session_.get());
}

TlsSession::Result TlsSession::result_of(int returned) noexcept {
  if (returned > 0) return Result::done;
  switch (SSL_get_error(session_.get(), returned)) {
    case SSL_ERROR_WANT_READ:
      return Result::wants_read;
    case SSL_ERROR_WANT_WRITE:
      return Result::wants_write;
    case SSL_ERROR_ZERO_RETURN:
      return Result::closed;
    default:
      return Result::broken;
  }
}

TlsSession::Result TlsSession::read(char* to, std::size_t size, std::size_t& read) {
  ERR_clear_error();
  return result_of(SSL_read_ex(session_.get(), to, size, &read));
}

TlsSession::Result TlsSession::write(const char* from, std::size_t size, std::size_t& written) {
  ERR_clear_error();
  return result_of(SSL_write_ex(session_.get(), from, size, &written));
}

bool TlsSession::has_more() const noexcept {
  return SSL_pending(session_.get()) > 0;
}

void TlsSession::close() noexcept {
  ERR_clear_error();
  if (SSL_is_init_finished(session_.get()) == 1) SSL_shutdown(session_.get());
  ERR_clear_error();
}

}  // namespace leafctl::serve
