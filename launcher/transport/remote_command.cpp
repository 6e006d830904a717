// Builds shell commands without a single quote, `!` or newline inside, which login shells treat
// differently.
#include "launcher/transport/remote_command.h"

#include <fmt/format.h>

#include <algorithm>

namespace ds::launcher {
namespace {

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("/._-+,=@%:").find(c) != std::string_view::npos;
}

/// Returns a word for /bin/sh: unchanged, or in octal for printf, because shells differ in their
/// escapes.
std::string shell_word(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), is_plain)) return fmt::format("\"{}\"", text);
  std::string octal;
  for (const char c : text) octal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  return fmt::format("\"$(printf \"{}\")\"", octal);
}

}  // namespace

std::string direct_agent_command(std::string_view self_path) {
  const bool every_shell =
      self_path.starts_with('/') && std::all_of(self_path.begin(), self_path.end(), [](char c) {
        return is_plain(c) && std::string_view(",=@%:").find(c) == std::string_view::npos;
      });
  return every_shell ? fmt::format("{} agent", self_path) : std::string();
}

std::string remote_agent_command(std::string_view self_path) {
  return fmt::format(
      "/bin/sh -c 'p={}; q=$p; [ -x \"$p\" ] || q=$(command -v dslaunch) || "
      "{{ echo \"dslaunch is not on this node: no $p, and none on PATH ($PATH)\" >&2; exit 127; "
      "}}; "
      "echo \"{}$q\"; exec \"$q\" agent'",
      shell_word(self_path), kFoundMark);
}

}  // namespace ds::launcher
