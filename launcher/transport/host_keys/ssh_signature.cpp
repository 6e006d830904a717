// Verifies signatures of ssh keys, by OpenSSL.
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/rsa.h>

#include <memory>

#include "engine/base/freed.h"
#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/host_keys/wire_reader.h"

namespace ds::launcher {
namespace {

using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using PublicKey = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, Freed<EVP_PKEY_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, Freed<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, Freed<OSSL_PARAM_free>>;

constexpr int kLeastRsaBits = 1024;  // as ssh
constexpr int kMostRsaBits = 16384;

const unsigned char* octets(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Number number_of(std::string_view bytes) {
  return Number(BN_bin2bn(octets(bytes), static_cast<int>(bytes.size()), nullptr));
}

PublicKey key_from(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (!params || !context || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, params.get()) != 1)
    return nullptr;
  return PublicKey(key);
}

PublicKey rsa_key(std::string_view exponent, std::string_view modulus) {
  const Number e = number_of(exponent);
  const Number n = number_of(modulus);
  if (!e || !n || BN_num_bits(n.get()) < kLeastRsaBits || BN_num_bits(n.get()) > kMostRsaBits)
    return nullptr;
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return key_from("RSA", builder.get());
}

PublicKey curve_key(const char* group, std::string_view point) {
  const Builder builder(OSSL_PARAM_BLD_new());
  if (!builder || point.empty() ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(),
                                       point.size()) != 1)
    return nullptr;
  return key_from("EC", builder.get());
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
           verified(curve_key(curve.group, point), curve.digest(), text, curve_signature(blob));
  }
  return false;
}

}  // namespace ds::launcher
