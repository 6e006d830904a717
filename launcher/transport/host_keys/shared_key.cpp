// Looking for a key in authorized_keys.
#include "launcher/transport/host_keys/shared_key.h"

#include <algorithm>
#include <vector>

#include "launcher/transport/host_keys/base64.h"
#include "launcher/transport/host_keys/wire_reader.h"

namespace ds::launcher {

namespace {

/// Blanks within quotes, as in command="a b", belong to a word.
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
