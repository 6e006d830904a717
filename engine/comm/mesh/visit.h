// Dials a Door: connects, proves the job key, introduces itself. Retries until the deadline where a
// retry can help.
#pragma once

#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/frame.h"

namespace ds::comm {

/// What a dialer must know to be accepted.
struct Invitation {
  std::string name;  // host name or address
  int port = 0;
  std::string key;  // the job key; may be empty
  std::string job;  // job id and epoch
};

/// Returns a proven and accepted connection. `purpose`: "store" or "link NAME". Errors:
/// Error{config} when the acceptor refuses the key or the job; Error{comm} when nothing answers in
/// time.
UniqueFd visit(const Invitation& invitation, const std::string& purpose, Deadline deadline);

/// Blocking exchange of whole frames. Returns false when the connection is closed, late or sends
/// malformed bytes; it is unusable then.
bool send_frame(int fd, const Frame& frame, Deadline deadline);
bool read_frame(int fd, Frame& frame, Deadline deadline);

}  // namespace ds::comm
