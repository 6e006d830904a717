// Private keys as libssh holds them. Only sources of this folder include libssh, and no one else
// this header.
#pragma once

#include <libssh/libssh.h>

#include <map>
#include <memory>
#include <string>

#include "launcher/transport/ssh/ssh_link.h"

namespace ds::launcher::libssh {

struct KeyFree {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, KeyFree>;

/// The public half in base64, as known_hosts and authorized_keys spell it; empty if libssh cannot
/// say.
std::string public_base64(ssh_key key);

class Keyring final : public SshKeyring {
 public:
  struct Entry {
    Status status;
    Key key;
  };

  const Status& load(const std::string& path) override { return entry(path).status; }
  bool unlock(const std::string& path, const std::string& pass_phrase) override;
  const Status& load_certificate(const std::string& key, const std::string& path) override {
    return certified(key, path).status;
  }

  /// Reads and parses the file at the first call only.
  const Entry& entry(const std::string& path);
  /// The key that goes with a certificate, once it is ready itself.
  const Entry& certified(const std::string& key, const std::string& certificate);

 private:
  std::map<std::string, Entry> entries_;
  std::map<std::pair<std::string, std::string>, Entry> certified_;
};

}  // namespace ds::launcher::libssh
