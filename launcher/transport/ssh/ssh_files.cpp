// Reads and appends to ssh's files, and finds the local user. Contains no rules.
#include "launcher/transport/ssh/ssh_files.h"

#include <fcntl.h>
#include <fmt/format.h>
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
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "engine/base/error.h"
#include "engine/base/own_host_name.h"
#include "engine/base/text_error.h"
#include "engine/base/unique_fd.h"
#include "launcher/transport/host_keys/host_key_policy.h"
#include "launcher/transport/run_program.h"

namespace ds::launcher {

namespace {
constexpr std::chrono::seconds kMatchExecLimit{5};
}  // namespace

std::optional<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  // A file that was read in part counts as unreadable: the rest may hold a revoked key.
  if (file.bad() || text.fail() || std::filesystem::is_directory(path)) return std::nullopt;
  return std::move(text).str();
}

namespace {

/// Returns a function that runs a command of `Match exec`, once each, and tells whether it exits 0.
std::function<bool(const std::string&)> match_exec() {
  return [known = std::make_shared<std::map<std::string, std::optional<bool>>>()](
             const std::string& command) {
    const auto [it, fresh] = known->try_emplace(command);
    if (fresh) {
      const char* shell = std::getenv("SHELL");
      const std::string program = shell != nullptr && *shell == '/' ? shell : "/bin/sh";
      const ProgramEnd end =
          run_program({program, "-c", command}, kMatchExecLimit, ProgramOutput::dropped);
      if (end.status) it->second = end.status->success();
    }
    if (!it->second)
      throw Error(ErrorKind::config,
                  fmt::format("Match exec: '{}' did not end within {} s, or could not be started",
                              printable_text(command, 200), kMatchExecLimit.count()));
    return *it->second;
  };
}

}  // namespace

LocalUser local_user() {
  LocalUser local;
  local.run = match_exec();
  local.uid = static_cast<int>(::getuid());
  local.environment = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  // As in ssh, the password file wins over HOME. Users without an entry have only HOME and USER.
  if (const passwd* entry = ::getpwuid(::getuid())) {
    local.name = entry->pw_name;
    local.home = entry->pw_dir;
  } else {
    local.name = local.environment("USER").value_or("");
    local.home = local.environment("HOME").value_or("/");
  }
  local.host_name = own_host_name();
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

namespace {

/// Returns the bytes of the file from `from` on; nothing if it cannot be read.
std::optional<std::string> read_from(int fd, std::size_t from) {
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const ssize_t count =
        ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(from + text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

bool ends_in_mid_line(int fd, std::size_t size) {
  char last = '\n';
  return size > 0 && ::pread(fd, &last, 1, static_cast<off_t>(size - 1)) == 1 && last != '\n';
}

std::string random_salt() {
  std::string salt(20, '\0');
  if (::getrandom(salt.data(), salt.size(), 0) != static_cast<ssize_t>(salt.size()))
    throw_errno("cannot get random bytes", errno);
  return salt;
}

}  // namespace

AppendedKey append_host_key(const std::string& path, const NewHostKey& line,
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
  const auto grown = read_from(file.get(), known_size);
  if (!grown) return failed();
  if (!grown->empty()) return {false, *grown, {}};
  const std::string text =
      (ends_in_mid_line(file.get(), known_size) ? "\n" : "") +
      known_hosts_line(line.name, line.port, line.key, line.hashed ? random_salt() : "");
  // One write to a file opened for appending: readers never see half a line.
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return failed();
  return {true, text, {}};
}

}  // namespace ds::launcher
