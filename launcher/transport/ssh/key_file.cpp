// The rule for modes of private keys, and its texts.
#include "launcher/transport/ssh/key_file.h"

#include <fmt/format.h>

#include "launcher/transport/host_keys/base64.h"
#include "launcher/transport/host_keys/wire_reader.h"

namespace ds::launcher {

namespace {
constexpr unsigned kOthersWrite = 022;
constexpr unsigned kOthersAnything = 077;
}  // namespace

std::string key_file_problem(const KeyFile& file, const KeyReader& reader) {
  if (!file.readable)
    return fmt::format(
        "it cannot be read as user {}: it belongs to {}, with permissions {:04o}{}", reader.uid,
        file.owner, file.mode,
        reader.in_pod ? " (in a pod, securityContext.fsGroup lets the user read it)" : "");
  if (file.owner != reader.uid) return {};
  const bool mounted = file.in_secret || (file.read_only_here && reader.in_pod);
  if ((file.mode & kOthersWrite) != 0)
    return fmt::format("its permissions {:04o} let others write it", file.mode);
  if ((file.mode & kOthersAnything) != 0 && !mounted)
    return fmt::format("its permissions {:04o} let others read it", file.mode);
  return {};
}

std::string key_cipher(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
  constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
  constexpr std::string_view kMagic("openssh-key-v1\0", 15);
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == text.npos || end == text.npos || end < begin) return {};
  std::string lines;
  for (const char c : text.substr(begin + kBegin.size(), end - begin - kBegin.size()))
    if (c != '\n' && c != '\r') lines += c;
  const auto bytes = base64_decode(lines);
  if (!bytes || !bytes->starts_with(kMagic)) return {};
  return std::string(WireReader(std::string_view(*bytes).substr(kMagic.size())).string());
}

std::string key_cipher_problem(std::string_view cipher) {
  if (!cipher.ends_with("@openssh.com")) return {};
  return fmt::format(
      "is encrypted by {}, which only an agent opens: `ssh-add` it, or encrypt it anew by "
      "`ssh-keygen -p -Z aes256-ctr -f` and its name",
      cipher);
}

}  // namespace ds::launcher
