// File operations of the checkpoint folder: small files read and written whole, names synced.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"

namespace ds {

/// Returns an Error{config} about an unusable folder: "checkpoint.dir DIR is not a folder", ...
Error folder_error(const std::string& folder, int error_number);

/// Returns the names in `folder`, sorted; none if it is missing. Errors: Error{system}.
std::vector<std::string> names_in(const std::string& folder);

/// Returns whether the name exists. A link is not followed.
bool is_there(const std::string& path);

/// Replaces the file's content and syncs it, but not its name. Errors: Error{system} with the path.
void write_whole(const std::string& path, std::string_view text);

/// Returns the content of a file. Errors: Error{system} with the path.
std::string read_whole(const std::string& path);

/// Syncs the names in a folder to disk, where the file system supports it. Errors: Error{system}.
void sync_names(const std::string& folder);

/// Renames within a file system. Errors: Error{system} with both paths.
void rename_in_place(const std::string& from, const std::string& to);

/// Removes a file or folder. Never fails: what cannot be removed stays.
void remove_all_of(const std::string& path) noexcept;

}  // namespace ds
