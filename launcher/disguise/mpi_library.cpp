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
#include <set>
#include <string_view>
#include <vector>

#include "engine/base/split.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

namespace {

/// What an ELF file says of the libraries that it needs.
struct Needs {
  std::vector<std::string> libraries{};
  std::string folders{};  // DT_RUNPATH, or DT_RPATH: where to look first, separated by ':'
};

class ElfFile {
 public:
  explicit ElfFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Returns nothing for bytes that are no 64-bit ELF file.
  Needs needs() {
    const auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
      return {};
    for (std::size_t i = 0; i < header->e_phnum; ++i)
      if (const auto part = at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr)))
        parts_.push_back(*part);
    for (const Elf64_Phdr& part : parts_)
      if (part.p_type == PT_DYNAMIC) read_dynamic(part.p_offset, part.p_filesz);
    Needs needs;
    for (const std::uint64_t name : needed_) needs.libraries.emplace_back(text(names_ + name));
    if (folders_) needs.folders = text(names_ + *folders_);
    return needs;
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
      if (entry->d_tag == DT_RUNPATH || (entry->d_tag == DT_RPATH && !folders_))
        folders_ = entry->d_un.d_val;
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
  std::optional<std::uint64_t> folders_;
  std::uint64_t names_ = ~std::uint64_t{0} / 2;
};

std::optional<std::string> mpi_library_of(const Needs& needs) {
  constexpr std::array<std::string_view, 5> kOfMpi = {"libmpi.so", "libmpich", "libmpi_",
                                                      "libmpicxx.so", "libmpifort.so"};
  for (const std::string& library : needs.libraries)
    if (std::ranges::any_of(kOfMpi, [&](auto start) { return library.starts_with(start); }))
      return library;
  return std::nullopt;
}

std::optional<Needs> needs_of_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size <= 0)
    return std::nullopt;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* const bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (bytes == MAP_FAILED) return std::nullopt;
  Needs needs = ElfFile({static_cast<const std::byte*>(bytes), size}).needs();
  ::munmap(bytes, size);
  return needs;
}

/// Follows the libraries of a program as the loader does, but does not know the cache of ldconfig.
class LibraryWalk {
 public:
  explicit LibraryWalk(std::string_view library_path) : library_path_(library_path) {}

  /// Returns whether a library of the program needs MPI, or one of theirs does.
  bool finds_mpi(const std::string& program, const Needs& needs) {
    add(program, needs);
    for (std::size_t next = 0; next < files_.size(); ++next) {
      const std::string path = files_[next];
      const std::optional<Needs> more = needs_of_file(path);
      if (!more) continue;
      if (mpi_library_of(*more)) return true;
      add(path, *more);
    }
    return false;
  }

 private:
  static constexpr std::size_t kMostFiles = 512;

  void add(const std::string& path, const Needs& needs) {
    // Every program needs these, and none of them needs MPI.
    constexpr std::array<std::string_view, 7> kOfSystem = {
        "libc.so", "libm.so", "libdl.so", "libpthread.so", "libgcc_s.so", "libstdc++.so", "ld-"};
    for (const std::string& name : needs.libraries) {
      const auto begins = [&](std::string_view start) { return name.starts_with(start); };
      if (std::ranges::any_of(kOfSystem, begins) || !seen_.insert(name).second) continue;
      if (auto found = find(name, path, needs.folders); found && files_.size() < kMostFiles)
        files_.push_back(std::move(*found));
    }
  }

  [[nodiscard]] std::optional<std::string> find(const std::string& name, const std::string& needed_by,
                                                std::string_view folders) const {
    if (name.find('/') != std::string::npos) return name;
    constexpr std::string_view kUsual =
        "/lib64:/usr/lib64:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:"
        "/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu:/lib:/usr/lib:/usr/local/lib";
    const std::string origin = needed_by.substr(0, needed_by.rfind('/'));
    for (const std::string_view list : {folders, library_path_, kUsual}) {
      for (const std::string_view folder : split(list, ':')) {
        if (folder.empty()) continue;
        std::string path(folder);
        for (const std::string_view word : {"$ORIGIN", "${ORIGIN}"})
          if (path.starts_with(word)) path.replace(0, word.size(), origin);
        path += '/' + name;
        if (::access(path.c_str(), R_OK) == 0) return path;
      }
    }
    return std::nullopt;
  }

  std::string_view library_path_;
  std::vector<std::string> files_;
  std::set<std::string> seen_;  // names
};

}  // namespace

std::optional<std::string> mpi_library(std::span<const std::byte> file) {
  return mpi_library_of(ElfFile(file).needs());
}

MpiWire wire_of_library(std::string_view library) {
  constexpr std::array<std::string_view, 5> kOfMpich = {
      "libmpich", "libmpi.so.12", "libmpicxx.so.12", "libmpifort.so.12", "libmpi_mt.so.12"};
  const auto begins = [&](std::string_view start) { return library.starts_with(start); };
  if (std::ranges::any_of(kOfMpich, begins)) return MpiWire::pmi1;
  const bool is_openmpi = begins("libmpi") && library.find(".so.40") != std::string_view::npos;
  return is_openmpi ? MpiWire::pmix : MpiWire::none;
}

MpiUse mpi_use_of_program(const std::string& program, const std::string& search_path,
                          const std::string& library_path) {
  std::string path = program;
  if (program.find('/') == std::string::npos) {
    path.clear();
    for (const std::string_view folder : split(search_path, ':')) {
      path = std::string(folder.empty() ? "." : folder) + "/" + program;
      if (::access(path.c_str(), X_OK) == 0) break;
      path.clear();
    }
  }
  const std::optional<Needs> needs = path.empty() ? std::nullopt : needs_of_file(path);
  if (!needs) return {};
  MpiUse use{.library = mpi_library_of(*needs)};
  use.is_indirect = !use.library && LibraryWalk(library_path).finds_mpi(path, *needs);
  return use;
}

}  // namespace ds::launcher
