// Proof of the job key: both ends of a connection show that they hold it without sending it, by
// HMAC-SHA256 over two fresh nonces.
//
//   dialer   -> acceptor   hello: magic (8), nonce D (32)
//   acceptor -> dialer     hello: magic (8), nonce A (32)
//   dialer   -> acceptor   HMAC(key, "dialer" D A)
//   acceptor -> dialer     HMAC(key, "acceptor" D A); or 32 zero bytes (refused), then it closes
//
// Without a key (a run by hand, or under another launcher) the empty key is used. That keeps
// programs out that do not speak the protocol, but not an attacker.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "engine/base/deadline.h"

namespace ds::comm {

inline constexpr std::size_t kHelloBytes = 40;
inline constexpr std::size_t kMacBytes = 32;
using Hello = std::array<std::byte, kHelloBytes>;
using Mac = std::array<std::byte, kMacBytes>;

/// Returns the magic and a fresh nonce. Errors: Error{system} when the system has no randomness.
Hello make_hello();
bool has_magic(std::span<const std::byte> hello);

enum class Side { dialer, acceptor };
Mac make_mac(const std::string& key, Side prover, const Hello& dialer, const Hello& acceptor);
/// Compares in time that does not depend on where the two differ.
bool equal_macs(std::span<const std::byte> a, std::span<const std::byte> b);

enum class ProofResult {
  proven,
  refused,   // the acceptor says that our key is not its key
  impostor,  // the acceptor does not hold our key, or is not a member of a job
  broken     // closed or late: worth a retry
};
/// Runs the dialer's side; blocks until the deadline.
ProofResult prove_as_dialer(int fd, const std::string& key, Deadline deadline);

}  // namespace ds::comm
