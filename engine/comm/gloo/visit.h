// Dialing a door: connect, prove the job key, say what for. Retried until the deadline where trying
// again can help.
#pragma once

#include <string>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/gloo/frame.h"

namespace ds::comm {

/// What a dialer needs to know to be let in.
struct Invitation {
  std::string name;  // host name or address
  int port = 0;
  std::string key;  // the job key; may be empty
  std::string job;  // job id and epoch
};

/// `purpose`: "store" or "link NAME". The connection is proven and welcome.
/// Errors: Error{config} when the door refuses the key or the job; Error{comm} when no door answers
/// in time.
UniqueFd visit(const Invitation& invitation, const std::string& purpose, Deadline deadline);

/// Blocking exchange of whole frames. False: closed, late or malformed; the connection is of no
/// more use.
bool send_frame(int fd, const Frame& frame, Deadline deadline);
bool read_frame(int fd, Frame& frame, Deadline deadline);

}  // namespace ds::comm
