// Proof of the job key: HMAC-SHA256 from libcrypto.
#include "engine/comm/mesh/proof.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/mesh/socket.h"

namespace ds::comm {
namespace {

constexpr std::string_view kMagic = "dslink1\n";
static_assert(kMagic.size() == 8);

const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

void append(std::vector<unsigned char>& to, const std::byte* from, std::size_t count) {
  to.insert(to.end(), raw(from), raw(from) + count);
}

}  // namespace

Hello make_hello() {
  Hello hello{};
  std::transform(kMagic.begin(), kMagic.end(), hello.begin(),
                 [](char c) { return static_cast<std::byte>(c); });
  const int nonce_bytes = static_cast<int>(kHelloBytes - kMagic.size());
  if (RAND_bytes(reinterpret_cast<unsigned char*>(hello.data() + kMagic.size()), nonce_bytes) !=
      1) {
    throw Error(ErrorKind::system, "the system's random number generator failed");
  }
  return hello;
}

bool has_magic(std::span<const std::byte> hello) {
  return hello.size() >= kMagic.size() &&
         std::equal(kMagic.begin(), kMagic.end(), hello.begin(),
                    [](char c, std::byte b) { return static_cast<std::byte>(c) == b; });
}

Mac make_mac(const std::string& key, Side prover, const Hello& dialer, const Hello& acceptor) {
  const std::string_view role = prover == Side::dialer ? "dialer" : "acceptor";
  std::vector<unsigned char> text(role.begin(), role.end());
  append(text, dialer.data(), dialer.size());
  append(text, acceptor.data(), acceptor.size());
  Mac mac{};
  unsigned int length = 0;
  const unsigned char* done =
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(), text.size(),
           reinterpret_cast<unsigned char*>(mac.data()), &length);
  DS_ASSERT(done != nullptr && length == kMacBytes);
  return mac;
}

bool equal_macs(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

ProofResult prove_as_dialer(int fd, const std::string& key, Deadline deadline) {
  const Hello dialer = make_hello();
  Hello acceptor{};
  if (write_all(fd, dialer, deadline) != IoResult::done ||
      read_exactly(fd, acceptor, deadline) != IoResult::done) {
    return ProofResult::broken;
  }
  if (!has_magic(acceptor)) return ProofResult::impostor;
  Mac answer{};
  if (write_all(fd, make_mac(key, Side::dialer, dialer, acceptor), deadline) != IoResult::done ||
      read_exactly(fd, answer, deadline) != IoResult::done) {
    return ProofResult::broken;
  }
  if (answer == Mac{}) return ProofResult::refused;
  return equal_macs(answer, make_mac(key, Side::acceptor, dialer, acceptor))
             ? ProofResult::proven
             : ProofResult::impostor;
}

}  // namespace ds::comm
