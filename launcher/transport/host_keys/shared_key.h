// The key that every pod of a job has: logs in, and may be the host key too. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

/// Whether the lines of an authorized_keys file let the key in. Lines with `cert-authority` hold
/// no key that logs in.
bool authorizes(std::string_view authorized_keys, std::string_view public_base64);

/// The type that a public key's blob begins with, such as ecdsa-sha2-nistp521; empty if broken.
std::string key_type_of(std::string_view public_base64);

}  // namespace ds::launcher
