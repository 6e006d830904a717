// Whether a private key's file may be used, by its owner, its mode and how it came there. Pure.
#pragma once

#include <string>

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

}  // namespace ds::launcher
