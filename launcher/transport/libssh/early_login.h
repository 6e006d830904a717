// The first key is shown together with the request for the login service, instead of a round trip
// after it. With a shared libssh (no_host_certificates.cpp) nothing comes early.
#pragma once

namespace ds::launcher::libssh {

/// While it lives, libssh does not wait for the service to be granted before it logs in: RFC 4253,
/// 10, asks for that only after a key exchange that did not prove who the server is, and ours do.
/// `early` false: it waits, for what it does next depends on what the server says before.
class EarlyLogin {
 public:
  explicit EarlyLogin(bool early);
  ~EarlyLogin();
  EarlyLogin(const EarlyLogin&) = delete;
  EarlyLogin& operator=(const EarlyLogin&) = delete;
};

}  // namespace ds::launcher::libssh
