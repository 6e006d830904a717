// The cryptographic small change of known_hosts: base64, HMAC-SHA1 of names, SHA-256 fingerprints.
// OpenSSL.
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <array>

#include "engine/base/error.h"
#include "launcher/transport/base64.h"
#include "launcher/transport/known_hosts.h"

namespace ds::launcher {

namespace {
const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
std::string text_of(const unsigned char* bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}
}  // namespace

std::string base64_encode(std::string_view bytes) {
  std::string out(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), octets(bytes),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(length));
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0 || text.size() > (1U << 16)) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), octets(text),
                                     static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text[text.size() - 1 - padding] == '=') ++padding;
  out.resize(static_cast<std::size_t>(length) - padding);
  return out;
}

std::string hash_host_name(std::string_view salt, std::string_view name) {
  // The plain SHA-1 calls: HMAC() would look its algorithm up for each of thousands of lines.
  std::array<unsigned char, SHA_CBLOCK> pad{};
  DS_ASSERT(salt.size() <= pad.size());
  for (std::size_t i = 0; i < salt.size(); ++i) pad[i] = static_cast<unsigned char>(salt[i]);
  const auto digest = [](const std::string& bytes) {
    std::array<unsigned char, SHA_DIGEST_LENGTH> out{};
    unsigned int length = 0;
    static const EVP_MD* const sha1 = EVP_sha1();
    DS_ASSERT(EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, sha1, nullptr) == 1);
    return text_of(out.data(), out.size());
  };
  std::string inner;
  std::string outer;
  for (const unsigned char c : pad) {
    inner += static_cast<char>(c ^ 0x36U);
    outer += static_cast<char>(c ^ 0x5cU);
  }
  return digest(outer + digest(inner.append(name)));
}

std::string fingerprint(const HostKey& key) {
  const auto blob = base64_decode(key.base64);
  if (!blob) return {};
  std::array<unsigned char, SHA256_DIGEST_LENGTH> out{};
  SHA256(octets(*blob), blob->size(), out.data());
  std::string text = base64_encode(text_of(out.data(), out.size()));
  while (text.ends_with('=')) text.pop_back();
  return "SHA256:" + text;
}

}  // namespace ds::launcher
