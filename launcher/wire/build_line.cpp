// Reads the program's build id from its ELF notes.
#include "launcher/wire/build_line.h"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstring>

namespace ds::launcher {
namespace {

constexpr std::string_view kBegin =
    "\x01"
    "dslaunch-build ";
constexpr std::string_view kEnd = "\x02\n";

std::size_t aligned(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

/// The build id among the notes of one segment (elf(5), "Notes"); empty if it is not there.
std::string id_in_notes(const std::byte* at, std::size_t size) {
  ElfW(Nhdr) note{};
  while (size >= sizeof note) {
    std::memcpy(&note, at, sizeof note);
    const std::size_t whole = sizeof note + aligned(note.n_namesz) + aligned(note.n_descsz);
    if (whole > size) return {};
    const std::byte* const name = at + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i)
        id += fmt::format("{:02x}", std::to_integer<unsigned>(name[4 + i]));
      return id;
    }
    at += whole;
    size -= whole;
  }
  return {};
}

/// The program itself is the first object; the others are its libraries.
int read_program(dl_phdr_info* info, std::size_t, void* id) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* const notes = reinterpret_cast<const std::byte*>(info->dlpi_addr + segment.p_vaddr);
    std::string found = id_in_notes(notes, segment.p_memsz);
    if (!found.empty()) *static_cast<std::string*>(id) = std::move(found);
  }
  return 1;
}

}  // namespace

const std::string& own_build_id() {
  static const std::string id = [] {
    std::string found;
    ::dl_iterate_phdr(read_program, &found);
    return found;
  }();
  return id;
}

std::string build_line(std::string_view id) {
  return id.empty() ? std::string() : fmt::format("{}{}{}", kBegin, id, kEnd);
}

std::optional<std::string> build_id_in(std::string_view text) {
  const std::size_t begin = text.rfind(kBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin + kBegin.size());
  const std::size_t end = text.find(kEnd);
  const std::string_view id = text.substr(0, end);
  const bool good = end != std::string_view::npos && end > 0 && end <= 128 &&
                    id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return good ? std::optional<std::string>(id) : std::nullopt;
}

}  // namespace ds::launcher
