// Steps between two pairs of libssh's sources (linker option --wrap, so only where it is static).
// libssh 0.10 takes certificates out of the list of host key algorithms before it offers it, and
// has no way to hand a certificate out; everything between works.
#include "launcher/transport/libssh/host_certificates.h"

#include <libssh/libssh.h>

#include <cstring>

#include "launcher/transport/libssh/matched_lists.h"
#include "launcher/transport/ssh/ssh_link.h"

namespace {

constexpr const char* kCertificate = "-cert-v01@openssh.com";

thread_local std::string* capture = nullptr;

}  // namespace

extern "C" {

// As libssh declares them: include/libssh/token.h and pki.h, which are not installed.
int __real_ssh_pki_import_pubkey_blob(ssh_string blob, ssh_key* key);

/// The only list that asks for certificates and is compared with one that has none is that of host
/// keys on its way to the server; it was compared with all that libssh knows when it was set.
char* __wrap_ssh_find_all_matching(const char* available, const char* preferred) {
  if (available != nullptr && preferred != nullptr &&
      std::strstr(preferred, kCertificate) != nullptr &&
      std::strstr(available, kCertificate) == nullptr)
    return ::strdup(preferred);
  return ds::launcher::libssh::all_matching(available, preferred);
}

int __wrap_ssh_pki_import_pubkey_blob(ssh_string blob, ssh_key* key) {
  if (capture != nullptr && blob != nullptr)
    capture->assign(static_cast<const char*>(ssh_string_data(blob)), ssh_string_len(blob));
  return __real_ssh_pki_import_pubkey_blob(blob, key);
}
}

namespace ds::launcher {

bool ssh_takes_certificates() { return true; }

namespace libssh {

HostKeyCapture::HostKeyCapture(std::string& shown) { capture = &shown; }
HostKeyCapture::~HostKeyCapture() { capture = nullptr; }

}  // namespace libssh
}  // namespace ds::launcher
