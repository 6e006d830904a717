// Worlds whose groups move the host's bytes.
#include "conformance/comm_worlds.h"

namespace ds::test {

std::vector<Backend> moving_backends(Clock::duration hang_after) { return backends(hang_after); }

}  // namespace ds::test
