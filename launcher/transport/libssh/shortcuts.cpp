// Answers calls inside libssh sooner than its libraries do: a sixth of the launcher's CPU for a
// session. The linker puts these in their place (--wrap), only where libssh is static.
#define OPENSSL_SUPPRESS_DEPRECATED  // EC_KEY: what libssh has
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/base/freed.h"

namespace {

/// The names of a kind of key, as OpenSSL walks them. It keeps the texts as long as it lives.
struct KeptNames {
  std::unique_ptr<EVP_KEYMGMT, ds::Freed<EVP_KEYMGMT_free>> kind;
  std::vector<const char*> names;
};

constexpr std::size_t kSecret = 32;

bool random_bytes(void* where, std::size_t size) {
  auto* at = static_cast<unsigned char*>(where);
  while (size > 0) {
    const ssize_t got = ::getrandom(at, size, 0);
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

extern "C" {

EC_KEY* __real_EC_KEY_new_by_curve_name(int curve);

/// A key exchange takes the curve's numbers apart anew each time, which costs half as much as the
/// key itself: this one is copied. Threads: any.
EC_KEY* __wrap_EC_KEY_new_by_curve_name(int curve) {
  if (curve != NID_X9_62_prime256v1) return __real_EC_KEY_new_by_curve_name(curve);
  static const EC_GROUP* const kCurve = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  EC_KEY* const key = EC_KEY_new();
  if (kCurve != nullptr && key != nullptr && EC_KEY_set_group(key, kCurve) == 1) return key;
  EC_KEY_free(key);
  return nullptr;
}

int __real_EVP_KEYMGMT_names_do_all(const EVP_KEYMGMT* kind, void (*tell)(const char*, void*),
                                    void* data);

/// Whenever a key is made or used OpenSSL looks through the names of all that it knows, hundreds,
/// for those of the key's kind: asked once for each of the first few kinds. Threads: any.
int __wrap_EVP_KEYMGMT_names_do_all(const EVP_KEYMGMT* kind, void (*tell)(const char*, void*),
                                    void* data) {
  thread_local std::array<KeptNames, 4> kept;
  for (KeptNames& one : kept) {
    if (!one.kind) {
      auto* const mine = const_cast<EVP_KEYMGMT*>(kind);  // counted, not changed
      const auto keep = [](const char* name, void* names) {
        static_cast<std::vector<const char*>*>(names)->push_back(name);
      };
      if (__real_EVP_KEYMGMT_names_do_all(kind, keep, &one.names) != 1 || one.names.empty() ||
          EVP_KEYMGMT_up_ref(mine) != 1) {
        one.names.clear();
        break;
      }
      one.kind.reset(mine);
    }
    if (one.kind.get() != kind) continue;
    for (const char* const name : one.names) tell(name, data);
    return 1;
  }
  return __real_EVP_KEYMGMT_names_do_all(kind, tell, data);
}

/// Paddings and cookies: a few bytes each, for which OpenSSL's generator takes locks and checks,
/// and the kernel's a call: taken from its generator in advance. Secrets come from there at once.
/// Returns: 1, or 0 on trouble, as libssh's own. Threads: the event loop's.
int __wrap_ssh_get_random(void* where, int size, int /*strong*/) {
  static std::array<unsigned char, 256> store;
  static std::size_t left = 0;
  const auto wanted = static_cast<std::size_t>(size);
  if (wanted >= kSecret) return random_bytes(where, wanted) ? 1 : 0;
  if (left < wanted) {
    if (!random_bytes(store.data(), store.size())) return 0;
    left = store.size();
  }
  left -= wanted;
  std::memcpy(where, store.data() + left, wanted);
  OPENSSL_cleanse(store.data() + left, wanted);
  return 1;
}

/// Secrets of OpenSSL (keys of a key exchange): from the kernel's generator at once, without
/// OpenSSL's own above it and its locks and checks. Returns: 1, or 0 on trouble. Threads: any.
int __wrap_RAND_priv_bytes_ex(OSSL_LIB_CTX* /*library*/, unsigned char* where, std::size_t size,
                              unsigned int /*strength*/) {
  return random_bytes(where, size) ? 1 : 0;
}

/// libssh orders its list of algorithms by what known_hosts says, which it reads for each session;
/// ours has been ordered before. Returns: null, for there is nothing in the file that it is given.
char* __wrap_ssh_known_hosts_get_algorithms_names(void* /*session*/) { return nullptr; }
}
