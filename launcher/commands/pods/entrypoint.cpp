// First process: forks, forwards signals to the child and reaps orphans. Termination log: one
// padded write, then truncation to the new length; the report as JSON within Kubernetes' size
// limit.
#include "launcher/commands/pods/entrypoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <functional>
#include <nlohmann/json.hpp>
#include <system_error>
#include <type_traits>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

namespace {

/// Reaps all ended children. Returns the exit code of `child` if it is among them.
std::optional<int> reap(pid_t child) {
  std::optional<int> code;
  int status = 0;
  while (const pid_t pid = ::waitpid(-1, &status, WNOHANG)) {
    if (pid < 0) break;
    if (pid == child) code = ExitStatus::from_wait_status(status).shell_code();
  }
  return code;
}

int serve(pid_t child, const sigset_t& all) {
  while (true) {
    if (const auto code = reap(child)) return *code;  // all other processes end with this one
    siginfo_t info{};
    const int signo = ::sigwaitinfo(&all, &info);
    // Signals from terminal keys go to the whole group: the child already has them.
    if (signo > 0 && signo != SIGCHLD && info.si_code != SI_KERNEL) ::kill(child, signo);
  }
}

std::string why(const std::string& path, int error) {
  return fmt::format("cannot write the termination log {}: {}", path,
                     std::generic_category().message(error));
}

bool is_regular(const char* path) {
  struct stat info {};
  return ::stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

using Json = nlohmann::ordered_json;

Json json_of(const TerminationReport& report) {
  Json json;
  json["reason"] = printable(report.reason);
  json["exit_code"] = report.exit_code;
  if (!report.job.empty()) json["job"] = printable(report.job);
  json["rank"] = report.rank ? Json(*report.rank) : Json();
  json["node"] = report.node.empty() ? Json() : Json(printable(report.node));
  json["step"] = report.step ? Json(*report.step) : Json();
  json["checkpoint"] = report.checkpoint.empty() ? Json() : Json(printable(report.checkpoint));
  json["last_lines"] = Json::array();
  for (const std::string& line : report.last_lines) json["last_lines"].push_back(printable(line));
  return json;
}

std::string text_of(const TerminationReport& report) {
  return json_of(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <class T>
std::optional<T> value_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  const bool fits =
      found != json.end() &&
      (std::is_same_v<T, std::string> ? found->is_string() : found->is_number_integer());
  return fits ? std::optional(found->get<T>()) : std::nullopt;
}

}  // namespace

std::optional<int> go_on_below_first_process(void (*in_first)()) {
  if (::getpid() != 1) return std::nullopt;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  for (const int own_trouble : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP})
    ::sigdelset(&all, own_trouble);
  ::sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t child = ::fork();
  if (child < 0) throw_errno("cannot start a process", errno, "see the pod's limit of pids");
  if (child > 0) {
    in_first();
    return serve(child, all);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return std::nullopt;
}

int wait_for_end_signal() {
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int signo : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&ends, signo);
  ::sigprocmask(SIG_BLOCK, &ends, nullptr);
  int signo = 0;
  while (::sigwait(&ends, &signo) != 0) {
  }
  return signo;
}

TerminationLog::TerminationLog(const std::optional<std::string>& path) {
  if (!path && !is_regular(kTerminationLog)) return;
  path_ = path.value_or(kTerminationLog);
  const int create = path ? O_CREAT : 0;
  const UniqueFd file(
      ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK | create, 0666));
  if (file) return;
  if (path) throw Error(ErrorKind::config, why(path_, errno), "check --termination-log");
  path_.clear();  // the default file is optional
}

std::optional<std::string> TerminationLog::write(const std::string& text) {
  if (path_.empty()) return std::nullopt;
  const UniqueFd file(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return why(path_, errno);
  // Trailing blanks mean nothing to a reader of JSON; the rest of a longer old text would.
  std::string padded = text;
  padded.resize(std::max(text.size(), size_), ' ');
  const ssize_t wrote = ::pwrite(file.get(), padded.data(), padded.size(), 0);
  if (wrote < 0) return why(path_, errno);
  size_ = text.size();
  const bool whole = static_cast<std::size_t>(wrote) == padded.size();
  if (!whole || ::ftruncate(file.get(), static_cast<off_t>(text.size())) != 0)
    return why(path_, whole ? errno : ENOSPC);
  return std::nullopt;
}

TerminationReport termination_report(const std::string& verdict, int code) {
  TerminationReport report;
  report.exit_code = code;
  const Json json = Json::parse(verdict, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    report.reason = verdict;
    return report;
  }
  report.reason = value_of<std::string>(json, "text").value_or("");
  if (report.reason.empty() && code == 0) report.reason = "all ranks ended with 0";
  report.job = value_of<std::string>(json, "job").value_or("");
  report.step = value_of<std::int64_t>(json, "step");
  report.checkpoint = value_of<std::string>(json, "checkpoint").value_or("");
  const Json cause = json.value("cause", Json::object());
  report.rank = value_of<int>(cause, "rank");
  report.node = value_of<std::string>(cause, "node").value_or("");
  for (const Json& line : json.value("last_lines", Json::array()))
    if (line.is_string()) report.last_lines.push_back(line.get<std::string>());
  return report;
}

std::string error_report(const Error& error) {
  return termination_json({.exit_code = contract::exit_code(error.kind()), .reason = error.what()});
}

std::string termination_json(const TerminationReport& report) {
  std::string text = text_of(report);
  TerminationReport shorter = report;
  while (text.size() > kMaxTerminationReport) {
    if (!shorter.last_lines.empty()) {
      shorter.last_lines.erase(shorter.last_lines.begin());
    } else {  // names and reasons from other programs can be long
      std::string& longest =
          std::max({std::ref(shorter.reason), std::ref(shorter.node), std::ref(shorter.job),
                    std::ref(shorter.checkpoint)},
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
      longest.resize(longest.size() * 3 / 4);
    }
    text = text_of(shorter);
  }
  return text;
}

}  // namespace ds::launcher
