// Host certificates, which libssh can read and verify signatures with, but neither asks for nor
// shows.
#pragma once

#include <string>

#include "launcher/transport/host_keys/known_hosts.h"

namespace ds::launcher::libssh {

/// While one exists, the host key that libssh reads in this thread goes to `shown`, as the server
/// sent it.
class HostKeyCapture {
 public:
  explicit HostKeyCapture(std::string& shown);
  HostKeyCapture(const HostKeyCapture&) = delete;
  HostKeyCapture& operator=(const HostKeyCapture&) = delete;
  ~HostKeyCapture();
};

}  // namespace ds::launcher::libssh
