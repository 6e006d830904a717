// Why a name has no address, in kinds.
#pragma once

namespace ds::launcher {

/// Each of them means "not yet" while a job starts.
enum class DnsProblem {
  none,
  no_record,      // NXDOMAIN, or the name exists without an address
  server_failed,  // SERVFAIL, REFUSED, and whatever else is no answer to the question
  no_answer       // nobody answered in time
};

}  // namespace ds::launcher
