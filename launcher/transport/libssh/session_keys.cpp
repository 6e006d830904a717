// Derives a session's keys (RFC 4253, 7.2) where libssh asks OpenSSL to: the same hash, without the
// ways to it, which cost many times as much. The linker puts this in place (--wrap), only where
// libssh is static.
#define OPENSSL_SUPPRESS_DEPRECATED  // SHA256_*: without the ways to it
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace {

/// What a key is derived from; all but the first are of one connection.
struct Origin {
  std::string_view type;    // 'A' to 'F'
  std::string_view secret;  // as an mpint, with its length
  std::string_view exchange_hash;
  std::string_view session_id;
};

std::string_view bytes_of(const OSSL_PARAM& param) {
  return {static_cast<const char*>(param.data), param.data_size};
}

/// Returns: nullopt if anything is missing or unknown, or the hash is not SHA-256.
std::optional<Origin> origin_of(const OSSL_PARAM* params) {
  Origin origin;
  bool sha256 = false;
  for (; params != nullptr && params->key != nullptr; ++params) {
    const std::string_view key(params->key);
    if (key == OSSL_KDF_PARAM_DIGEST) {
      sha256 = bytes_of(*params) == "SHA256";
    } else if (key == OSSL_KDF_PARAM_SSHKDF_TYPE) {
      origin.type = bytes_of(*params);
    } else if (key == OSSL_KDF_PARAM_KEY) {
      origin.secret = bytes_of(*params);
    } else if (key == OSSL_KDF_PARAM_SSHKDF_XCGHASH) {
      origin.exchange_hash = bytes_of(*params);
    } else if (key == OSSL_KDF_PARAM_SSHKDF_SESSION_ID) {
      origin.session_id = bytes_of(*params);
    } else {
      return std::nullopt;
    }
  }
  const bool whole = sha256 && origin.type.size() == 1 && !origin.secret.empty() &&
                     !origin.exchange_hash.empty() && !origin.session_id.empty();
  return whole ? std::optional(origin) : std::nullopt;
}

/// K1 = HASH(K || H || type || session id), K2 = HASH(K || H || K1), K3 = HASH(K || H || K1 || K2),
/// ...: `size` bytes of them.
void derive(const Origin& origin, unsigned char* out, std::size_t size) {
  SHA256_CTX start;
  SHA256_Init(&start);
  SHA256_Update(&start, origin.secret.data(), origin.secret.size());
  SHA256_Update(&start, origin.exchange_hash.data(), origin.exchange_hash.size());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> piece{};
  for (std::size_t done = 0; done < size;) {
    SHA256_CTX hash = start;
    if (done == 0) {
      SHA256_Update(&hash, origin.type.data(), origin.type.size());
      SHA256_Update(&hash, origin.session_id.data(), origin.session_id.size());
    } else {
      SHA256_Update(&hash, out, done);
    }
    SHA256_Final(piece.data(), &hash);
    const std::size_t count = std::min(size - done, piece.size());
    std::copy_n(piece.begin(), count, out + done);
    done += count;
    OPENSSL_cleanse(&hash, sizeof hash);
  }
  OPENSSL_cleanse(piece.data(), piece.size());
  OPENSSL_cleanse(&start, sizeof start);
}

}  // namespace

extern "C" {

EVP_KDF* __real_EVP_KDF_fetch(OSSL_LIB_CTX* library, const char* name, const char* properties);
int __real_EVP_KDF_derive(EVP_KDF_CTX* context, unsigned char* out, std::size_t size,
                          const OSSL_PARAM* params);

/// How keys are derived is looked up six times a session, by its name: kept. Threads: any.
EVP_KDF* __wrap_EVP_KDF_fetch(OSSL_LIB_CTX* library, const char* name, const char* properties) {
  if (library != nullptr || properties != nullptr || std::string_view(name) != "SSHKDF")
    return __real_EVP_KDF_fetch(library, name, properties);
  static EVP_KDF* const kKept = __real_EVP_KDF_fetch(nullptr, "SSHKDF", nullptr);
  return kKept != nullptr && EVP_KDF_up_ref(kKept) == 1 ? kKept : nullptr;
}

/// Returns: 1; where it is not this derivation by SHA-256, what OpenSSL returns. Threads: any.
int __wrap_EVP_KDF_derive(EVP_KDF_CTX* context, unsigned char* out, std::size_t size,
                          const OSSL_PARAM* params) {
  const std::optional<Origin> origin = origin_of(params);
  if (!origin) return __real_EVP_KDF_derive(context, out, size, params);
  derive(*origin, out, size);
  return 1;
}
}
