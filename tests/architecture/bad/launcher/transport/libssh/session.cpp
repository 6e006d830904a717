// The one folder that may include libssh; it does not cause a violation.
#include <libssh/libssh.h>

#include <asio.hpp>
