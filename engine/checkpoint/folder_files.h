// What the folder of checkpoints asks of the file system: small files written whole, names synced.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace ds {

/// An Error{config} about a folder that cannot be used: "checkpoint.dir DIR is no folder", ...
Error folder_error(const std::string& folder, int error_number);

/// Names in `folder`, sorted; none if it is missing. Errors: Error{system}.
std::vector<std::string> names_in(const std::string& folder);

/// Whether there is something of that name; a link counts by itself.
bool is_there(const std::string& path);

/// Writes the file anew and syncs it; its name is not synced. Errors: Error{system} naming it.
void write_whole(const std::string& path, std::string_view text);

/// Errors: Error{system} naming it.
std::string read_whole(const std::string& path);

/// The names in it are on disk afterwards, where the file system knows how. Errors: Error{system}.
void sync_names(const std::string& folder);

/// Errors: Error{system} naming both.
void rename_in_place(const std::string& from, const std::string& to);

/// No errors: what cannot be removed stays.
void remove_all_of(const std::string& path) noexcept;

}  // namespace ds
