// The rule for modes of private keys, and its texts.
#include "launcher/transport/ssh/key_file.h"

#include <fmt/format.h>

namespace ds::launcher {

namespace {
constexpr unsigned kOthersWrite = 022;
constexpr unsigned kOthersAnything = 077;
}  // namespace

std::string key_file_problem(const KeyFile& file, const KeyReader& reader) {
  if (!file.readable)
    return fmt::format(
        "it cannot be read as user {}: it belongs to {}, with permissions {:04o}{}", reader.uid,
        file.owner, file.mode,
        reader.in_pod ? " (in a pod, securityContext.fsGroup lets the user read it)" : "");
  if (file.owner != reader.uid) return {};
  const bool mounted = file.in_secret || (file.read_only_here && reader.in_pod);
  if ((file.mode & kOthersWrite) != 0)
    return fmt::format("its permissions {:04o} let others write it", file.mode);
  if ((file.mode & kOthersAnything) != 0 && !mounted)
    return fmt::format("its permissions {:04o} let others read it", file.mode);
  return {};
}

}  // namespace ds::launcher
