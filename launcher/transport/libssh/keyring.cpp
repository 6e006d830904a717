// Reads private key files, once each.
#include "launcher/transport/libssh/keyring.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

#include "launcher/transport/host_certificate.h"

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
  // OpenSSH's own form has the public half outside of what is encrypted.
  if (ssh_pki_import_pubkey_file((path + ".pub").c_str(), &shown) != SSH_OK &&
      ssh_pki_import_pubkey_file(path.c_str(), &shown) != SSH_OK)
    return {{SshKeyring::State::encrypted, {}, {}}, {}};
  const Key owner(shown);
  return {{SshKeyring::State::encrypted, public_base64(shown), {}}, {}};
}

Keyring::Entry unusable(std::string problem) {
  return {{SshKeyring::State::unusable, {}, std::move(problem)}, {}};
}

Keyring::Entry read_certificate(const Keyring::Entry& plain, const std::string& path) {
  std::ifstream file(path);
  if (!file) return {{SshKeyring::State::missing, {}, {}}, {}};
  HostKey shown;
  file >> shown.type >> shown.base64;
  const auto certificate = parse_host_certificate(shown);
  if (!certificate || certificate->for_host) return unusable("it is no certificate of a user");
  if (certificate->key.base64 != plain.status.public_base64)
    return {{SshKeyring::State::other_key, {}, {}}, {}};
  ssh_key parsed = nullptr;
  if (ssh_pki_import_cert_file(path.c_str(), &parsed) != SSH_OK)
    return unusable("libssh cannot read it");
  const Key owner(parsed);
  Key both(ssh_key_dup(plain.key.get()));
  if (!both || ssh_pki_copy_cert_to_privkey(parsed, both.get()) != SSH_OK)
    return unusable("libssh cannot join it to its key");
  const auto now = static_cast<std::uint64_t>(std::time(nullptr));
  return {{SshKeyring::State::ready, shown.base64, validity_problem(*certificate, now)},
          std::move(both)};
}

}  // namespace

bool Keyring::unlock(const std::string& path, const std::string& pass_phrase) {
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_file(path.c_str(), pass_phrase.c_str(), nullptr, nullptr, &key) !=
      SSH_OK)
    return false;
  entries_[path] = {{SshKeyring::State::ready, public_base64(key), {}}, Key(key)};
  return true;
}

const Keyring::Entry& Keyring::certified(const std::string& key, const std::string& certificate) {
  const Entry& plain = entry(key);
  if (plain.status.state != State::ready) return plain;
  const auto [it, fresh] = certified_.try_emplace({key, certificate});
  if (fresh) it->second = read_certificate(plain, certificate);
  return it->second;
}

const Keyring::Entry& Keyring::entry(const std::string& path) {
  const auto [it, fresh] = entries_.try_emplace(path);
  if (fresh) it->second = read_key(path);
  return it->second;
}

}  // namespace ds::launcher::libssh
