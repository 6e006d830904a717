// Table of common disk errors with reasons and hints.
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
constexpr const char* kRoom = "free some space there, or keep fewer checkpoints (checkpoint.keep)";
constexpr const char* kAllow =
    "give this user write permission there, or choose another checkpoint.dir";
constexpr Reason kReasons[] = {
    {ENOSPC, "the disk is full", kRoom},
    {EDQUOT, "the quota of this user is used up", kRoom},
    {EIO, "the disk or the path to it is broken", "see the kernel's log on that node (dmesg)"},
    {EACCES, "no permission", kAllow},
    {EPERM, "not permitted", kAllow},
    {EROFS, "the file system is read-only", "choose another checkpoint.dir"},
    {EFBIG, "the file exceeds the limit of file sizes", "raise the limit (ulimit -f)"},
    {ESTALE, "the file server has lost the file", "check whether the folder is still mounted"},
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
