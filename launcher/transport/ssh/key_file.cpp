// Modes of private keys, ciphers of encrypted ones, and lines of authorized_keys.
#include "launcher/transport/ssh/key_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "launcher/transport/host_keys/wire_reader.h"

namespace ds::launcher {

namespace {
constexpr unsigned kOthersWrite = 022;
constexpr unsigned kOthersAnything = 077;

/// Splits a line into words. Blanks within quotes, as in command="a b", belong to a word.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const bool blank = i == line.size() || line[i] == ' ' || line[i] == '\t' || line[i] == '\r';
    if (i < line.size() && line[i] == '"' && (i == 0 || line[i - 1] != '\\')) quoted = !quoted;
    if (!blank || (quoted && i < line.size())) continue;
    if (i > begin) words.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  return words;
}

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

bool authorizes(std::string_view text, std::string_view public_base64) {
  if (public_base64.empty()) return false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) continue;
    if (words.front().find("cert-authority") != std::string_view::npos) continue;
    if (std::ranges::find(words, public_base64) != words.end()) return true;
  }
  return false;
}

std::string key_type_of(std::string_view public_base64) {
  const auto blob = base64_decode(public_base64);
  if (!blob) return {};
  WireReader reader(*blob);
  return std::string(reader.string());
}

}  // namespace ds::launcher
