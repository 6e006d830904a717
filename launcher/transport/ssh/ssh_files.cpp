#include "launcher/transport/ssh/ssh_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/own_host_name.h"
#include "engine/base/text_error.h"
#include "engine/base/unique_fd.h"
#include "launcher/transport/child_process.h"

namespace ds::launcher {

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  // A file that was read in part counts as unreadable: the rest may hold a revoked key.
  if (file.bad() || text.fail() || std::filesystem::is_directory(path)) return std::nullopt;
  return std::move(text).str();
}

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

std::string user_shell() {
  const std::string shell = environment_value("SHELL").value_or("");
  return shell.starts_with('/') ? shell : "/bin/sh";
}

std::string random_salt() {
  std::string salt(20, '\0');
  if (::getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size()))
    throw_errno("cannot get random bytes", errno);
  return salt;
}

namespace {

constexpr std::chrono::seconds kMatchExecLimit{5};

/// Returns a function that runs a command of `Match exec`, once each, and tells whether it exits 0.
std::function<bool(const std::string&)> match_exec() {
  return [known = std::make_shared<std::map<std::string, std::optional<ExitStatus>>>()](
             const std::string& command) {
    const auto [it, fresh] = known->try_emplace(command);
    if (fresh) it->second = run_program({user_shell(), "-c", command}, kMatchExecLimit);
    if (!it->second)
      throw Error(ErrorKind::config,
                  fmt::format("Match exec: '{}' did not end within {} s, or could not be started",
                              printable_text(command, 200), kMatchExecLimit.count()));
    return it->second->success();
  };
}

std::vector<std::string> glob_paths(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

LocalUser local_user() {
  LocalUser local;
  local.run = match_exec();
  local.uid = static_cast<int>(::getuid());
  local.environment = environment_value;
  // As in ssh, the password file wins over HOME. Users without an entry have only HOME and USER.
  const passwd* entry = ::getpwuid(::getuid());
  local.name = entry != nullptr ? entry->pw_name : environment_value("USER").value_or("");
  local.home = entry != nullptr ? entry->pw_dir : environment_value("HOME").value_or("/");
  local.host_name = own_host_name();
  return local;
}

SshConfig read_ssh_config(const std::string& config_file, const LocalUser& local) {
  SshConfig config;
  /// Returns false if the file cannot be read.
  const auto add = [&](const std::string& path, const std::string& include_base) {
    const auto text = read_text_file(path);
    if (text) config.add(*text, path, {read_text_file, glob_paths, include_base, local.home});
    return text.has_value();
  };
  const std::string user_folder = local.home + "/.ssh";
  if (config_file.empty()) {
    add(user_folder + "/config", user_folder);
    add("/etc/ssh/ssh_config", "/etc/ssh");
  } else if (!add(config_file, user_folder)) {
    throw Error(ErrorKind::config,
                "cannot read the ssh config file " + config_file + ": " + std::strerror(errno));
  }
  return config;
}

AppendedKey append_host_key(const std::string& path, const std::string& line,
                            std::size_t known_size) {
  const auto failed = [&path] {
    return AppendedKey{false, {}, path + ": " + std::strerror(errno)};
  };
  const std::size_t slash = path.rfind('/');
  if (slash != std::string::npos && slash > 0) (void)::mkdir(path.substr(0, slash).c_str(), 0700);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return failed();
  // Other programs that add a key hold the lock for a moment. It ends with the descriptor.
  while (::flock(file.get(), LOCK_EX) != 0)
    if (errno != EINTR) return failed();
  struct stat now {};
  if (::fstat(file.get(), &now) != 0) return failed();
  if (static_cast<std::size_t>(now.st_size) > known_size) {
    const auto grown = read_text_file(path);
    if (!grown) return failed();
    return {false, grown->substr(std::min(known_size, grown->size())), {}};
  }
  char last = '\n';
  if (known_size > 0) (void)::pread(file.get(), &last, 1, static_cast<off_t>(known_size - 1));
  const std::string text = (last == '\n' ? "" : "\n") + line;
  // One write to a file opened for appending: readers never see half a line.
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failed();
  return {true, text, {}};
}

}  // namespace ds::launcher
