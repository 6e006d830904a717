#include "launcher/control/job_socket.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <tuple>
#include <utility>

#include "engine/base/error.h"
#include "launcher/wire/fields.h"

namespace ds::launcher {
namespace {

constexpr std::string_view kSuffix = ".sock";
// Notes of ended jobs, one line each: "ID CODE". At kEndedBytes the file becomes the older one.
constexpr const char* kEnded = "ended";
constexpr const char* kEndedOlder = "ended.older";
constexpr off_t kEndedBytes = 64 * 1024;
constexpr std::size_t kIdDigits = 16;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::system,
              fmt::format("cannot use {} for the sockets of jobs: {}", path, why),
              fmt::format("remove it, or set {} to a folder of your own", kSocketFolderVariable));
}

std::string reason(int error_number) { return std::generic_category().message(error_number); }

void check_owner(const std::string& path, int fd) {
  struct stat facts {};
  if (::fstat(fd, &facts) != 0) refuse(path, reason(errno));
  if (facts.st_uid != ::geteuid())
    refuse(path, fmt::format("it belongs to user {}, not to you", facts.st_uid));
  if ((facts.st_mode & 077U) != 0)
    refuse(path, fmt::format("other users have rights there (mode {:04o}, not 0700)",
                             facts.st_mode & 07777U));
}

/// Returns the id in a name of the form "ID.sock"; empty for other names.
std::string id_of(const std::string& name) {
  if (name.size() != kIdDigits + kSuffix.size() || !name.ends_with(kSuffix)) return {};
  std::string id = name.substr(0, kIdDigits);
  const bool digits = id.find_first_not_of("0123456789abcdef") == std::string::npos;
  return digits ? id : std::string();
}

constexpr std::size_t kHeader = 4;

/// The number of each message, in the order of ControlMessage.
constexpr std::uint8_t kNumbers[] = {1,  2,  3,  4,  5,  33, 34, 35,
                                      36, 40, 37, 38, 39, 6,  41};
static_assert(std::size(kNumbers) == std::variant_size_v<ControlMessage>);

/// Returns the message with this number; nothing if there is none or its fields do not fill `body`.
template <std::size_t I = 0>
std::optional<ControlMessage> decode(std::uint8_t number, std::span<const std::byte> body) {
  if constexpr (I == std::variant_size_v<ControlMessage>) {
    return std::nullopt;
  } else {
    if (kNumbers[I] != number) return decode<I + 1>(number, body);
    std::variant_alternative_t<I, ControlMessage> message;
    FieldReader reader(body);
    std::apply([&](auto&... field) { (reader(field), ...); }, message.fields());
    return reader.complete() ? std::optional<ControlMessage>(message) : std::nullopt;
  }
}

}  // namespace

std::vector<std::string> socket_folders(
    const std::function<std::optional<std::string>(const std::string&)>& variable, uid_t uid) {
  if (const auto own = variable(kSocketFolderVariable); own && !own->empty()) return {*own};
  std::vector<std::string> folders;
  const auto runtime = variable("XDG_RUNTIME_DIR");
  if (runtime && runtime->starts_with('/')) folders.push_back(*runtime + "/dslaunch");
  const std::string session = fmt::format("/run/user/{}/dslaunch", uid);
  if (folders.empty() || folders.front() != session) folders.push_back(session);
  const std::string last = fmt::format("/tmp/dslaunch-{}", uid);
  if (folders.front() != last) folders.push_back(last);
  return folders;
}

std::optional<SocketFolder> SocketFolder::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  const bool is_link = errno == ELOOP || errno == ENOTDIR;
  if (!fd) refuse(path, is_link ? "it is a link or a file, not a folder" : reason(errno));
  check_owner(path, fd.get());
  return SocketFolder(path, std::move(fd));
}

SocketFolder SocketFolder::open_or_make(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) refuse(path, reason(errno));
  std::optional<SocketFolder> folder = open(path);
  if (!folder) refuse(path, "it was removed");
  return std::move(*folder);
}

std::string SocketFolder::address_of(const std::string& name) const {
  return fmt::format("/proc/self/fd/{}/{}", fd_.get(), name);
}

std::vector<std::string> SocketFolder::ids() const {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(address_of("."), error))
    if (std::string id = id_of(entry.path().filename().string()); !id.empty())
      found.push_back(std::move(id));
  std::sort(found.begin(), found.end());
  return found;
}

void SocketFolder::note_end(const std::string& id, int code) const {
  constexpr int kAppend = O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC;
  const UniqueFd file(::openat(fd_.get(), kEnded, kAppend, 0600));
  const std::string line = fmt::format("{} {}\n", id, code);
  if (!file || ::write(file.get(), line.data(), line.size()) < 0) return;
  struct stat facts {};
  if (::fstat(file.get(), &facts) == 0 && facts.st_size >= kEndedBytes)
    static_cast<void>(rename(kEnded, kEndedOlder));
}

std::vector<EndedJob> SocketFolder::ended(std::string_view typed) const {
  std::vector<EndedJob> jobs;
  for (const char* name : {kEndedOlder, kEnded}) {
    std::ifstream file(address_of(name));
    EndedJob job;
    while (file >> job.id >> job.code)
      if (job.id.starts_with(typed)) jobs.push_back(job);
  }
  return jobs;
}

bool SocketFolder::contains(const std::string& name) const {
  return ::faccessat(fd_.get(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

std::string socket_name(const std::string& id) { return id + std::string(kSuffix); }

void encode_control(const ControlMessage& message, Bytes& out) {
  Bytes body;
  FieldWriter writer(body);
  writer(kNumbers[message.index()]);
  const auto write = [&](auto&... field) { (writer(field), ...); };
  std::visit([&](auto copy) { std::apply(write, copy.fields()); }, message);
  FieldWriter{out}(static_cast<std::uint32_t>(body.size()));
  out.insert(out.end(), body.begin(), body.end());
}

void ControlDecoder::feed(std::span<const std::byte> bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<ControlMessage> ControlDecoder::next() {
  const std::span<const std::byte> rest = std::span(buffer_).subspan(taken_);
  if (broken_ || rest.size() < kHeader) return std::nullopt;
  std::uint32_t length = 0;
  FieldReader{rest.first(kHeader)}(length);
  if (length == 0 || length > kMaxControlFrame) {
    broken_ = true;
    return std::nullopt;
  }
  if (rest.size() < kHeader + length) return std::nullopt;
  const std::span<const std::byte> body = rest.subspan(kHeader, length);
  std::optional<ControlMessage> message =
      decode(std::to_integer<std::uint8_t>(body[0]), body.subspan(1));
  broken_ = !message;
  taken_ += kHeader + length;
  return message;
}

}  // namespace ds::launcher
