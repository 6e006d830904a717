// Handshake of two ranks: both ends of a connection show that they hold the job key without sending
// it, by HMAC-SHA256 over two fresh nonces, and the dialer says what the connection is for.
//
//   dialer   -> acceptor   hello: magic (8), nonce D (32)
//   acceptor -> dialer     hello: magic (8), nonce A (32)
//   dialer   -> acceptor   note: purpose and job (1024), HMAC(key, "dialer" D A note) (32)
//   acceptor -> dialer     note: why the dialer is refused, or empty, HMAC(key, "acceptor" D A
//   note)
//                          or zeros instead: the dialer's key is another one
//
// Without a key (a run by hand, or under another launcher) the empty key is used. That keeps
// programs out that do not speak the protocol, but not an attacker.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/socket.h"

namespace ds::comm {

inline constexpr std::size_t kMagicBytes = 8, kNonceBytes = 32;
using Hello = std::array<std::byte, kMagicBytes + kNonceBytes>;
enum class Side { dialer, acceptor };

/// A text that ends with a zero byte, and its HMAC.
struct SignedNote {
  std::array<char, 1024> text{};
  std::array<std::byte, 32> mac{};
  friend bool operator==(const SignedNote&, const SignedNote&) = default;
};

/// Returns the magic and a fresh nonce. Errors: Error{system} when the system has no randomness.
Hello make_hello();
/// Signs a text; one of more than 1,023 bytes is cut.
SignedNote sign(std::string_view text, const std::string& key, Side signer, const Hello& dialer,
                const Hello& acceptor);

/// What the ranks of a job know and others do not.
struct Membership {
  std::string key;  // the job key; may be empty
  std::string job;  // job id and epoch
};

/// The acceptor's side, message by message. Pure: bytes in, bytes out.
class Handshake {
 public:
  enum class Stage {
    hello,     // unproven: waits for the dialer's hello
    note,      // unproven: waits for the dialer's signed note
    accepted,  // purpose() is known
    refused    // to be closed once the answer is written
  };
  /// `is_rank_0`: also accepts clients of the coordinator.
  Handshake(const Membership& membership, bool is_rank_0, const Hello& own);

  [[nodiscard]] Stage stage() const { return stage_; }
  /// Returns the bytes of the next message; zero when no further one is expected.
  [[nodiscard]] std::size_t wanted() const { return wanted_; }
  /// Takes a message of wanted() bytes. Returns what to write.
  std::vector<std::byte> take(std::span<const std::byte> message);
  [[nodiscard]] const std::string& purpose() const { return purpose_; }

 private:
  std::vector<std::byte> check_note(const SignedNote& note);
  [[nodiscard]] std::string refusal_of(const std::string& note);

  const Membership* membership_;
  bool is_rank_0_;
  Hello own_, theirs_{};
  Stage stage_ = Stage::hello;
  std::size_t wanted_ = sizeof(Hello);
  std::string purpose_;
};

inline constexpr const char* kForCoordinator = "coordinator";
/// Dials until the deadline where a retry can help. Returns a connection that both ends have
/// proven. `purpose`: kForCoordinator or "link NAME". Errors: Error{config} when the acceptor
/// refuses the key or the job; Error{comm} when nothing answers in time.
UniqueFd open_connection(const Endpoint& address, const Membership& membership,
                         const std::string& purpose, Deadline deadline);

}  // namespace ds::comm
