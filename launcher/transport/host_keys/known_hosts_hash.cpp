// Base64, HMAC-SHA1 of host names and SHA-256 fingerprints, by OpenSSL.
#include <openssl/evp.h>
#include <openssl/sha.h>

#include <array>
#include <memory>

#include "engine/base/error.h"
#include "engine/base/freed.h"
#include "launcher/transport/host_keys/known_hosts.h"
#include "launcher/transport/host_keys/wire_reader.h"

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

namespace {

/// Computes SHA-1 with one context for the whole run. HMAC() would allocate memory and look its
/// algorithm up for each of thousands of hashed lines.
class Sha1 {
 public:
  using Digest = std::array<unsigned char, SHA_DIGEST_LENGTH>;
  Digest of(const void* first, std::size_t first_size, const void* second,
            std::size_t second_size) {
    Digest out{};
    const bool good = EVP_DigestInit_ex(context_.get(), EVP_sha1(), nullptr) == 1 &&
                      EVP_DigestUpdate(context_.get(), first, first_size) == 1 &&
                      EVP_DigestUpdate(context_.get(), second, second_size) == 1 &&
                      EVP_DigestFinal_ex(context_.get(), out.data(), nullptr) == 1;
    DS_ASSERT(good, "SHA-1 needs nothing that can be missing");
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>> context_{EVP_MD_CTX_new()};
};

}  // namespace

std::string hash_host_name(std::string_view salt, std::string_view name) {
  thread_local Sha1 sha1;
  std::array<unsigned char, SHA_CBLOCK> inner{};
  std::array<unsigned char, SHA_CBLOCK> outer{};
  DS_ASSERT(salt.size() <= inner.size());
  for (std::size_t i = 0; i < inner.size(); ++i) {
    const unsigned char c = i < salt.size() ? octets(salt)[i] : 0;
    inner[i] = c ^ 0x36U;
    outer[i] = c ^ 0x5cU;
  }
  const Sha1::Digest first = sha1.of(inner.data(), inner.size(), name.data(), name.size());
  const Sha1::Digest second = sha1.of(outer.data(), outer.size(), first.data(), first.size());
  return text_of(second.data(), second.size());
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
