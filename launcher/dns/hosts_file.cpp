// Words behind an address are names of it.
#include "launcher/dns/hosts_file.h"

#include <algorithm>

#include "launcher/dns/words.h"

namespace ds::launcher {

std::string plain_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  std::string plain(name);
  for (char& c : plain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return plain;
}

std::vector<std::string> find_in_hosts_file(std::string_view text, std::string_view name) {
  const std::string wanted = plain_name(name);
  std::vector<std::string> addresses;
  for_each_line(text, "#", [&](std::span<const std::string_view> words) {
    const auto names = words.subspan(1);
    if (std::any_of(names.begin(), names.end(),
                    [&](std::string_view word) { return plain_name(word) == wanted; }))
      addresses.emplace_back(words[0]);
  });
  return addresses;
}

bool has_further_sources(std::string_view nsswitch_text) {
  bool further = false;
  for_each_line(nsswitch_text, "#", [&](std::span<const std::string_view> words) {
    if (words[0] != "hosts:") return;
    further = false;
    bool in_action = false;  // [NOTFOUND=return], also with blanks inside
    for (const std::string_view word : words.subspan(1)) {
      if (word.starts_with('[')) in_action = true;
      if (!in_action && word != "files" && word != "dns") further = true;
      if (word.ends_with(']')) in_action = false;
    }
  });
  return further;
}

}  // namespace ds::launcher
