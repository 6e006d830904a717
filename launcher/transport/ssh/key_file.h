// Whether a private key's file may be used: its owner, its mode, how it came there, and how it is
// encrypted. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ds::launcher {

/// What is known of the file before it is read.
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

/// Why the key is not used; empty if it may be. As ssh: a file of one's own that others may read is
/// refused, one of another owner is not asked about. Not as ssh: in a mounted Secret the group and
/// others may read, because its mode is the cluster's (defaultMode, fsGroup) and cannot be changed
/// from inside, and whoever is in the pod has the pod's identity. Others may never write.
std::string key_file_problem(const KeyFile& file, const KeyReader& reader);

/// The cipher of a private key in OpenSSH's own form (its PROTOCOL.key), "none" of one that is not
/// encrypted; empty for all other texts.
std::string key_cipher(std::string_view text);

/// Why a key with that cipher cannot be opened, whatever the pass phrase; empty if it can. libssh
/// 0.10 ends in a null pointer over those that encrypt by packet.
std::string key_cipher_problem(std::string_view cipher);

}  // namespace ds::launcher
