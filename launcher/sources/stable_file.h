// Reader of a file that is rewritten in place: reads until the text is stable.
#pragma once

#include <chrono>
#include <functional>

#include "launcher/sources/world.h"

namespace ds::launcher {

/// et-operator rewrites this file with `echo ... > FILE` whenever workers come or go. For a moment
/// it is empty or ends in the middle of a line.
inline constexpr const char* kRewrittenFile = "/etc/edl/hostfile";

inline constexpr std::chrono::milliseconds kStableFor{200};
inline constexpr std::chrono::milliseconds kStableLimit{10'000};

/// Reads until two texts, kStableFor apart, are equal and not empty. A missing or unreadable file
/// is returned at once. After kStableLimit the result is empty text if the file was always empty,
/// else a problem: the file was never stable.
FileText read_when_stable(const std::function<FileText()>& read,
                          const std::function<void(std::chrono::milliseconds)>& sleep = {});

}  // namespace ds::launcher
