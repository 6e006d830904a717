// Rules for hidden values: secret-looking names, patterns, and values on the command line.
#include "launcher/cli/redact.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace ds::launcher {

bool looks_secret(std::string_view name) {
  constexpr std::array<std::string_view, 9> kTelling = {"TOKEN",   "SECRET",     "PASSWORD",
                                                        "PASSWD",  "PASSPHRASE", "CREDENTIAL",
                                                        "API_KEY", "APIKEY",     "ACCESS_KEY"};
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return std::any_of(kTelling.begin(), kTelling.end(),
                     [&](std::string_view word) { return upper.find(word) != std::string::npos; });
}

bool is_redacted(const std::string& name, const std::vector<std::string>& patterns) {
  if (looks_secret(name)) return true;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
  });
}

std::vector<ArgvValue> values_in_argv(int argc, const char* const* argv) {
  std::vector<ArgvValue> places;
  bool ours = true;  // words between -- and ':' belong to a program's command
  for (int word = 1; word < argc; ++word) {
    const std::string_view text(argv[word]);
    if (text == "--") ours = false;
    if (text == ":") ours = true;
    if (!ours) continue;
    std::size_t name = 0;  // offset of NAME=value in its word
    if (text == "-x" && word + 1 < argc) {
      ++word;
    } else if (text.starts_with("-x") && text.size() > 2) {
      name = 2;
    } else {
      continue;
    }
    const std::size_t equals = std::string_view(argv[word]).find('=', name);
    if (equals != std::string_view::npos) places.push_back({word, equals + 1});
  }
  return places;
}

void blank_value(char* value) {
  const std::size_t size = std::strlen(value);
  std::memset(value, 0, size);
  std::memcpy(value, kRedacted.data(), std::min(size, kRedacted.size()));
}

void blank_values(int argc, char** argv) {
  for (const ArgvValue& place : values_in_argv(argc, argv))
    blank_value(argv[place.word] + place.offset);
}

}  // namespace ds::launcher
