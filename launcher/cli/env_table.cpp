// Formatter for --dry-run=env: variables set for ranks and variables forwarded to nodes.
#include "launcher/cli/env_table.h"

#include <fmt/format.h>

#include "launcher/cli/redact.h"

namespace ds::launcher {

namespace {

std::string shown(const std::string& name, const std::string& value,
                  const std::vector<std::string>& redact) {
  std::string text = fmt::format("  {}={}", name, is_redacted(name, redact) ? kRedacted : value);
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

}  // namespace

std::string env_table(const std::vector<NamedValue>& given, const EnvList& sent,
                      const std::vector<std::string>& redact) {
  std::string text =
      given.empty() ? "no variables are set for every rank\n" : "variables set for every rank:\n";
  for (const NamedValue& variable : given)
    text +=
        fmt::format("{:<50}  {}\n", shown(variable.name, variable.value, redact), variable.source);
  text += sent.empty() ? "no variables are forwarded to other nodes\n"
                       : "variables forwarded to other nodes:\n";
  for (const auto& [name, value] : sent) text += shown(name, value, redact) + "\n";
  return text;
}

}  // namespace ds::launcher
