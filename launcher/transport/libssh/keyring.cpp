// Reads private key files, once each.
#include "launcher/transport/libssh/keyring.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ds::launcher::libssh {

std::string public_base64(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) return {};
  std::string out(text);
  ssh_string_free_char(text);
  return out;
}

namespace {

int no_passphrase(const char*, char*, std::size_t, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

Keyring::Entry read_key(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {{SshKeyring::State::missing, {}, {}}, {}};
  if (info.st_uid == ::getuid() && (info.st_mode & 077) != 0)
    return {{SshKeyring::State::unusable,
             {},
             fmt::format("its permissions {:04o} let others read it", info.st_mode & 07777)},
            {}};
  bool asked = false;
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_file(path.c_str(), nullptr, no_passphrase, &asked, &key) == SSH_OK)
    return {{SshKeyring::State::ready, public_base64(key), {}}, Key(key)};
  if (!asked)
    return {{SshKeyring::State::unusable, {}, "it is not a private key that libssh can read"}, {}};
  ssh_key shown = nullptr;
  if (ssh_pki_import_pubkey_file((path + ".pub").c_str(), &shown) != SSH_OK)
    return {{SshKeyring::State::encrypted, {}, {}}, {}};
  const Key owner(shown);
  return {{SshKeyring::State::encrypted, public_base64(shown), {}}, {}};
}

}  // namespace

const Keyring::Entry& Keyring::entry(const std::string& path) {
  const auto [it, fresh] = entries_.try_emplace(path);
  if (fresh) it->second = read_key(path);
  return it->second;
}

}  // namespace ds::launcher::libssh
