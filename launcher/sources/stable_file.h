// A file that its owner rewrites in place while we read: read until it holds still.
#pragma once

#include <chrono>
#include <functional>

#include "launcher/sources/world.h"

namespace ds::launcher {

/// Rewritten by et-operator with `echo ... > FILE` whenever workers come or go: for a moment it is
/// empty, or ends in the middle of a line.
inline constexpr const char* kRewrittenFile = "/etc/edl/hostfile";

inline constexpr std::chrono::milliseconds kStableFor{200};
inline constexpr std::chrono::milliseconds kStableLimit{10'000};

/// Reads until two texts, kStableFor apart, are equal and not empty. A file that is not there, or
/// cannot be read, is told at once. After kStableLimit the last text is taken if it was empty all
/// the time, else there is a problem: it never held still.
FileText read_when_stable(const std::function<FileText()>& read,
                          const std::function<void(std::chrono::milliseconds)>& sleep = {});

}  // namespace ds::launcher
