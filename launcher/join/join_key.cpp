#include "launcher/join/join_key.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kSalt = "dslaunch";
constexpr std::string_view kUse = "join transport 1";
constexpr std::size_t kLeastSecretBytes = 16;  // 128 bits, if they are random
constexpr std::size_t kMaxSecretBytes = std::size_t{1} << 20;
constexpr const char* kTokenName = "DSLAUNCH_TOKEN";
constexpr const char* kTokenFileName = "DSLAUNCH_TOKEN_FILE";
constexpr const char* kSshKeys[] = {"id_rsa", "id_ecdsa", "id_ed25519"};

using Digest = std::array<unsigned char, JoinKey::kBytes>;

Digest hmac_sha256(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned int size = 0;
  const auto* made = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                            reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                            digest.data(), &size);
  DS_ASSERT(made != nullptr && size == digest.size());
  return digest;
}

std::string trimmed(const std::string& text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Returns the content of a file; nothing if it does not exist.
std::optional<std::string> read_secret(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return std::nullopt;
  const bool readable = file && !std::filesystem::is_directory(path);
  std::string text;
  if (readable) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!readable || file.bad())
    throw Error(ErrorKind::config,
                fmt::format("cannot read the key file {}: {}", path,
                            errno != 0 ? std::strerror(errno) : "it is a folder"),
                "it must be a file that this user may read");
  if (text.size() > kMaxSecretBytes)
    throw Error(ErrorKind::config, fmt::format("the key file {} is larger than 1 MiB", path),
                "name the file that holds the token or the private key");
  return text;
}

FoundJoinKey from_named_file(const std::string& path, const std::string& named_by) {
  const auto text = read_secret(path);
  if (!text)
    throw Error(ErrorKind::config, fmt::format("there is no key file {} ({})", path, named_by),
                "is the secret mounted?");
  const std::string token = trimmed(*text);
  if (token.empty())
    throw Error(ErrorKind::config, fmt::format("the key file {} is empty ({})", path, named_by));
  return {JoinKey::from_secret(token, "the key file " + path), "the file " + path};
}

}  // namespace

JoinKey JoinKey::from_secret(std::string_view secret, std::string_view source) {
  if (secret.size() < kLeastSecretBytes)
    throw Error(
        ErrorKind::config,
        fmt::format("{} has {} bytes; fewer than {} can be guessed from a recorded handshake",
                    source, secret.size(), kLeastSecretBytes),
        "make a good one with: openssl rand -hex 32");
  Digest root = hmac_sha256(kSalt, secret);
  const std::string_view key(reinterpret_cast<const char*>(root.data()), root.size());
  JoinKey made;
  made.bytes_ = hmac_sha256(key, std::string(kUse) + '\x01');
  ::OPENSSL_cleanse(root.data(), root.size());
  return made;
}

JoinKey JoinKey::random() {
  JoinKey made;
  if (::RAND_bytes(made.bytes_.data(), static_cast<int>(kBytes)) != 1)
    throw Error(ErrorKind::system, "the system gives no random numbers for the job's key");
  return made;
}

std::optional<JoinKey> JoinKey::from_hex(std::string_view hex) {
  if (hex.size() != 2 * kBytes) return std::nullopt;
  JoinKey made;
  for (std::size_t i = 0; i < kBytes; ++i)
    std::from_chars(hex.data() + 2 * i, hex.data() + 2 * i + 2, made.bytes_[i], 16);
  return made.hex() == hex ? std::optional(made) : std::nullopt;
}

std::string JoinKey::hex() const { return fmt::format("{:02x}", fmt::join(bytes_, "")); }

JoinKey::~JoinKey() { ::OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

FoundJoinKey find_join_key(
    const std::optional<std::string>& key_file, const std::string& home,
    const std::function<std::optional<std::string>(const std::string&)>& environment) {
  if (key_file) return from_named_file(*key_file, "--key-file");
  if (const auto token = environment(kTokenName)) {
    const std::string text = trimmed(*token);
    if (text.empty())
      throw Error(ErrorKind::config, fmt::format("the token in {} is empty", kTokenName),
                  "does the secret have that key?");
    const std::string source = fmt::format("the token in {}", kTokenName);
    return {JoinKey::from_secret(text, source), source};
  }
  if (const auto path = environment(kTokenFileName)) return from_named_file(*path, kTokenFileName);
  for (const char* name : kSshKeys) {
    if (home.empty()) break;
    const std::string path = home + "/.ssh/" + name;
    if (const auto text = read_secret(path); text && !trimmed(*text).empty())
      return {JoinKey::from_secret(trimmed(*text), path), "the private key " + path};
  }
  throw Error(ErrorKind::config, "no secret was found that the nodes of this job share",
              fmt::format("make one with: openssl rand -hex 32; give it to all nodes: {} (from a "
                          "Kubernetes secret), {}, --key-file FILE, or a mounted ~/.ssh/id_rsa",
                          kTokenName, kTokenFileName));
}

void hide_join_token() {
  char* token = std::getenv(kTokenName);
  if (token == nullptr) return;
  ::OPENSSL_cleanse(token, std::strlen(token));
  ::unsetenv(kTokenName);
}

}  // namespace ds::launcher
