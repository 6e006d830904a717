#include "launcher/control/job_client.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/text_error.h"

namespace ds::launcher {
namespace {

/// A launcher that takes no bytes for this time is treated as suspended.
constexpr std::chrono::seconds kSendWithin{2};

/// Connects to a job's socket. Returns nothing if no process listens there. If the connection queue
/// is full, the launcher does not answer: the socket is returned unconnected and is over at first
/// use.
std::optional<UniqueFd> connect_to(const SocketFolder& folder, const std::string& name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw_errno("cannot create a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = folder.address_of(name);
  DS_ASSERT(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      (errno == ECONNREFUSED || errno == ENOENT))
    return std::nullopt;
  return socket;
}

JobInfo describe_silent(const LiveJob& job) {
  JobInfo info;
  info.id = job.id;
  const pid_t pid = job.client.pid();
  info.state = is_suspended(pid) ? "suspended" : "no answer";
  info.pid = static_cast<std::uint32_t>(pid);
  struct stat facts {};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &facts) == 0)
    info.started_ms = static_cast<std::uint64_t>(facts.st_ctim.tv_sec) * 1000;
  std::ifstream file(fmt::format("/proc/{}/cmdline", pid), std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) info.command.push_back(word);
  return info;
}

constexpr std::size_t kShortId = 8;

void sort_by_age(std::vector<JobInfo>& jobs) {
  std::ranges::sort(jobs, {}, [](const JobInfo& job) { return std::pair(job.started_ms, job.id); });
}

std::chrono::milliseconds age_of(const JobInfo& job, std::uint64_t now_ms) {
  return std::chrono::milliseconds(now_ms > job.started_ms ? now_ms - job.started_ms : 0);
}

std::size_t id_length(const std::vector<JobInfo>& jobs) {
  std::size_t length = kShortId;
  for (const JobInfo& a : jobs) {
    for (const JobInfo& b : jobs) {
      if (a.id == b.id) continue;
      const auto [at, other] = std::mismatch(a.id.begin(), a.id.end(), b.id.begin(), b.id.end());
      length = std::max(length, static_cast<std::size_t>(at - a.id.begin()) + 1);
    }
  }
  return length;
}

std::string printable(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

/// Cuts `text` to at most `columns` bytes, between UTF-8 characters.
std::string cut_to(const std::string& text, std::size_t columns) {
  return text.size() <= columns ? text : printable_text(text, columns - 3);
}

bool is_plain(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return letter || std::string_view("/._-+,=@%:").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::string quoted(const std::string& word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

using Row = std::array<std::string, 6>;

Row row_of(const JobInfo& job, std::uint64_t now_ms, std::size_t id_digits) {
  const std::string ranks = job.ranks_left == job.ranks
                                ? fmt::format("{}", job.ranks)
                                : fmt::format("{}/{}", job.ranks_left, job.ranks);
  return {printable(job.id.substr(0, id_digits)),
          age_text(age_of(job, now_ms)),
          printable(job.state),
          job.ranks == 0 ? "-" : ranks,
          job.nodes == 0 ? "-" : fmt::format("{}", job.nodes),
          printable(command_text(job.command))};
}

}  // namespace

bool JobClient::send(const ControlMessage& message) {
  Bytes bytes;
  encode_control(message, bytes);
  const Deadline deadline = Deadline::after(kSendWithin);
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(socket_.get(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count > 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN && !deadline.passed()) {
      pollfd wait{socket_.get(), POLLOUT, 0};
      ::poll(&wait, 1, static_cast<int>(deadline.remaining().count()));
    } else if (errno != EINTR) {
      return false;  // messages sent before the job closed its end can still be read
    }
  }
  return true;
}

std::optional<ControlMessage> JobClient::next(const Deadline& deadline) {
  while (true) {
    if (auto message = decoder_.next()) return message;
    over_ = over_ || decoder_.broken();
    if (over_) return std::nullopt;
    pollfd wait{socket_.get(), POLLIN, 0};
    // EINTR lets the caller handle its signals.
    if (::poll(&wait, 1, static_cast<int>(deadline.remaining().count())) <= 0) return std::nullopt;
    std::array<std::byte, 64 * 1024> buffer;
    const ssize_t count = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (count > 0) decoder_.feed(std::span(buffer).first(static_cast<std::size_t>(count)));
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) over_ = true;
  }
}

pid_t JobClient::pid() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer.pid;
}

std::vector<LiveJob> live_jobs(const std::vector<std::string>& folders,
                               const std::function<void(const std::string&)>& warn) {
  std::vector<LiveJob> jobs;
  for (const std::string& path : folders) {
    try {
      const std::optional<SocketFolder> folder = SocketFolder::open(path);
      if (!folder) continue;
      for (const std::string& id : folder->ids()) {
        if (auto socket = connect_to(*folder, socket_name(id))) {
          jobs.push_back({id, JobClient(std::move(*socket))});
        } else {
          folder->remove(socket_name(id));
        }
      }
    } catch (const Error& error) {
      warn(error.for_people());
    }
  }
  return jobs;
}

std::vector<JobInfo> describe_jobs(std::vector<LiveJob>& jobs, const Deadline& deadline) {
  for (LiveJob& job : jobs) job.client.send(InfoRequest{});
  std::vector<JobInfo> infos;
  for (LiveJob& job : jobs) {
    std::optional<ControlMessage> answer = job.client.next(deadline);
    if (answer && std::holds_alternative<JobInfo>(*answer)) {
      infos.push_back(std::move(std::get<JobInfo>(*answer)));
    } else if (!job.client.over()) {
      infos.push_back(describe_silent(job));
    }  // otherwise the job has just ended
  }
  return infos;
}

bool is_suspended(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t after_name = text.rfind(')');
  return after_name != std::string::npos && after_name + 2 < text.size() &&
         (text[after_name + 2] == 'T' || text[after_name + 2] == 't');
}

std::string age_text(std::chrono::milliseconds age) {
  const long long seconds = age.count() / 1000;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86400, seconds / 3600 % 24);
}

std::string command_text(std::vector<std::string> words) {
  std::ranges::transform(words, words.begin(), quoted);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string jobs_table(std::vector<JobInfo> jobs, std::uint64_t now_ms, std::size_t columns) {
  sort_by_age(jobs);
  const std::size_t id_digits = id_length(jobs);
  std::vector<Row> rows = {{"JOB", "AGE", "STATE", "RANKS", "NODES", "COMMAND"}};
  for (const JobInfo& job : jobs) rows.push_back(row_of(job, now_ms, id_digits));
  std::array<std::size_t, 6> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i + 1 < row.size(); ++i)
      line += fmt::format("{:<{}}  ", row[i], widths[i]);
    const std::size_t left = columns > line.size() + 10 ? columns - line.size() : 10;
    text += line + (columns == 0 ? row.back() : cut_to(row.back(), left)) + "\n";
  }
  return text;
}

std::string jobs_json(std::vector<JobInfo> jobs, std::uint64_t now_ms) {
  sort_by_age(jobs);
  using Json = nlohmann::ordered_json;
  Json array = Json::array();
  for (const JobInfo& job : jobs) {
    const auto seconds = static_cast<std::time_t>(job.started_ms / 1000);
    array.push_back({{"id", job.id},
                     {"state", job.state},
                     {"pid", job.pid},
                     {"host", job.host},
                     {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds))},
                     {"age_seconds", age_of(job, now_ms).count() / 1000},
                     {"ranks", job.ranks},
                     {"ranks_left", job.ranks_left},
                     {"nodes", job.nodes},
                     {"folder", job.folder},
                     {"log", job.log},
                     {"phase", job.phase.empty() ? Json() : Json(job.phase)},
                     {"step", job.step < 0 ? Json() : Json(job.step)},
                     {"kept", job.kept < 0 ? Json() : Json(job.kept)},
                     {"checkpoint", job.checkpoint.empty() ? Json() : Json(job.checkpoint)},
                     {"command", job.command}});
  }
  constexpr auto kReplaceBadUtf8 = nlohmann::ordered_json::error_handler_t::replace;
  return array.dump(2, ' ', false, kReplaceBadUtf8) + "\n";
}

constexpr std::string_view kWhereEnded =
    "the output of a job with --detach is in dslaunch-ID.log, in the folder where it was started";

std::string choose_job(std::string_view typed, const std::vector<std::string>& ids) {
  std::vector<std::string> matches;
  for (const std::string& id : ids)
    if (id.starts_with(typed)) matches.push_back(id);
  if (matches.size() == 1) return matches.front();
  if (ids.empty())
    throw Error(ErrorKind::usage, "you have no running job on this machine",
                std::string(kWhereEnded));
  if (matches.empty()) {
    throw Error(ErrorKind::usage,
                fmt::format("no running job has an id that begins with '{}'", typed),
                (typed.starts_with('-') ? "write a signal as dslaunch kill -s KILL JOB; "
                                        : "see dslaunch ps; ") +
                    std::string(kWhereEnded));
  }
  throw Error(ErrorKind::usage,
              typed.empty() ? std::string("several jobs are running, choose one")
                            : fmt::format("several jobs have ids that begin with '{}'", typed),
              fmt::format("their ids: {}", fmt::join(matches, ", ")));
}

}  // namespace ds::launcher
