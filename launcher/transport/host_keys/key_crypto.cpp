// Calls of OpenSSL: base64, HMAC-SHA1 of host names, SHA-256 fingerprints, signatures of ssh keys.
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/sha.h>

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/freed.h"
#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/wire_reader.h"

namespace ds::launcher {
namespace {

using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using PublicKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

constexpr int kLeastRsaBits = 1024;  // as ssh
constexpr int kMostRsaBits = 16384;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string text_of(const unsigned char* bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes), count};
}

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
  DigestContext context_{EVP_MD_CTX_new()};
};

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

PublicKey key_from(const char* type, std::vector<OSSL_PARAM> params) {
  params.push_back(OSSL_PARAM_construct_end());
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.data()) != 1)
    return nullptr;
  return PublicKey(key);
}

OSSL_PARAM number_param(const char* name, std::string& little_endian) {
  return OSSL_PARAM_construct_BN(name, reinterpret_cast<unsigned char*>(little_endian.data()),
                                 little_endian.size());
}

PublicKey rsa_key(std::string_view exponent, std::string_view modulus) {
  const Number n = number_of(modulus);
  if (!n || BN_num_bits(n.get()) < kLeastRsaBits || BN_num_bits(n.get()) > kMostRsaBits)
    return nullptr;
  static_assert(std::endian::native == std::endian::little, "OpenSSL takes the machine's order");
  std::string e_bytes(exponent.rbegin(), exponent.rend());
  std::string n_bytes(modulus.rbegin(), modulus.rend());
  return key_from("RSA", {number_param(OSSL_PKEY_PARAM_RSA_N, n_bytes),
                          number_param(OSSL_PKEY_PARAM_RSA_E, e_bytes)});
}

PublicKey curve_key(std::string group, std::string point) {
  return key_from(
      "EC",
      {OSSL_PARAM_construct_utf8_string(OSSL_PKEY_PARAM_GROUP_NAME, group.data(), 0),
       OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size())});
}

/// Converts ssh's r and s into OpenSSL's form; empty if they are not numbers.
std::string curve_signature(std::string_view blob) {
  WireReader reader(blob);
  Number r = number_of(reader.string());
  Number s = number_of(reader.string());
  const std::unique_ptr<ECDSA_SIG, Freed<ECDSA_SIG_free>> both(ECDSA_SIG_new());
  if (!reader.done() || !r || !s || !both ||
      ECDSA_SIG_set0(both.get(), r.release(), s.release()) != 1)
    return {};
  unsigned char* bytes = nullptr;
  const int size = i2d_ECDSA_SIG(both.get(), &bytes);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

bool verified(const PublicKey& key, const EVP_MD* digest, std::string_view text,
              std::string_view signature) {
  const DigestContext context(EVP_MD_CTX_new());
  return key && context && !signature.empty() &&
         EVP_DigestVerifyInit(context.get(), nullptr, digest, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(text),
                          text.size()) == 1;
}

struct Curve {
  std::string_view type;
  std::string_view name;
  const char* group;
  const EVP_MD* (*digest)();
};
constexpr Curve kCurves[] = {
    {"ecdsa-sha2-nistp256", "nistp256", "prime256v1", EVP_sha256},
    {"ecdsa-sha2-nistp384", "nistp384", "secp384r1", EVP_sha384},
    {"ecdsa-sha2-nistp521", "nistp521", "secp521r1", EVP_sha512},
};

bool rsa_verified(WireReader& key, std::string_view algorithm, std::string_view text,
                  std::string_view blob) {
  const std::string_view exponent = key.string();
  const std::string_view modulus = key.string();
  const EVP_MD* digest = algorithm == "rsa-sha2-512"   ? EVP_sha512()
                         : algorithm == "rsa-sha2-256" ? EVP_sha256()
                                                       : nullptr;  // SHA-1 proves nothing any more
  if (digest == nullptr || !key.done()) return false;
  const PublicKey parsed = rsa_key(exponent, modulus);
  if (!parsed) return false;
  const auto size = static_cast<std::size_t>(EVP_PKEY_get_size(parsed.get()));
  // Leading zeros may have been left out.
  std::string full(size > blob.size() ? size - blob.size() : 0, '\0');
  return verified(parsed, digest, text, full.append(blob));
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

bool ssh_signature_holds(const HostKey& key, std::string_view text, std::string_view signature) {
  const auto bytes = base64_decode(key.base64);
  if (!bytes) return false;
  WireReader reader(*bytes);
  const std::string_view type = reader.string();
  WireReader parts(signature);
  const std::string_view algorithm = parts.string();
  const std::string_view blob = parts.string();
  if (!parts.done()) return false;
  if (type == "ssh-rsa") return rsa_verified(reader, algorithm, text, blob);
  if (algorithm != type) return false;
  if (type == "ssh-ed25519") {
    const std::string_view raw = reader.string();
    return reader.done() && verified(PublicKey(EVP_PKEY_new_raw_public_key(
                                         EVP_PKEY_ED25519, nullptr, octets(raw), raw.size())),
                                     nullptr, text, blob);
  }
  for (const Curve& curve : kCurves) {
    if (type != curve.type) continue;
    const bool fits = reader.string() == curve.name;
    const std::string_view point = reader.string();
    return fits && reader.done() &&
           verified(curve_key(curve.group, std::string(point)), curve.digest(), text,
                    curve_signature(blob));
  }
  return false;
}

}  // namespace ds::launcher
