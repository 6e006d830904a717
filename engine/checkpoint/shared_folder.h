// Tests of checkpoint.dir before the first save: one folder for all ranks, writable, room, rate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/error.h"

namespace ds {

/// Rank 0: creates an empty file, for which a full disk has room, with `nonce` (letters and digits)
/// in its name. Errors: Error{config} about the folder: missing, not a folder, read-only, no
/// permission.
void leave_probe(const std::string& dir, const std::string& nonce);

/// Any rank: returns whether that file exists. Retries until `deadline`, because network file
/// systems may cache for seconds that a name is missing.
bool sees_probe(const std::string& dir, const std::string& nonce, Deadline deadline);

/// Rank 0, after all ranks have called sees_probe(). Never fails.
void remove_probe(const std::string& dir, const std::string& nonce) noexcept;

/// Any rank: writes, renames and removes a file there. Errors: as leave_probe(), or the disk is
/// full.
void try_folder(const std::string& dir, int rank);

/// A rank that does not see rank 0's probe. The list has each `host` ("node3") once. Pure.
struct RankPlace {
  int rank = 0;
  std::string host{};
};
Error other_folder_error(const std::string& dir, const std::string& host_of_0,
                         const std::vector<RankPlace>& blind);

/// Errors: Error{config} with both numbers and what to do if less is free than needed. `needed` is
/// the size of one checkpoint. Pure.
void check_room(const std::string& dir, std::int64_t free, std::int64_t needed);

/// Returns the bytes per second that this rank writes and syncs there; 0: the disk became full.
/// Uses a nameless file of at most 15 MiB and 1.5 % of the free space, for about 0.2 s. Errors: as
/// leave_probe().
std::int64_t measure_write_rate(const std::string& dir);

}  // namespace ds
