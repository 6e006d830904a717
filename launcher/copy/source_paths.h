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

/// A path with braces stands for at most so many.
inline constexpr std::size_t kMostWords = 4096;

/// Returns the words that a text with braces stands for, as bash does: "{a,b}c" is ac and bc. Words
/// keep their backslashes. Braces without a comma or a partner stand for themselves.
/// Errors:  Error{config} if there are more than kMostWords.
std::vector<std::string> expand_braces(const std::string& text);

/// Replaces each path by the names that it stands for, as shells do with *, ?, [ab], {a,b} and ~. A
/// path that exists as it is written, and a word without a match, stand for themselves.
/// Errors:  Error{config} if the braces of a path stand for too many words.
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
