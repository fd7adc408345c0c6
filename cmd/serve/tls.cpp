#include "serve/tls.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <memory>
#include <new>

#include "leaf/error.hpp"
#include "serve/file_content.hpp"
#include "text/hint.hpp"

namespace leafctl::serve {

namespace {

leaf::Error file_error(const char* what, const std::string& file) {
  if (ERR_GET_LIB(ERR_peek_last_error()) == ERR_LIB_PEM &&
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_BAD_PASSWORD_READ) {
    ERR_clear_error();
    return {leaf::ErrorCode::usage, fmt::format("{} '{}' has a passphrase", what, file),
            "remove it with 'openssl pkey'"_hint};
  }
  char reason[256];
  ERR_error_string_n(ERR_peek_last_error(), reason, sizeof reason);
  ERR_clear_error();
  return {leaf::ErrorCode::usage, fmt::format("cannot use {} '{}': {}", what, file, reason)};
}

/// OpenSSL would ask for it at the terminal, and wait.
extern "C" int no_passphrase(char*, int, int, void*) {
  return -1;
}

struct FreeBio {
  void operator()(BIO* bio) const noexcept { BIO_free(bio); }
};
struct FreeCertificate {
  void operator()(X509* certificate) const noexcept { X509_free(certificate); }
};
struct FreeKey {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;
using Certificate = std::unique_ptr<X509, FreeCertificate>;
using Key = std::unique_ptr<EVP_PKEY, FreeKey>;

/// Reads `text`, which has to outlast it.
Bio reader_of(const std::string& text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) throw std::bad_alloc();
  return bio;
}

/// What follows the first one is its chain.
bool use_certificates(SSL_CTX* context, const std::string& pem) {
  const Bio bio = reader_of(pem);
  const Certificate first(PEM_read_bio_X509_AUX(bio.get(), nullptr, no_passphrase, nullptr));
  if (!first || SSL_CTX_use_certificate(context, first.get()) != 1) return false;
  for (;;) {
    Certificate next(PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr));
    if (!next) break;
    if (SSL_CTX_add0_chain_cert(context, next.get()) != 1) return false;
    static_cast<void>(next.release());
  }
  const unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

bool use_key(SSL_CTX* context, const std::string& pem) {
  const Bio bio = reader_of(pem);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  return key && SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
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
  if (!use_certificates(context, read_file("certificate", certificate_file).text))
    throw file_error("certificate", certificate_file);
  ERR_clear_error();
  if (!use_key(context, read_file("key", key_file).text)) throw file_error("key", key_file);
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
