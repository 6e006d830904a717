// Worlds whose groups move bytes of the host.
#include "conformance/comm_worlds.h"

namespace ds::test {

std::vector<Backend> moving_backends(Clock::duration hang_after) { return backends(hang_after); }

}  // namespace ds::test
