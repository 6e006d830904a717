// The secret that both ends of a join prove: 32 bytes derived from a token, a file or a mounted
// key.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ds::launcher {

/// The external pre-shared key of TLS 1.3 (RFC 8446 section 4.2.11). Wiped when destroyed.
class JoinKey {
 public:
  static constexpr std::size_t kBytes = 32;
  JoinKey() = default;
  /// HKDF-SHA256 (RFC 5869) of the secret's bytes, so that any secret serves: a token, a file, the
  /// private key that an operator mounts in every pod.
  /// Errors:  Error{config}: the secret is empty.
  static JoinKey from_secret(std::string_view secret);
  /// Of /dev/urandom, for a job whose agents get it on a private channel.
  static JoinKey random();
  /// 64 hexadecimal digits, and back.
  static std::optional<JoinKey> from_hex(std::string_view hex);
  [[nodiscard]] std::string hex() const;
  ~JoinKey();
  JoinKey(const JoinKey&) = default;
  JoinKey& operator=(const JoinKey&) = default;

  [[nodiscard]] const unsigned char* data() const { return bytes_.data(); }
  friend bool operator==(const JoinKey&, const JoinKey&) = default;

 private:
  std::array<unsigned char, kBytes> bytes_{};
};

struct FoundJoinKey {
  JoinKey key;
  std::string source;  // for people: "the token in DSLAUNCH_TOKEN", "the file /etc/token"
};

/// The key of a job whose agents dial in: `key_file` if one was named; else DSLAUNCH_TOKEN, or the
/// file that DSLAUNCH_TOKEN_FILE names; else an ssh private key that an operator has mounted:
/// ~/.ssh/id_rsa, id_ecdsa, id_ed25519 in `home`. Blanks and line ends around a token mean nothing.
/// Errors:  Error{config}: a file that was named cannot be read, or what was found is empty;
/// without
///          any, says where one is looked for.
FoundJoinKey find_join_key(
    const std::optional<std::string>& key_file, const std::string& home,
    const std::function<std::optional<std::string>(const std::string&)>& environment);

/// Takes DSLAUNCH_TOKEN out of this process's environment and blanks it in memory, so that neither
/// ranks nor /proc show it.
void hide_join_token();

}  // namespace ds::launcher
