// Signs and verifies with Ed25519 (RFC 8032, 5.1) by libsodium where OpenSSL is asked to: it takes
// half the time for the same answers. The linker puts these in place (--wrap), only where libssh is
// static.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "engine/base/freed.h"

namespace {

constexpr std::size_t kSeed = crypto_sign_SEEDBYTES;
constexpr std::size_t kPublic = crypto_sign_PUBLICKEYBYTES;
constexpr std::size_t kSignature = crypto_sign_BYTES;

/// The user's key as OpenSSL has it, with its bytes: libssh keeps those as long as the program runs
/// anyway. Taken from OpenSSL for each signature, the secret ones would stay behind in freed
/// memory. Keys of a key exchange are of another type, and not kept.
struct KeptKey {
  std::mutex mutex;
  std::array<unsigned char, kSeed + kPublic> both{};  // the seed, then the public half
  std::unique_ptr<EVP_PKEY, ds::Freed<EVP_PKEY_free>> key;
};

KeptKey& kept_key() {
  static KeptKey kept;
  return kept;
}

/// The public half, 32 bytes. Returns: false if OpenSSL does not give it.
bool public_half(const EVP_PKEY* key, unsigned char* bytes) {
  std::size_t size = kPublic;
  return EVP_PKEY_get_raw_public_key(key, bytes, &size) == 1 && size == kPublic;
}

/// The Ed25519 key that a context was set up with for this; nullptr if it is of another kind.
const EVP_PKEY* ed25519_key(EVP_MD_CTX* context, int operation) {
  static const bool kReady = sodium_init() >= 0;
  EVP_PKEY_CTX* const inner = EVP_MD_CTX_get_pkey_ctx(context);
  if (!kReady || inner == nullptr || EVP_PKEY_CTX_get_operation(inner) != operation) return nullptr;
  const EVP_PKEY* const key = EVP_PKEY_CTX_get0_pkey(inner);
  return key != nullptr && EVP_PKEY_is_a(key, "ED25519") == 1 ? key : nullptr;
}

}  // namespace

extern "C" {

EVP_PKEY* __real_EVP_PKEY_new_raw_private_key(int type, ENGINE* engine, const unsigned char* bytes,
                                              std::size_t size);
int __real_EVP_DigestVerify(EVP_MD_CTX* context, const unsigned char* signature, std::size_t size,
                            const unsigned char* text, std::size_t length);
int __real_EVP_DigestSign(EVP_MD_CTX* context, unsigned char* signature, std::size_t* size,
                          const unsigned char* text, std::size_t length);

/// libssh makes the key from its bytes for every signature, and OpenSSL then computes the public
/// half again: the last one is kept. Threads: any.
EVP_PKEY* __wrap_EVP_PKEY_new_raw_private_key(int type, ENGINE* engine, const unsigned char* bytes,
                                              std::size_t size) {
  if (type != EVP_PKEY_ED25519 || size != kSeed)
    return __real_EVP_PKEY_new_raw_private_key(type, engine, bytes, size);
  KeptKey& kept = kept_key();
  const std::scoped_lock lock(kept.mutex);
  if (!kept.key || CRYPTO_memcmp(kept.both.data(), bytes, size) != 0) {
    kept.key.reset(__real_EVP_PKEY_new_raw_private_key(type, engine, bytes, size));
    std::copy_n(bytes, kSeed, kept.both.begin());
    if (kept.key && !public_half(kept.key.get(), kept.both.data() + kSeed)) kept.key.reset();
  }
  if (kept.key) EVP_PKEY_up_ref(kept.key.get());
  return kept.key.get();
}

/// Returns: 1 if the signature is the key's, else 0; of other kinds of key what OpenSSL returns.
/// Refuses keys of small order, which OpenSSL takes. Threads: any.
int __wrap_EVP_DigestVerify(EVP_MD_CTX* context, const unsigned char* signature, std::size_t size,
                            const unsigned char* text, std::size_t length) {
  std::array<unsigned char, kPublic> open{};
  const EVP_PKEY* const key = ed25519_key(context, EVP_PKEY_OP_VERIFYCTX);
  if (key == nullptr || !public_half(key, open.data()))
    return __real_EVP_DigestVerify(context, signature, size, text, length);
  return size == kSignature &&
                 crypto_sign_verify_detached(signature, text, length, open.data()) == 0
             ? 1
             : 0;
}

/// Returns: 1; of keys other than the kept one what OpenSSL returns. Threads: any.
int __wrap_EVP_DigestSign(EVP_MD_CTX* context, unsigned char* signature, std::size_t* size,
                          const unsigned char* text, std::size_t length) {
  const EVP_PKEY* const key = signature != nullptr && *size >= kSignature
                                  ? ed25519_key(context, EVP_PKEY_OP_SIGNCTX)
                                  : nullptr;
  if (key != nullptr) {
    KeptKey& kept = kept_key();
    const std::scoped_lock lock(kept.mutex);
    if (key == kept.key.get()) {
      *size = kSignature;
      return crypto_sign_detached(signature, nullptr, text, length, kept.both.data()) == 0 ? 1 : 0;
    }
  }
  return __real_EVP_DigestSign(context, signature, size, text, length);
}
}
