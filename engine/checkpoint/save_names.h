// Names in the folder of checkpoints, and which of them may go. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ds {

/// What a name that begins with a step's is.
enum class SaveKind {
  complete,    // step-00000040
  unfinished,  // step-00000040.tmp-EPOCH: being written, or left by a run that ended
  replaced,    // step-00000040.replaced-EPOCH: complete, put aside while another takes its name
  removed,     // step-00000040.removed-EPOCH: on its way out
  set_aside,   // step-00000040.set-aside, .set-aside-2, ...: complete, of a past that was left
};

struct SaveName {
  std::int64_t step = 0;
  SaveKind kind = SaveKind::complete;
  friend bool operator==(const SaveName&, const SaveName&) = default;
};

/// None: a name that this program does not make.
std::optional<SaveName> parse_save_name(std::string_view name);

std::string unfinished_name(std::int64_t step, std::uint64_t epoch);
std::string replaced_name(std::int64_t step, std::uint64_t epoch);
std::string removed_name(std::int64_t step, std::uint64_t epoch);
/// `number` from 1.
std::string set_aside_name(std::int64_t step, int number);

/// "rank-00003.chunk", "rank-00003.part"; "manifest.json"; "latest".
std::string chunk_name(int rank);
std::string part_name(int rank);
inline constexpr std::string_view kManifestName = "manifest.json";
inline constexpr std::string_view kLatestName = "latest";
inline constexpr std::string_view kLockName = ".lock";
/// How the names of files begin that shared_folder.h makes for a moment.
inline constexpr std::string_view kProbePrefix = ".probe-";

}  // namespace ds
