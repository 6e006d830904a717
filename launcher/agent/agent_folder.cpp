#include "launcher/agent/agent_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kPrefix = "agent-";

UniqueFd open_folder(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Returns true if only this user can enter the folder: anybody may create folders in /tmp.
bool is_private(int folder) {
  struct stat facts {};
  return ::fstat(folder, &facts) == 0 && facts.st_uid == ::geteuid() && (facts.st_mode & 077U) == 0;
}

std::string folder_of(const std::string& base, const Cookie& cookie) {
  return fmt::format("{}/{}{}", base, kPrefix, cookie.text());
}

/// Returns true if an agent holds its folder. An agent in another PID namespace is known by its
/// lock alone; one that has not locked yet, by its pid.
bool is_held(const std::string& base, const Cookie& cookie) {
  const UniqueFd folder = open_folder(folder_of(base, cookie));
  if (!folder) return errno != ENOENT;
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) return true;
  return ProcessRef::of(cookie.agent, cookie.start).lives();
}

}  // namespace

std::string agent_folders_of_user() {
  const char* const own = std::getenv("DSLAUNCH_RUNTIME_DIR");
  if (own != nullptr && own[0] == '/') return own;
  return fmt::format("/tmp/dslaunch-{}", ::geteuid());
}

AgentFolder AgentFolder::make(const std::string& base, const Cookie& cookie) {
  AgentFolder made;
  if (cookie.job.find('/') != std::string::npos) return made;
  if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST) return made;
  const UniqueFd above = open_folder(base);
  if (!above || !is_private(above.get())) return made;
  const std::string path = folder_of(base, cookie);
  if (::mkdir(path.c_str(), 0700) != 0) return made;
  made.path_ = path;
  made.lock_ = open_folder(path);
  if (made.lock_) ::flock(made.lock_.get(), LOCK_EX | LOCK_NB);
  return made;
}

std::string AgentFolder::error_file(std::uint32_t epoch, std::int32_t rank) const {
  return fmt::format("{}/epoch{}.rank{}.json", path_, epoch, rank);
}

void AgentFolder::remove() {
  if (path_.empty()) return;
  if (::rmdir(path_.c_str()) != 0) {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  *this = AgentFolder();
}

std::string read_written_file(const std::string& path, std::size_t limit) {
  std::string text;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts {};
  if (!file || ::fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return text;
  text.resize(std::min(limit, static_cast<std::size_t>(facts.st_size)));
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::vector<Cookie> agent_folders(const std::string& base) {
  std::vector<Cookie> found;
  UniqueFd folder = open_folder(base);
  if (!folder || !is_private(folder.get())) return found;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(::fdopendir(folder.get()), ::closedir);
  if (list == nullptr) return found;
  (void)folder.release();  // The list owns it now.
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const auto cookie = Cookie::parse(name.substr(kPrefix.size()));
    if (cookie) found.push_back(*cookie);
  }
  return found;
}

std::vector<Cookie> abandoned_folders(const std::string& base) {
  std::vector<Cookie> found = agent_folders(base);
  std::erase_if(found, [&](const Cookie& cookie) { return is_held(base, cookie); });
  return found;
}

void remove_abandoned_folder(const std::string& base, const Cookie& cookie) {
  std::error_code ignored;
  std::filesystem::remove_all(folder_of(base, cookie), ignored);
}

}  // namespace ds::launcher
