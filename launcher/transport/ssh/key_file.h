// Rules for key files: owner and mode of a private key, its encryption, lines of authorized_keys.
// Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

/// Facts about the file before it is read.
struct KeyFile {
  unsigned owner = 0;
  unsigned mode = 0;            // permission bits
  bool readable = true;         // by this process
  bool in_secret = false;       // reached through `..data`: a Secret that Kubernetes has mounted
  bool read_only_here = false;  // on a read-only mount
};
struct KeyReader {
  unsigned uid = 0;
  bool in_pod = false;
};

/// Returns why the key is not used; empty if it may be. As in ssh, a file of the user that others
/// can read is refused, and files of other owners are not checked. Unlike ssh, the group and others
/// may read a mounted Secret: the cluster chose its mode (defaultMode, fsGroup), it cannot be
/// changed from inside, and everybody in the pod has the pod's identity. Others may never write.
std::string key_file_problem(const KeyFile& file, const KeyReader& reader);

/// Returns the cipher of a private key in OpenSSH's own form (its PROTOCOL.key); "none" if the key
/// is not encrypted; empty for all other texts.
std::string key_cipher(std::string_view text);

/// Returns why a key with that cipher cannot be decrypted with any pass phrase; empty if it can.
/// libssh 0.10 dereferences a null pointer with ciphers that encrypt by packet.
std::string key_cipher_problem(std::string_view cipher);

/// Whether a line of an authorized_keys file lets the key log in. A line with `cert-authority`
/// holds the key of an authority, which does not log in itself.
bool authorizes(std::string_view authorized_keys, std::string_view public_base64);

/// Returns the type that a public key's blob begins with, such as ecdsa-sha2-nistp521; empty if it
/// is broken.
std::string key_type_of(std::string_view public_base64);

}  // namespace ds::launcher
