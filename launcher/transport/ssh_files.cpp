// Effects on ssh's files; what they mean is decided elsewhere.
#include "launcher/transport/ssh_files.h"

#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "launcher/transport/host_key_policy.h"

namespace ds::launcher {

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

LocalUser local_user() {
  LocalUser local;
  local.uid = static_cast<int>(::getuid());
  local.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  // As ssh: the password file decides, not HOME; a user without an entry has only HOME and USER.
  if (const passwd* entry = ::getpwuid(::getuid())) {
    local.name = entry->pw_name;
    local.home = entry->pw_dir;
  } else {
    local.name = local.environment("USER").value_or("");
    local.home = local.environment("HOME").value_or("/");
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) local.host_name = name.data();
  return local;
}

namespace {

std::vector<std::string> glob_paths(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

SshConfig read_ssh_config(const std::string& config_file, const LocalUser& local) {
  SshConfig config;
  const std::string user_folder = local.home + "/.ssh";
  const SshConfig::Sources user_sources{read_text_file, glob_paths, user_folder, local.home};
  if (!config_file.empty()) {
    const auto text = read_text_file(config_file);
    if (!text)
      throw Error(ErrorKind::config,
                  "cannot read the ssh config file " + config_file + ": " + std::strerror(errno));
    config.add(*text, config_file, user_sources);
    return config;
  }
  if (const auto text = read_text_file(user_folder + "/config"))
    config.add(*text, user_folder + "/config", user_sources);
  const SshConfig::Sources system_sources{read_text_file, glob_paths, "/etc/ssh", local.home};
  if (const auto text = read_text_file("/etc/ssh/ssh_config"))
    config.add(*text, "/etc/ssh/ssh_config", system_sources);
  return config;
}

std::string remember_host_key(const SshSettings& settings, const HostKey& key) {
  if (settings.known_hosts_files.empty()) return "UserKnownHostsFile is none";
  const std::string& path = settings.known_hosts_files.front();
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) (void)::mkdir(path.substr(0, slash).c_str(), 0700);
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return path + ": " + std::strerror(errno);
  std::string salt;
  if (settings.hash_known_hosts) {
    salt.resize(20);
    if (::getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size()))
      return "no random bytes";
  }
  const std::string line = known_hosts_line(host_key_name(settings), settings.port, key, salt);
  // One write of a whole line to a file opened for appending: readers and other writers never see
  // half of it.
  if (::write(file.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    return path + ": " + std::strerror(errno);
  return {};
}

}  // namespace ds::launcher
