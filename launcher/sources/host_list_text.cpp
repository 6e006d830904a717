// Parser for host lists: blanks keys without meaning here, then uses the hostfile grammar.
#include "launcher/sources/host_list_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "engine/base/error.h"
#include "launcher/hosts/host_word.h"
#include "launcher/sources/peer_clues.h"

namespace ds::launcher {
namespace {

constexpr std::array<std::string_view, 2> kIgnored = {"gpu=", "binding="};

/// Replaces ignored keys by blanks, so that places in messages stay correct.
std::string without_ignored(std::string text) {
  for (const std::string_view word : kIgnored) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
      const bool starts = at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t');
      if (!starts) continue;
      const std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
      std::fill(text.begin() + static_cast<std::ptrdiff_t>(at),
                text.begin() + static_cast<std::ptrdiff_t>(end), ' ');
    }
  }
  return text;
}

}  // namespace

std::vector<Host> parse_host_list(const World& world, const std::string& text,
                                  const std::string& name) {
  const auto read_included = [&](const std::string& path, const std::string& from) {
    const std::string full =
        (std::filesystem::path(from).parent_path() / path).lexically_normal().string();
    const FileText file = world.read_file(full);
    if (!file.text)
      throw Error(ErrorKind::config, fmt::format("cannot read hostfile {}: {}", full, file.problem),
                  "relative paths start at the folder of the including file");
    return IncludedText{full, full, without_ignored(*file.text)};
  };
  return parse_hostfile(without_ignored(text), name, read_included, name);
}

std::optional<int> default_slots(const World& world) {
  for (const char* name :
       {"OMPI_MCA_orte_set_default_slots", "PRTE_MCA_prte_set_default_slots", "I_MPI_PERHOST"}) {
    const auto text = world.variable(name);
    if (!text) continue;
    if (*text == "all" || *text == "allcores") return kAutoSlots;
    const int slots = number_variable(world, name)->value;
    if (slots < 1 || slots > kMaxSlots)
      throw Error(ErrorKind::config,
                  fmt::format("{}={} is out of range (1 to {})", name, slots, kMaxSlots));
    return slots;
  }
  return std::nullopt;
}

void set_default_slots(const World& world, std::vector<Host>& hosts) {
  const std::optional<int> slots = default_slots(world);
  if (!slots) return;
  for (Host& host : hosts) {
    const bool says_nothing = host.bare && host.slots == 1 && host.max_slots == 0;
    if (!says_nothing) continue;
    host.slots = *slots;
    host.bare = false;
  }
}

}  // namespace ds::launcher
