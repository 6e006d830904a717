// Keys of a session (RFC 4253, 7.2) and algorithms of OpenSSL as libssh gets them: what OpenSSL
// itself would have said.
#include <doctest/doctest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/freed.h"

using ds::Freed;

extern "C" {
int __real_EVP_KDF_derive(EVP_KDF_CTX* context, unsigned char* out, std::size_t size,
                          const OSSL_PARAM* params);
int __real_EVP_EncryptInit_ex(EVP_CIPHER_CTX* context, const EVP_CIPHER* cipher, ENGINE* engine,
                              const unsigned char* key, const unsigned char* iv);
}

namespace {

using Kdf = std::unique_ptr<EVP_KDF, Freed<EVP_KDF_free>>;
using KdfContext = std::unique_ptr<EVP_KDF_CTX, Freed<EVP_KDF_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, Freed<EVP_CIPHER_CTX_free>>;
using Derive = int (*)(EVP_KDF_CTX*, unsigned char*, std::size_t, const OSSL_PARAM*);

const std::string kSecret = std::string("\0\0\0\x21", 4) + std::string(33, 'k');
const std::string kHash(32, 'h');

/// Empty where it fails.
std::string derived(Derive derive, std::string digest, char type, std::size_t size,
                    std::string session = std::string(32, 's'), bool with_hash = true) {
  const Kdf kdf(EVP_KDF_fetch(nullptr, "SSHKDF", nullptr));
  const KdfContext context(EVP_KDF_CTX_new(kdf.get()));
  std::string secret = kSecret;
  std::string hash = kHash;
  std::array<OSSL_PARAM, 6> params{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SSHKDF_SESSION_ID, session.data(),
                                        session.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_SSHKDF_TYPE, &type, 1),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SSHKDF_XCGHASH, hash.data(), hash.size()),
      OSSL_PARAM_construct_end()};
  if (!with_hash) params[4] = OSSL_PARAM_construct_end();
  std::string out(size, '\0');
  const int rc =
      derive(context.get(), reinterpret_cast<unsigned char*>(out.data()), size, params.data());
  return rc == 1 ? out : std::string();
}

std::string digest_of(const EVP_MD* kind, std::string_view text) {
  const Digest context(EVP_MD_CTX_new());
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned int size = 0;
  REQUIRE(EVP_DigestInit_ex(context.get(), kind, nullptr) == 1);
  REQUIRE(EVP_DigestUpdate(context.get(), text.data(), text.size()) == 1);
  REQUIRE(EVP_DigestFinal_ex(context.get(), out.data(), &size) == 1);
  return {reinterpret_cast<const char*>(out.data()), size};
}

std::string expected_digest(const char* name, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  std::size_t size = 0;
  REQUIRE(EVP_Q_digest(nullptr, name, nullptr, text.data(), text.size(), out.data(), &size) == 1);
  return {reinterpret_cast<const char*>(out.data()), size};
}

}  // namespace

TEST_CASE("each key of a session, of any length, is OpenSSL's") {
  for (const std::string digest : {"SHA256", "SHA1", "SHA384", "SHA512"})
    for (const char type : std::string_view("ABCDEF"))
      for (const std::size_t size : {1U, 12U, 16U, 32U, 33U, 64U, 100U}) {
        const std::string own = derived(EVP_KDF_derive, digest, type, size);
        CHECK(own.size() == size);
        CHECK(own == derived(__real_EVP_KDF_derive, digest, type, size));
      }
}

TEST_CASE("keys are of their session, and none without its hash") {
  CHECK(derived(EVP_KDF_derive, "SHA256", 'A', 16, "one") !=
        derived(EVP_KDF_derive, "SHA256", 'A', 16, "other"));
  CHECK(derived(EVP_KDF_derive, "SHA256", 'A', 16, "one", false).empty());
}

TEST_CASE("digests that were looked up once are what they were asked for") {
  const std::array kinds{EVP_sha1(),   EVP_sha224(), EVP_sha256(),
                         EVP_sha384(), EVP_sha512(), EVP_sha256()};  // more than are kept
  const std::array names{"SHA1", "SHA224", "SHA256", "SHA384", "SHA512", "SHA256"};
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < kinds.size(); ++i)
      CHECK(digest_of(kinds[i], "abc") == expected_digest(names[i], "abc"));
}

TEST_CASE(
    "ciphers that were looked up once open what OpenSSL closed, and one may be set in parts") {
  const std::array<unsigned char, 32> key{1, 2, 3};
  const std::array<unsigned char, 16> iv{4, 5, 6};
  for (const EVP_CIPHER* kind : {EVP_aes_128_ctr(), EVP_aes_192_ctr(), EVP_aes_256_ctr(),
                                 EVP_aes_128_cbc(), EVP_aes_256_cbc(), EVP_aes_128_ctr()}) {
    const std::string text(32, 't');
    const auto run = [&](decltype(&EVP_EncryptInit_ex) init, const std::string& in) {
      const Cipher context(EVP_CIPHER_CTX_new());
      REQUIRE(init(context.get(), kind, nullptr, nullptr, nullptr) == 1);
      REQUIRE(init(context.get(), nullptr, nullptr, key.data(), iv.data()) == 1);
      EVP_CIPHER_CTX_set_padding(context.get(), 0);
      std::string out(in.size(), '\0');
      int size = 0;
      REQUIRE(EVP_CipherUpdate(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                               reinterpret_cast<const unsigned char*>(in.data()),
                               static_cast<int>(in.size())) == 1);
      return out;
    };
    const std::string closed = run(__real_EVP_EncryptInit_ex, text);
    CHECK(closed != text);
    CHECK(run(EVP_DecryptInit_ex, closed) == text);
    CHECK(run(EVP_EncryptInit_ex, text) == closed);
  }
}
