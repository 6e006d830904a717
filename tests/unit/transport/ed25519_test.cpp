// Ed25519 as libssh meets it when it asks OpenSSL: the vectors of RFC 8032, 7.1.
#include <doctest/doctest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "engine/base/freed.h"

namespace {

using ds::Freed;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Context = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

struct Vector {
  std::string_view secret;
  std::string_view open;
  std::string_view text;
  std::string_view signature;
};

constexpr std::array kVectors{
    Vector{
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e3970"
        "1cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    Vector{
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613"
        "d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
};

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

const unsigned char* octets(const std::string& text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Key open_key(const std::string& bytes) {
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, octets(bytes), bytes.size()));
}

Key secret_key(const std::string& bytes) {
  return Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, octets(bytes), bytes.size()));
}

bool verify(EVP_PKEY* key, const std::string& signature, const std::string& text) {
  const Context context(EVP_MD_CTX_new());
  REQUIRE(EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) == 1);
  return EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(text),
                          text.size()) == 1;
}

std::string sign(EVP_PKEY* key, const EVP_MD* digest, const std::string& text) {
  const Context context(EVP_MD_CTX_new());
  REQUIRE(EVP_DigestSignInit(context.get(), nullptr, digest, nullptr, key) == 1);
  std::size_t size = 0;
  REQUIRE(EVP_DigestSign(context.get(), nullptr, &size, octets(text), text.size()) == 1);
  std::string signature(size, '\0');
  REQUIRE(EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                         octets(text), text.size()) == 1);
  signature.resize(size);
  return signature;
}

/// How often these bytes lie on the heap, freed memory included.
int copies_on_heap(std::string_view bytes) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    if (!line.ends_with("[heap]") || std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2)
      continue;
    int copies = 0;
    const void* at = reinterpret_cast<const void*>(begin);
    while ((at = ::memmem(at, end - reinterpret_cast<std::uintptr_t>(at), bytes.data(),
                          bytes.size())) != nullptr) {
      ++copies;
      at = static_cast<const char*>(at) + bytes.size();
    }
    return copies;
  }
  return 0;  // an allocator of its own, such as a sanitizer's
}

}  // namespace

TEST_CASE("the signatures of RFC 8032 are made, and taken") {
  for (const Vector& one : kVectors) {
    const std::string signature = bytes_of(one.signature);
    const std::string text = bytes_of(one.text);
    CHECK(sign(secret_key(bytes_of(one.secret)).get(), nullptr, text) == signature);
    CHECK(verify(open_key(bytes_of(one.open)).get(), signature, text));
  }
}

TEST_CASE("a signature with one bit changed, cut, or of another text or key is refused") {
  const Vector& one = kVectors[1];
  const std::string signature = bytes_of(one.signature);
  const std::string text = bytes_of(one.text);
  const Key key = open_key(bytes_of(one.open));
  for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
    std::string changed = signature;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    CHECK_FALSE(verify(key.get(), changed, text));
  }
  CHECK_FALSE(verify(key.get(), signature.substr(0, 63), text));
  CHECK_FALSE(verify(key.get(), signature + "x", text));
  CHECK_FALSE(verify(key.get(), "", text));
  CHECK_FALSE(verify(key.get(), signature, text + "x"));
  CHECK_FALSE(verify(open_key(bytes_of(kVectors[0].open)).get(), signature, text));
}

TEST_CASE("a key of small order, for which anybody can sign, is refused") {
  std::string identity(32, '\0');
  identity[0] = 1;
  const Key key = open_key(identity);
  CHECK_FALSE(verify(key.get(), identity + std::string(32, '\0'), "any text"));
}

TEST_CASE("keys of other kinds are left to OpenSSL") {
  const Key key(EVP_EC_gen("P-256"));
  REQUIRE(key);
  const std::string text = "text";
  const std::string signature = sign(key.get(), EVP_sha256(), text);
  const Context context(EVP_MD_CTX_new());
  REQUIRE(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) == 1);
  CHECK(EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(text),
                         text.size()) == 1);
}

TEST_CASE("of two keys in turn each signs for itself") {
  std::array<Key, 2> keys;
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = secret_key(bytes_of(kVectors[i].secret));
  for (const std::size_t i : {0, 1, 0, 1})
    CHECK(sign(keys[i].get(), nullptr, bytes_of(kVectors[i].text)) ==
          bytes_of(kVectors[i].signature));
  const Key again = secret_key(bytes_of(kVectors[0].secret));
  CHECK(sign(again.get(), nullptr, "") == bytes_of(kVectors[0].signature));
}

TEST_CASE("signing leaves no copy of the secret behind") {
  const std::string secret = bytes_of(kVectors[1].secret);
  const Key key = secret_key(secret);
  const std::string_view half =
      std::string_view(secret).substr(16);  // the allocator spoils the rest
  const int before = copies_on_heap(half);
  for (int i = 0; i < 4; ++i) sign(key.get(), nullptr, "text");
  CHECK(copies_on_heap(half) <= before);
}

TEST_CASE("a context signs or verifies, as it was set up") {
  const Vector& one = kVectors[1];
  const Key key = secret_key(bytes_of(one.secret));
  const std::string signature = bytes_of(one.signature);
  const std::string text = bytes_of(one.text);
  const Context signing(EVP_MD_CTX_new());
  REQUIRE(EVP_DigestSignInit(signing.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  CHECK(EVP_DigestVerify(signing.get(), octets(signature), signature.size(), octets(text),
                         text.size()) != 1);
  const Context verifying(EVP_MD_CTX_new());
  REQUIRE(EVP_DigestVerifyInit(verifying.get(), nullptr, nullptr, nullptr, key.get()) == 1);
  std::array<unsigned char, 64> place{};
  std::size_t size = place.size();
  CHECK(EVP_DigestSign(verifying.get(), place.data(), &size, octets(text), text.size()) != 1);
}

TEST_CASE("a place too small and a key without its secret half are refused") {
  const Vector& one = kVectors[1];
  const std::string text = bytes_of(one.text);
  std::array<unsigned char, 64> place{};
  for (const bool whole : {true, false}) {
    const Key key = whole ? secret_key(bytes_of(one.secret)) : open_key(bytes_of(one.open));
    const Context context(EVP_MD_CTX_new());
    REQUIRE(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1);
    std::size_t size = whole ? place.size() - 1 : place.size();
    CHECK(EVP_DigestSign(context.get(), place.data(), &size, octets(text), text.size()) != 1);
  }
}
