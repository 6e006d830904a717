// Memory of this process: one read(2) into a buffer on the stack, then a plain search.
#include "engine/monitor/memory_status.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"

namespace ds {
namespace {

/// Returns the number after "\nNAME:", converted from KiB.
std::int64_t field_bytes(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  const std::size_t digits = status.find_first_of("0123456789", at + name.size());
  if (digits == std::string_view::npos) return 0;
  std::int64_t kibibytes = 0;
  std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes);
  return kibibytes * 1024;
}

}  // namespace

MemoryStatus parse_memory_status(std::string_view status) {
  return {.anonymous_bytes = field_bytes(status, "\nRssAnon:"),
          .resident_bytes = field_bytes(status, "\nVmRSS:"),
          .peak_bytes = field_bytes(status, "\nVmHWM:")};
}

MemoryStatus read_memory_status() {
  const UniqueFd file(::open("/proc/self/status", O_RDONLY | O_CLOEXEC));
  if (!file) throw_errno("/proc/self/status", errno, "check that /proc is mounted");
  std::array<char, 8192> text;  // the file has about 1.5 KB
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  return parse_memory_status({text.data(), size});
}

}  // namespace ds
