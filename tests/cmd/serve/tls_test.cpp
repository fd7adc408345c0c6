// Certificates and their keys.
#include "serve/tls.hpp"

#include <doctest/doctest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ui.h>
#include <openssl/x509.h>

#include <cstdio>
#include <memory>
#include <string>

#include "leaf/error.hpp"
#include "support/error_of.hpp"
#include "support/temporary_folder.hpp"

namespace {

using leaf::test::error_text;
using leafctl::serve::TlsContext;

int times_asked = 0;
extern "C" int note_question(UI*) {
  ++times_asked;
  return 0;
}

/// While it lives, what OpenSSL would ask for at the terminal is counted in times_asked, and not answered.
class NoTerminal {
 public:
  NoTerminal() : method_(UI_create_method("none")) {
    times_asked = 0;
    UI_method_set_opener(method_, note_question);
    UI_set_default_method(method_);
  }
  ~NoTerminal() {
    UI_set_default_method(UI_OpenSSL());
    UI_destroy_method(method_);
  }
  NoTerminal(const NoTerminal&) = delete;
  NoTerminal& operator=(const NoTerminal&) = delete;

 private:
  UI_METHOD* const method_;
};

class File {
 public:
  explicit File(const std::string& path) : file_(std::fopen(path.c_str(), "w")) { REQUIRE(file_ != nullptr); }
  ~File() { std::fclose(file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::FILE* get() const noexcept { return file_; }

 private:
  std::FILE* const file_;
};

/// A new key with its certificate in `folder`: "certificate", "key", and "locked", which has a passphrase.
void write_pair(const leaf::test::TemporaryFolder& folder) {
  const std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400);
  REQUIRE(X509_set_pubkey(certificate.get(), key.get()) == 1);
  REQUIRE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0);
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  REQUIRE(PEM_write_X509(File(path("certificate")).get(), certificate.get()) == 1);
  REQUIRE(PEM_write_PKCS8PrivateKey(File(path("key")).get(), key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) == 1);
  REQUIRE(PEM_write_PKCS8PrivateKey(File(path("locked")).get(), key.get(), EVP_aes_256_cbc(), "long-enough",
                                    11, nullptr, nullptr) == 1);
}

}  // namespace

TEST_CASE("TLS: a key with a passphrase is refused, and nobody is asked for that") {
  const leaf::test::TemporaryFolder folder, other;
  write_pair(folder);
  write_pair(other);
  const std::string certificate = (folder.path() / "certificate").string();
  const std::string key = (folder.path() / "key").string();
  const std::string locked = (folder.path() / "locked").string();
  CHECK_NOTHROW(TlsContext(certificate, key));
  const NoTerminal no_terminal;
  CHECK(error_text([&] { TlsContext(certificate, locked); }) ==
        "key '" + locked + "' has a passphrase | remove it with 'openssl pkey'");
  CHECK(times_asked == 0);
  CHECK(error_text([&] {
          TlsContext(certificate, (other.path() / "key").string());
        }).starts_with("cannot use key '" + (other.path() / "key").string() + "': "));
  CHECK(error_text([&] { TlsContext(key, key); }).starts_with("cannot use certificate '" + key + "': "));
  CHECK_NOTHROW(TlsContext(certificate, key));
}
