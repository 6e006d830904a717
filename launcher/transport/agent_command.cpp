// Builds shell commands without a single quote, `!` or newline inside, which login shells treat
// differently; reads /proc/self/exe.
#include "launcher/transport/agent_command.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <fstream>

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

/// Returns the first 16 bytes of SHA-256 in hexadecimal digits; empty if OpenSSL fails.
std::string name_of(const Bytes& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr) != 1)
    return {};
  return fmt::format("{:02x}", fmt::join(digest.begin(), digest.begin() + 16, ""));
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

std::string copy_agent_command(std::string_view name, std::size_t size, std::string_view machine) {
  // The file has a temporary name until it is complete, because other launchers may be about to run
  // it. A copy that a broken connection cut short is too small.
  return fmt::format(
      "/bin/sh -c 'd=${{XDG_CACHE_HOME:-$HOME/.cache}}/dslaunch/{0}; q=$d/dslaunch; "
      "[ -x \"$q\" ] && exec \"$q\" agent; m=$(uname -m); "
      "[ \"$m\" = {2} ] || {{ echo \"dslaunch is not on this node; the program to copy is for {2}, "
      "not "
      "$m\" >&2; exit 127; }}; "
      "umask 077; n=$d/new.$$; e=$(mkdir -p \"$d\" 2>&1 && : 2>&1 > \"$n\") && echo {3} && "
      "e=$(head -c {1} 2>&1 > \"$n\") && [ $(wc -c < \"$n\") -eq {1} ] && chmod 700 \"$n\" && "
      "mv -f \"$n\" \"$q\" && exec \"$q\" agent; "
      "rm -f \"$n\"; echo \"dslaunch could not be copied to $d: ${{e:-the copy is incomplete}}\" "
      ">&2; "
      "exit 127'",
      name, size, machine, kCopyRequest);
}

std::optional<AgentCopy> copy_of_this_program() {
  std::ifstream file("/proc/self/exe", std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  auto bytes = std::make_shared<Bytes>(static_cast<std::size_t>(size));
  file.seekg(0);
  if (size <= 0 || !file.read(reinterpret_cast<char*>(bytes->data()), size)) return std::nullopt;
  const std::string name = name_of(*bytes);
  utsname here{};
  if (name.empty() || ::uname(&here) != 0) return std::nullopt;
  return AgentCopy{copy_agent_command(name, bytes->size(), here.machine), std::move(bytes)};
}

}  // namespace ds::launcher
