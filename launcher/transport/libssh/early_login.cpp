// Between libssh's login and its request for the service (linker option --wrap, so only where it is
// static).
#include "launcher/transport/libssh/early_login.h"

#include <libssh/libssh.h>

namespace {
thread_local bool goes_on = false;
}  // namespace

extern "C" {

// As libssh declares it: include/libssh/session.h, which is not installed.
int __real_ssh_service_request(ssh_session session, const char* service);

/// It has been sent; the answer is taken when it comes, and a refusal ends the connection.
int __wrap_ssh_service_request(ssh_session session, const char* service) {
  const int rc = __real_ssh_service_request(session, service);
  return rc == SSH_AGAIN && goes_on ? SSH_OK : rc;
}
}

namespace ds::launcher::libssh {

EarlyLogin::EarlyLogin(bool early) { goes_on = early; }
EarlyLogin::~EarlyLogin() { goes_on = false; }

}  // namespace ds::launcher::libssh
