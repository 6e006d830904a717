// name_of(): kernel names for messages. Most are local symbols, which only the library file lists.
#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "runtime.h"

namespace emulation {
namespace {

std::string plain_name(const char* symbol) {
  int status = 0;
  char* const plain = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? plain : symbol;
  std::free(plain);
  return name;
}

template <class T>
const T* at(const std::string& file, std::uint64_t offset, std::uint64_t count = 1) {
  if (offset > file.size() || count * sizeof(T) > file.size() - offset) return nullptr;
  return reinterpret_cast<const T*>(file.data() + offset);
}

/// Returns the symbol, or "" if the file has none at `address`.
std::string symbol_at(const std::string& file, std::uint64_t address) {
  const auto* const header = at<ElfW(Ehdr)>(file, 0);
  if (header == nullptr || header->e_type == ET_NONE) return {};
  const auto* const sections = at<ElfW(Shdr)>(file, header->e_shoff, header->e_shnum);
  if (sections == nullptr) return {};
  for (std::size_t i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB || sections[i].sh_link >= header->e_shnum) continue;
    const std::uint64_t count = sections[i].sh_size / sizeof(ElfW(Sym));
    const auto* const symbols = at<ElfW(Sym)>(file, sections[i].sh_offset, count);
    const std::uint64_t names = sections[sections[i].sh_link].sh_offset;
    for (std::uint64_t s = 0; symbols != nullptr && s < count; ++s) {
      if (symbols[s].st_value != address || ELF64_ST_TYPE(symbols[s].st_info) != STT_FUNC) continue;
      const char* const name = at<char>(file, names + symbols[s].st_name);
      if (name != nullptr) return plain_name(name);
    }
  }
  return {};
}

}  // namespace

std::string name_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "(unknown name)";
  if (info.dli_sname != nullptr && info.dli_saddr == function) return plain_name(info.dli_sname);
  const auto offset = static_cast<std::uint64_t>(static_cast<const char*>(function) -
                                                 static_cast<const char*>(info.dli_fbase));
  std::ifstream in(info.dli_fname, std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  const std::string name = symbol_at(file, offset);
  if (!name.empty()) return name;
  char text[32];
  std::snprintf(text, sizeof(text), "+0x%llx", static_cast<unsigned long long>(offset));
  return std::string("at ") + info.dli_fname + text;
}

}  // namespace emulation
