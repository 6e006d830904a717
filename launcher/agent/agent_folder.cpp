#include "launcher/agent/agent_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "engine/base/split.h"
#include "launcher/agent/process_tree.h"

namespace ds::launcher {
namespace {

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number <= 0) return std::nullopt;
  return number;
}

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

std::string Cookie::text() const { return fmt::format("{}.{}.{}", job, agent, start); }

std::optional<Cookie> Cookie::parse(std::string_view text) {
  const std::size_t second = text.rfind('.');
  if (second == std::string_view::npos || second == 0) return std::nullopt;
  const std::size_t first = text.rfind('.', second - 1);
  if (first == std::string_view::npos || first == 0) return std::nullopt;
  const auto agent = whole_number<pid_t>(text.substr(first + 1, second - first - 1));
  const auto start = whole_number<std::uint64_t>(text.substr(second + 1));
  if (!agent || !start) return std::nullopt;
  return Cookie{std::string(text.substr(0, first)), *agent, *start};
}

std::optional<Cookie> cookie_in_environment(std::string_view environ_text) {
  const std::string name = std::string(kCookieVariable) + "=";
  for (const std::string_view entry : split(environ_text, '\0'))
    if (entry.starts_with(name)) return Cookie::parse(entry.substr(name.size()));
  return std::nullopt;
}

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
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
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
  const UniqueFd folder = open_folder(base);
  if (!folder || !is_private(folder.get())) return found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(base, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    if (auto cookie = Cookie::parse(std::string_view(name).substr(kPrefix.size())))
      found.push_back(std::move(*cookie));
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
