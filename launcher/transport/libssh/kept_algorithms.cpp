// Looks an algorithm of OpenSSL up once: libssh names them in the manner of OpenSSL 1, for which 3
// searches its providers at every use. The linker puts these in place (--wrap), only where libssh
// is static.
#include <openssl/evp.h>

#include <array>

namespace {

/// What the first few of a kind were found to be. Never freed: libssh uses them to the end.
template <class T>
struct Found {
  struct Pair {
    const T* asked = nullptr;
    const T* found = nullptr;
  };
  std::array<Pair, 4> pairs{};

  /// Returns: what `asked` stands for, or itself where that is not known. Threads: any, each for
  /// itself.
  template <class Look>
  const T* operator()(const T* asked, const Look& look) {
    for (Pair& pair : pairs) {
      if (pair.asked == asked) return pair.found;
      if (pair.asked != nullptr) continue;
      const T* const found = look();
      pair = {asked, found != nullptr ? found : asked};
      return pair.found;
    }
    return asked;
  }
};

const EVP_CIPHER* found_cipher(const EVP_CIPHER* asked) {
  if (asked == nullptr || EVP_CIPHER_get0_provider(asked) != nullptr) return asked;
  thread_local Found<EVP_CIPHER> found;
  return found(asked,
               [asked] { return EVP_CIPHER_fetch(nullptr, EVP_CIPHER_get0_name(asked), ""); });
}

const EVP_MD* found_digest(const EVP_MD* asked) {
  if (asked == nullptr || EVP_MD_get0_provider(asked) != nullptr) return asked;
  thread_local Found<EVP_MD> found;
  return found(asked, [asked] { return EVP_MD_fetch(nullptr, EVP_MD_get0_name(asked), ""); });
}

}  // namespace

extern "C" {

int __real_EVP_DigestInit_ex(EVP_MD_CTX* context, const EVP_MD* digest, ENGINE* engine);
int __real_EVP_EncryptInit_ex(EVP_CIPHER_CTX* context, const EVP_CIPHER* cipher, ENGINE* engine,
                              const unsigned char* key, const unsigned char* iv);
int __real_EVP_DecryptInit_ex(EVP_CIPHER_CTX* context, const EVP_CIPHER* cipher, ENGINE* engine,
                              const unsigned char* key, const unsigned char* iv);

int __wrap_EVP_DigestInit_ex(EVP_MD_CTX* context, const EVP_MD* digest, ENGINE* engine) {
  return __real_EVP_DigestInit_ex(context, engine == nullptr ? found_digest(digest) : digest,
                                  engine);
}

int __wrap_EVP_EncryptInit_ex(EVP_CIPHER_CTX* context, const EVP_CIPHER* cipher, ENGINE* engine,
                              const unsigned char* key, const unsigned char* iv) {
  return __real_EVP_EncryptInit_ex(context, engine == nullptr ? found_cipher(cipher) : cipher,
                                   engine, key, iv);
}

int __wrap_EVP_DecryptInit_ex(EVP_CIPHER_CTX* context, const EVP_CIPHER* cipher, ENGINE* engine,
                              const unsigned char* key, const unsigned char* iv) {
  return __real_EVP_DecryptInit_ex(context, engine == nullptr ? found_cipher(cipher) : cipher,
                                   engine, key, iv);
}
}
