// Private keys in libssh's form. Only this folder includes libssh, and only this folder includes
// this header.
#pragma once

#include <libssh/libssh.h>

#include <map>
#include <memory>
#include <string>

#include "engine/base/freed.h"
#include "launcher/transport/ssh/ssh_link.h"

namespace ds::launcher::libssh {

using Key = std::unique_ptr<ssh_key_struct, Freed<ssh_key_free>>;

/// Returns the public half in base64, as in known_hosts and authorized_keys; empty if libssh fails.
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

  /// Returns the key of a file, which is read at the first call.
  const Entry& entry(const std::string& path);
  /// Returns the key combined with a certificate; the plain entry while the key is not ready.
  const Entry& certified(const std::string& key, const std::string& certificate);

 private:
  std::map<std::string, Entry> entries_;
  std::map<std::pair<std::string, std::string>, Entry> certified_;
};

}  // namespace ds::launcher::libssh
