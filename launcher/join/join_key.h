// Job key of a join: 32 bytes derived from a token, a file or a mounted private key.
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
  /// Returns HKDF-SHA256 (RFC 5869) of the secret's bytes. The secret may be a token, a file or the
  /// private key that an operator mounts in every pod.
  /// Errors:  Error{config}: the secret has fewer than 16 bytes. Anyone who records a handshake can
  ///          try out secrets offline, because TLS derives its session from this key alone.
  ///          `source` names the secret in the message.
  static JoinKey from_secret(std::string_view secret,
                             std::string_view source = "the secret of the job");
  /// Returns a random key, for a job whose agents receive it on a private channel.
  static JoinKey random();
  /// Converts from and to 64 lower-case hexadecimal digits.
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
  std::string source;  // for messages: "the token in DSLAUNCH_TOKEN", "the file /etc/token"
};

/// Returns the key of a job whose agents dial in, from the first source that exists: `key_file`,
/// DSLAUNCH_TOKEN, the file named by DSLAUNCH_TOKEN_FILE, or an ssh private key that an operator
/// has mounted (.ssh/id_rsa, id_ecdsa, id_ed25519 in `home`). Blanks and line ends around a token
/// are ignored.
/// Errors:  Error{config}: a named file cannot be read, or the secret is empty or too short;
///          without a secret, the message lists the sources.
FoundJoinKey find_join_key(
    const std::optional<std::string>& key_file, const std::string& home,
    const std::function<std::optional<std::string>(const std::string&)>& environment);

/// Removes DSLAUNCH_TOKEN from this process's environment and blanks it in memory, so that ranks
/// and /proc do not show it.
void hide_join_token();

}  // namespace ds::launcher
