// A table of the refusals that people meet.
#include "engine/checkpoint/disk_error.h"

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace ds {
namespace {

struct Reason {
  int error_number;
  const char* why;
  const char* hint;
};
constexpr const char* kRoom = "make room there, or keep fewer checkpoints (checkpoint.keep)";
constexpr const char* kAllow = "let this user write there, or choose another checkpoint.dir";
constexpr Reason kReasons[] = {
    {ENOSPC, "the disk is full", kRoom},
    {EDQUOT, "the quota of this user is used up", kRoom},
    {EIO, "the disk, or the way to it, is broken",
     "see the kernel's messages on that node (dmesg)"},
    {EACCES, "no permission", kAllow},
    {EPERM, "not permitted", kAllow},
    {EROFS, "the file system is read-only", "choose another checkpoint.dir"},
    {EFBIG, "a file may not become so large", "raise the limit of file sizes (ulimit -f)"},
    {ESTALE, "the file server has lost it", "see whether the folder is still mounted"},
};

}  // namespace

Error disk_error(const std::string& path, const std::string& what, int error_number) {
  const auto* const known = std::ranges::find(kReasons, error_number, &Reason::error_number);
  const std::string system = std::generic_category().message(error_number);
  if (known == std::end(kReasons)) {
    return {ErrorKind::system, fmt::format("{} {}: {}", path, what, system)};
  }
  return {ErrorKind::system, fmt::format("{} {}: {} ({})", path, what, known->why, system),
          known->hint};
}

}  // namespace ds
