// Identity of this program: id of the running binary, versions of its libraries, short digests.
#pragma once

#include <string>
#include <string_view>

namespace ds {

/// Returns XXH3-128 of this process's executable file, 32 digits. Errors: Error{system}.
std::string build_id();
/// Returns the library versions, which also decide bits: "dslaunch 0.1.0, oneDNN 2.6.3".
std::string library_versions();
/// Returns XXH3-128 of `text` as 32 hexadecimal digits.
std::string digest_of(std::string_view text);

}  // namespace ds
