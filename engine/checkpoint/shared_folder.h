// What ranks find out about checkpoint.dir before anything is saved: one folder for all, writable,
// with room, and how fast.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/error.h"

namespace ds {

/// Rank 0: leaves a file with `nonce` (letters and digits) in its name and text. Errors:
/// Error{config} about the folder: not there, no folder, read-only, no permission, full.
void leave_probe(const std::string& dir, const std::string& nonce);

/// Any rank: whether that file is there, looked for until `deadline`: network file systems may
/// remember for seconds that a name was missing.
bool sees_probe(const std::string& dir, const std::string& nonce, Deadline deadline);

/// Rank 0, when all ranks have looked. No errors.
void remove_probe(const std::string& dir, const std::string& nonce) noexcept;

/// Any rank: makes, renames and removes a file there; nothing is left. Errors: as leave_probe.
void try_folder(const std::string& dir, int rank);

/// Ranks that do not see rank 0's probe, by `host` ("node3"), each host once. Pure.
struct RankPlace {
  int rank = 0;
  std::string host{};
};
Error other_folder_error(const std::string& dir, const std::string& host_of_0,
                         const std::vector<RankPlace>& blind);

/// Errors: Error{config} with both numbers and what to do, if fewer are free than needed. `needed`:
/// bytes of one checkpoint. Pure.
void check_room(const std::string& dir, std::int64_t free, std::int64_t needed);

/// Bytes a second that this rank writes and syncs there, by a nameless file of at most 15 MiB and
/// 1.5 % of what is free, in about 0.2 s; 0: the disk became full. Errors: as leave_probe.
std::int64_t measure_write_rate(const std::string& dir);

}  // namespace ds
