#include "launcher/disguise/pdsh_ssh_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

#include "engine/base/split.h"

namespace ds::launcher {
namespace {

void read_ssh_option(std::string_view option, PdshSshArgs& args) {
  const std::size_t end = std::min(option.find_first_of("= "), option.size());
  std::string key(option.substr(0, end));
  std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
  const std::string value(option.substr(std::min(end + 1, option.size())));
  constexpr std::string_view kNoEffect[] = {
      "batchmode",    "loglevel",   "forwardx11",
      "forwardagent", "requesttty", "connecttimeout"};  // pdsh's own comes first
  if (key == "userknownhostsfile")
    args.options.emplace_back("--known-hosts", value);
  else if (key == "port")
    args.port = value;
  else if (key == "user")
    args.user = value;
  else if (std::ranges::find(kNoEffect, key) == std::end(kNoEffect))
    args.notes.push_back(fmt::format(
        "ssh's -o {} has no effect; write it to ~/.ssh/config or to a file for -F", option));
}

}  // namespace

PdshSshArgs pdsh_ssh_args(const Surroundings& around) {
  PdshSshArgs args;
  std::vector<std::string_view> words;
  const std::string text = around.variable("PDSH_SSH_ARGS_APPEND").value_or("") + " " +
                           around.variable("PDSH_SSH_ARGS").value_or("");
  for (const std::string_view word : split(text, ' '))
    if (!word.empty()) words.push_back(word);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    const char letter = word.size() > 1 && word[0] == '-' ? word[1] : '\0';
    const bool valued = letter != '\0' && std::string_view("oFlpiJ").find(letter) != word.npos;
    if (!valued) {
      const bool silent = word == "%h" || std::string_view("2axqTnvk46C").find(letter) != word.npos;
      if (!silent) args.notes.push_back(fmt::format("ssh's {} has no effect", word));
      continue;
    }
    const std::string_view value = word.size() > 2         ? word.substr(2)
                                   : at + 1 < words.size() ? words[++at]
                                                           : std::string_view();
    if (letter == 'o') read_ssh_option(value, args);
    if (letter == 'F') args.options.emplace_back("--ssh-config", value);
    if (letter == 'p') args.port = value;
    if (letter == 'l' && value != "%u") args.user = value;
    if (letter == 'i' || letter == 'J')
      args.notes.push_back(
          fmt::format("ssh's -{} {} has no effect; write it to ~/.ssh/config or to a file for -F",
                      letter, value));
  }
  return args;
}

}  // namespace ds::launcher
