// Answers two calls inside libssh sooner than its libraries do: an eighth of the launcher's CPU for
// a session. The linker puts these in their place (--wrap), only where libssh is static.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

namespace {

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

/// The user's Ed25519 key as OpenSSL has it, with the bytes it was made of: the keyring keeps those
/// as long as the program runs anyway. Keys of a key exchange are of another type, and not kept.
struct KeptKey {
  std::array<unsigned char, 32> bytes{};
  std::unique_ptr<EVP_PKEY, FreeKey> key;
};

}  // namespace

extern "C" {

EVP_PKEY* __real_EVP_PKEY_new_raw_private_key(int type, ENGINE* engine, const unsigned char* bytes,
                                              std::size_t size);

/// libssh makes the key from its bytes for every signature, and OpenSSL then computes the public
/// half again. Threads: libssh runs on the event loop's alone.
EVP_PKEY* __wrap_EVP_PKEY_new_raw_private_key(int type, ENGINE* engine, const unsigned char* bytes,
                                              std::size_t size) {
  static KeptKey kept;
  if (type != EVP_PKEY_ED25519 || size != kept.bytes.size())
    return __real_EVP_PKEY_new_raw_private_key(type, engine, bytes, size);
  if (!kept.key || CRYPTO_memcmp(kept.bytes.data(), bytes, size) != 0) {
    kept.key.reset(__real_EVP_PKEY_new_raw_private_key(type, engine, bytes, size));
    std::memcpy(kept.bytes.data(), bytes, size);
  }
  if (kept.key) EVP_PKEY_up_ref(kept.key.get());
  return kept.key.get();
}

/// Padding, cookies and curve25519 secrets: a few bytes each, for which OpenSSL's generator takes locks and checks: the
/// kernel's own generator, which seeds that one, gives them in one call.
/// Returns: 1, or 0 on trouble, as libssh's own.
int __wrap_ssh_get_random(void* where, int size, int /*strong*/) {
  auto* at = static_cast<unsigned char*>(where);
  for (int left = size; left > 0;) {
    const ssize_t got = ::getrandom(at + (size - left), static_cast<std::size_t>(left), 0);
    if (got <= 0) return 0;
    left -= static_cast<int>(got);
  }
  return 1;
}
}
