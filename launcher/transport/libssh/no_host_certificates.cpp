// In place of host_certificates.cpp and early_login.cpp with a shared libssh: nothing can be put
// between its sources.
#include "launcher/transport/libssh/early_login.h"
#include "launcher/transport/libssh/host_certificates.h"
#include "launcher/transport/ssh/ssh_link.h"

namespace ds::launcher {

bool ssh_takes_certificates() { return false; }

namespace libssh {

HostKeyCapture::HostKeyCapture(std::string&) {}
HostKeyCapture::~HostKeyCapture() = default;

EarlyLogin::EarlyLogin(bool) {}
EarlyLogin::~EarlyLogin() = default;

}  // namespace libssh
}  // namespace ds::launcher
