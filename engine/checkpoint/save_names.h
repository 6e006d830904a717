// Names in the checkpoint folder, and which checkpoints may be removed. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds {

/// The state of a folder whose name begins with a step.
enum class SaveKind {
  complete,    // step-00000040
  unfinished,  // step-00000040.tmp-EPOCH: being written, or left by a run that ended
  replaced,    // step-00000040.replaced-EPOCH: complete, moved away while another takes its name
  removed,     // step-00000040.removed-EPOCH: being removed
  set_aside,   // step-00000040.set-aside, .set-aside-2, ...: complete, but a run resumed before it
};

struct SaveName {
  std::int64_t step = 0;
  SaveKind kind = SaveKind::complete;
  friend bool operator==(const SaveName&, const SaveName&) = default;
};

/// Returns nothing for names that this program does not create.
std::optional<SaveName> parse_save_name(std::string_view name);

std::string unfinished_name(std::int64_t step, std::uint64_t epoch);
std::string replaced_name(std::int64_t step, std::uint64_t epoch);
std::string removed_name(std::int64_t step, std::uint64_t epoch);
/// `number` starts at 1.
std::string set_aside_name(std::int64_t step, int number);

/// Names of files: "rank-00003.chunk", "rank-00003.part"; "manifest.json"; "latest".
std::string chunk_name(int rank);
std::string part_name(int rank);
inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kLatestName = "latest";
inline constexpr std::string_view kLockName = ".lock";
/// Prefix of the temporary files of shared_folder.h.
inline constexpr std::string_view kProbePrefix = ".probe-";

}  // namespace ds
