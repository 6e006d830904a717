// PmixPlugin: the interface of libdslaunch_pmix.so, which contains what links the PMIx library.
#pragma once

#include <cstdint>

namespace ds::launcher {

/// The result of the library's one exported function, dslaunch_pmix(). Its server speaks frames
/// (launcher/wire), so a library of another wire version is refused.
struct PmixPlugin {
  std::uint32_t wire_version = 0;
  /// Serves the ranks of one node. Reads a Spec from `fd`, then frames of the root; writes
  /// PmixReady, then frames for the root and the agent. Keeps its files in `folder`. Returns an
  /// exit code when `fd` ends. The calling process does nothing else.
  int (*serve)(int fd, const char* folder) = nullptr;
};

using PmixEntry = const PmixPlugin* (*)();

}  // namespace ds::launcher
