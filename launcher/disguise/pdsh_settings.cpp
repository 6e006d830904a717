#include "launcher/disguise/pdsh_settings.h"

#include <fmt/format.h>

#include <charconv>
#include <set>
#include <variant>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "launcher/cli/option_table.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/hosts/host_ranges.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

/// Returns the names as few expressions, if their order allows it.
std::string folded(const std::vector<std::string>& names) {
  std::string text = fold_names(names);
  std::vector<std::string> back;
  for (const Word& word : split_outside_brackets(text, ",")) {
    const auto expanded = expand_host_ranges(word.text);
    if (const auto* more = std::get_if<std::vector<std::string>>(&expanded))
      back.insert(back.end(), more->begin(), more->end());
  }
  return back == names ? text : fmt::format("{}", fmt::join(names, ","));
}

/// Returns the type in the file that Debian's pdsh reads; empty without it.
std::string debian_rcmd(const Surroundings& around) {
  try {
    const std::string text = around.file("/etc/pdsh/rcmd_default");
    return text.substr(0, text.find_first_of(" \t\r\n"));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

int pdsh_number(std::string_view program, const PdshNumber& number, const std::string& given,
                const Surroundings& around) {
  const std::string value = given.empty() ? around.variable(number.variable).value_or("") : given;
  if (value.empty()) return number.otherwise;
  int result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc{} || end != value.data() + value.size() || result < number.least ||
      result > number.most)
    usage_error(fmt::format("{}: {} must be a number from {} to {}, not '{}'", program,
                            given.empty() ? number.variable : number.option, number.least,
                            number.most, value));
  return result;
}

std::string pdsh_rcmd(std::string_view program, const std::string& given,
                      const std::vector<PdshTarget>& targets, const Surroundings& around) {
  std::string usual = given;
  if (usual.empty()) usual = around.variable("PDSH_RCMD_TYPE").value_or("");
  if (usual.empty()) usual = debian_rcmd(around);
  if (usual.empty()) usual = "ssh";
  const auto type = [&](const PdshTarget& target) -> const std::string& {
    return target.rcmd.empty() ? usual : target.rcmd;
  };
  const std::string& first = type(targets.front());
  for (const PdshTarget& target : targets)
    if (type(target) != first)
      usage_error(fmt::format("{}: {} is reached by {}, {} by {}", program, targets.front().name,
                              first, target.name, type(target)),
                  fmt::format("use one {} for the hosts of each rcmd type", program));
  return first;
}

std::string pdsh_host_list(const std::vector<PdshTarget>& targets, const std::string& port) {
  std::string list;
  for (std::size_t at = 0; at < targets.size();) {
    const std::string& user = targets[at].user;
    std::vector<std::string> names;
    for (; at < targets.size() && targets[at].user == user; ++at) names.push_back(targets[at].name);
    if (user.empty() && port.empty()) {
      list += (list.empty() ? "" : ",") + folded(names);
      continue;
    }
    for (const std::string& name : names)
      list += fmt::format("{}{}{}{}{}{}", list.empty() ? "" : ",", user, user.empty() ? "" : "@",
                          name, port.empty() ? "" : ":", port);
  }
  return list;
}

bool has_repeated_host(const std::vector<PdshTarget>& targets) {
  std::set<std::string_view> different;
  for (const PdshTarget& target : targets) different.insert(target.name);
  return different.size() < targets.size();
}

}  // namespace ds::launcher
