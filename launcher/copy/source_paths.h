// What the sender of a copy finds at its paths: the names that a pattern stands for, and the
// content of files that do not tell their size.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "launcher/wire/copy_messages.h"

namespace ds::launcher::copy {

/// Replaces each path by the names that it stands for, as shells do with *, ?, [ab], {a,b} and ~. A
/// path that exists as it is written, and a pattern without a match, stand for themselves.
std::vector<std::string> expand_patterns(const std::vector<std::string>& paths);

inline constexpr std::size_t kPage = 4096;

/// Returns whether only reading a file tells its size: files of /proc have size 0, and those of
/// /sys that of a page. Also true for small files of disks that have no blocks yet.
bool may_hide_size(const struct stat& known);

/// Reads the file `known` at `place` to its end. Returns null and a problem if it cannot be read,
/// is another file by now, or has more than `most` bytes.
std::shared_ptr<const Bytes> read_whole(const std::string& place, const struct stat& known,
                                        std::size_t most, std::string& problem);

}  // namespace ds::launcher::copy
