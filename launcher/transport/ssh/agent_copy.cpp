// Builds the shell command that receives the program, and reads /proc/self/exe.
#include "launcher/transport/ssh/agent_copy.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/utsname.h>

#include <array>
#include <fstream>
#include <iterator>

namespace ds::launcher {

namespace {

constexpr std::size_t kNameBytes = 16;

/// Returns the first bytes of SHA-256 in hexadecimal digits; empty if OpenSSL fails.
std::string name_of(const Bytes& bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1 ||
      size < kNameBytes)
    return {};
  std::string name;
  for (std::size_t i = 0; i < kNameBytes; ++i) name += fmt::format("{:02x}", digest[i]);
  return name;
}

}  // namespace

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
      name, size, machine, kCopyWish);
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
