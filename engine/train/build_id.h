// What program this is: an id of the running binary, versions of its libraries, short digests.
#pragma once

#include <string>
#include <string_view>

namespace ds {

/// XXH3 of this process's executable file, 32 digits. Errors: Error{system}.
std::string build_id();
/// "dslaunch 0.1.0, oneDNN 2.6.3": what else decides bits.
std::string library_versions();
/// 32 hexadecimal digits of XXH3-128.
std::string digest_of(std::string_view text);

}  // namespace ds
