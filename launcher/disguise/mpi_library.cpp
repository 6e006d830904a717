// Reader of an ELF file's dynamic section; checks every offset because the file may be malformed.
#include "launcher/disguise/mpi_library.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "engine/base/split.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

namespace {

class ElfFile {
 public:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::optional<std::string> mpi_library() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
      return std::nullopt;
    for (std::size_t i = 0; i < header->e_phnum; ++i)
      if (const auto part = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr)))
        parts_.push_back(*part);
    for (const Elf64_Phdr& part : parts_)
      if (part.p_type == PT_DYNAMIC) read_dynamic(part.p_offset, part.p_filesz);
    for (const std::uint64_t name : needed_) {
      const std::string_view library = text(names_ + name);
      constexpr std::array<std::string_view, 5> kOfMpi = {"libmpi.so", "libmpich", "libmpi_",
                                                          "libmpicxx.so", "libmpifort.so"};
      if (std::any_of(kOfMpi.begin(), kOfMpi.end(),
                      [&](std::string_view start) { return library.starts_with(start); }))
        return std::string(library);
    }
    return std::nullopt;
  }

 private:
  template <class T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  void read_dynamic(std::uint64_t offset, std::uint64_t size) {
    for (std::uint64_t i = 0; i < size / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn));
      if (!entry || entry->d_tag == DT_NULL) return;
      if (entry->d_tag == DT_NEEDED) needed_.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) names_ = offset_of(entry->d_un.d_ptr);
    }
  }

  /// Returns the file offset of an address in the running program.
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t address) const {
    for (const Elf64_Phdr& part : parts_)
      if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
          address - part.p_vaddr < part.p_filesz)
        return part.p_offset + (address - part.p_vaddr);
    return bytes_.size();
  }

  [[nodiscard]] std::string_view text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto* const begin = reinterpret_cast<const char*>(bytes_.data() + offset);
    return {begin, ::strnlen(begin, bytes_.size() - offset)};
  }

  std::span<const std::byte> bytes_;
  std::vector<Elf64_Phdr> parts_;
  std::vector<std::uint64_t> needed_;
  std::uint64_t names_ = ~std::uint64_t{0} / 2;
};

std::optional<std::string> library_of_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
    return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return std::nullopt;
  const auto library = mpi_library({static_cast<const std::byte*>(bytes), size});
  ::munmap(bytes, size);
  return library;
}

}  // namespace

std::optional<std::string> mpi_library(std::span<const std::byte> file) {
  return ElfFile(file).mpi_library();
}

MpiWire wire_of_library(std::string_view library) {
  constexpr std::array<std::string_view, 5> kOfMpich = {
      "libmpich", "libmpi.so.12", "libmpicxx.so.12", "libmpifort.so.12", "libmpi_mt.so.12"};
  const auto begins = [&](std::string_view start) { return library.starts_with(start); };
  if (std::ranges::any_of(kOfMpich, begins)) return MpiWire::pmi1;
  const bool is_openmpi = begins("libmpi") && library.find(".so.40") != std::string_view::npos;
  return is_openmpi ? MpiWire::pmix : MpiWire::none;
}

std::optional<std::string> mpi_library_of_program(const std::string& program,
                                                  const std::string& search_path) {
  if (program.find('/') != std::string::npos) return library_of_file(program);
  for (const std::string_view folder : split(search_path, ':')) {
    const std::string path = std::string(folder.empty() ? "." : folder) + "/" + program;
    if (::access(path.c_str(), X_OK) == 0) return library_of_file(path);
  }
  return std::nullopt;
}

}  // namespace ds::launcher
