// Reads private key files and certificates, each once.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "launcher/transport/host_keys/host_certificate.h"
#include "launcher/transport/libssh/session.h"
#include "launcher/transport/ssh/key_file.h"

namespace ds::launcher {

namespace {

int no_passphrase(const char*, char*, std::size_t, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

/// Whether the file belongs to a Secret mounted by Kubernetes: `id_rsa -> ..data/id_rsa`, `..data
/// -> ..2026_11_22_...`.
bool lies_in_secret(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::read_symlink(path, failed);
  return !failed && target.string().starts_with("..data/") &&
         std::filesystem::is_symlink(path.parent_path() / "..data", failed);
}

KeyFile look_at(const std::string& path, const struct stat& info) {
  struct statvfs mount {};
  return {
      .owner = info.st_uid,
      .mode = info.st_mode & 07777,
      .readable = ::access(path.c_str(), R_OK) == 0,
      .in_secret = lies_in_secret(path),
      .read_only_here = ::statvfs(path.c_str(), &mount) == 0 && (mount.f_flag & ST_RDONLY) != 0};
}

using State = SshKeyring::State;
using EntryPtr = std::shared_ptr<const SshKeyring::Entry>;

EntryPtr entry_of(State state, std::string base64 = {}, std::string problem = {},
                  ssh_key key = nullptr) {
  return EntryPtr(
      new SshKeyring::Entry{{state, std::move(base64), std::move(problem)}, SshKey(key)});
}

EntryPtr read_key(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return errno == EACCES ? entry_of(State::unusable, {}, "this user may not enter its folder")
                           : entry_of(State::missing);
  const KeyReader reader{::getuid(), std::getenv("KUBERNETES_SERVICE_HOST") != nullptr};
  if (std::string problem = key_file_problem(look_at(path, info), reader); !problem.empty())
    return entry_of(State::unusable, {}, std::move(problem));
  bool asked = false;
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_file(path.c_str(), nullptr, no_passphrase, &asked, &key) == SSH_OK)
    return entry_of(State::ready, libssh::public_base64(key), {}, key);
  if (!asked) return entry_of(State::unusable, {}, "it is not a private key that libssh can read");
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string problem = key_cipher_problem(key_cipher(text));
  ssh_key shown = nullptr;
  // OpenSSH's own form stores the public half unencrypted.
  if (ssh_pki_import_pubkey_file((path + ".pub").c_str(), &shown) != SSH_OK &&
      ssh_pki_import_pubkey_file(path.c_str(), &shown) != SSH_OK)
    return entry_of(State::encrypted, {}, problem);
  const SshKey owner(shown);
  return entry_of(State::encrypted, libssh::public_base64(shown), problem);
}

EntryPtr read_certificate(const SshKeyring::Entry& plain, const std::string& path) {
  std::ifstream file(path);
  if (!file) return entry_of(State::missing);
  HostKey shown;
  file >> shown.type >> shown.base64;
  const auto certificate = parse_host_certificate(shown);
  if (!certificate || certificate->for_host)
    return entry_of(State::unusable, {}, "it is not a user certificate");
  if (certificate->key.base64 != plain.status.public_base64) return entry_of(State::other_key);
  ssh_key parsed = nullptr;
  if (ssh_pki_import_cert_file(path.c_str(), &parsed) != SSH_OK)
    return entry_of(State::unusable, {}, "libssh cannot read it");
  const SshKey owner(parsed);
  SshKey both(ssh_key_dup(plain.key.get()));
  if (!both || ssh_pki_copy_cert_to_privkey(parsed, both.get()) != SSH_OK)
    return entry_of(State::unusable, {}, "libssh cannot combine it with its key");
  const auto now = static_cast<std::uint64_t>(std::time(nullptr));
  return entry_of(State::ready, shown.base64, validity_problem(*certificate, now), both.release());
}

}  // namespace

std::string libssh::public_base64(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) return {};
  std::string out(text);
  ssh_string_free_char(text);
  return out;
}

SshKeyring::SshKeyring() {
  ssh_init();  // a static libssh is not initialized on loading; calls are counted
}

const SshKeyring::Status& SshKeyring::load(const std::string& path) { return entry(path).status; }

const SshKeyring::Status& SshKeyring::load_certificate(const std::string& key,
                                                       const std::string& path) {
  return certified(key, path).status;
}

bool SshKeyring::unlock(const std::string& path, const std::string& pass_phrase) {
  if (!entry(path).status.problem.empty()) return false;
  ssh_key key = nullptr;
  if (ssh_pki_import_privkey_file(path.c_str(), pass_phrase.c_str(), nullptr, nullptr, &key) !=
      SSH_OK)
    return false;
  entries_[path] = entry_of(State::ready, libssh::public_base64(key), {}, key);
  return true;
}

const SshKeyring::Entry& SshKeyring::certified(const std::string& key,
                                               const std::string& certificate) {
  const Entry& plain = entry(key);
  if (plain.status.state != State::ready) return plain;
  const auto [it, fresh] = certified_.try_emplace({key, certificate});
  if (fresh) it->second = read_certificate(plain, certificate);
  return *it->second;
}

const SshKeyring::Entry& SshKeyring::entry(const std::string& path) {
  const auto [it, fresh] = entries_.try_emplace(path);
  if (fresh) it->second = read_key(path);
  return *it->second;
}

}  // namespace ds::launcher
