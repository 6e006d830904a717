// In place of host_certificates.cpp with a shared libssh, between whose sources nothing can be put.
#include "launcher/transport/libssh/host_certificates.h"
#include "launcher/transport/ssh_link.h"

namespace ds::launcher {

bool ssh_takes_certificates() { return false; }

namespace libssh {

HostKeyCapture::HostKeyCapture(std::string&) {}
HostKeyCapture::~HostKeyCapture() = default;

}  // namespace libssh
}  // namespace ds::launcher
