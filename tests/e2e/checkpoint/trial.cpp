// Runs a trial: starts it, watches it, kills, and waits for the last process.
#include "e2e/checkpoint/trial.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "e2e/orphans/process_table.h"

namespace ds::test {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kLimit = 60s;  // per trial, which takes seconds
// Ranks without a launcher wait long for one killed before they connected; the campaign ends them.
constexpr auto kLongEnough = 3s;

int free_port() {
  const int file = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const raw = reinterpret_cast<sockaddr*>(&place);
  if (::bind(file, raw, size) != 0 || ::getsockname(file, raw, &size) != 0) std::abort();
  ::close(file);
  return ntohs(place.sin_port);
}

/// Reads the complete lines of a growing file.
class GrowingFile {
 public:
  explicit GrowingFile(std::filesystem::path path) : path_(std::move(path)) {}
  const std::vector<std::string>& lines() {
    std::ifstream file(path_);
    file.seekg(at_);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      at_ = file.tellg();
      lines_.push_back(line);
    }
    return lines_;
  }

 private:
  std::filesystem::path path_;
  std::streamoff at_ = 0;
  std::vector<std::string> lines_;
};

std::string without_prefix(const std::string& line) {
  const std::size_t end = line.starts_with('[') ? line.find("] ") : std::string::npos;
  return end == std::string::npos ? line : line.substr(end + 2);
}

FileNote parse_note(const std::string& line) {
  FileNote note;
  std::istringstream words(line);
  words >> note.rank >> note.call;
  if (note.call == "!") words >> note.fault >> note.call;
  words >> note.file >> note.path;
  return note;
}

class Trial {
 public:
  Trial(const Programs& programs, const TrialSpec& spec)
      : programs_(programs),
        spec_(spec),
        cookie_(fmt::format("campaign-{}-{}", ::getpid(), Clock::now().time_since_epoch().count())),
        output_(spec.folder / "out.0"),
        notes_(spec.folder / "notes") {
    std::filesystem::remove_all(spec.folder);
    std::filesystem::create_directories(spec.folder);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }

  TrialEnd run() {
    const int port = free_port();
    for (int rank = 0; rank < (spec_.launched ? 1 : spec_.world); ++rank) start(rank, port);
    watch();
    read_all();
    return std::move(end_);
  }

 private:
  void start(int rank, int port) {
    std::vector<std::string> argv;
    if (spec_.launched)
      argv = {programs_.dslaunch, "-n", std::to_string(spec_.world), "--grace", "3s", "--"};
    argv.push_back(programs_.dsrunner);
    argv.insert(argv.end(), spec_.words.begin(), spec_.words.end());
    const std::string text = faults_text();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::setpgid(0, leader_);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      set_variables(rank, port, text);
      exec(argv, spec_.folder / fmt::format("out.{}", rank));
    }
    if (leader_ == 0) leader_ = pid;
    ::setpgid(pid, leader_);
    children_.emplace(pid, rank);
    end_.codes.push_back(-1);
  }

  [[nodiscard]] std::string faults_text() const {
    std::string text;
    for (const FileFault& fault : spec_.faults) text += file_fault_text(fault) + ";";
    return text;
  }

  void set_variables(int rank, int port, const std::string& faults) const {
    const auto set = [](const char* name, const std::string& value) {
      ::setenv(name, value.c_str(), 1);
    };
    set("LD_PRELOAD", programs_.preload);
    set("DS_SAVE_FAULTS", faults);
    set("DS_SAVE_FAULTS_DIR", spec_.saves);
    set("DS_SAVE_FAULTS_LOG", spec_.folder / "notes");
    set("DS_SAVE_FAULTS_ROOT", spec_.launched ? std::to_string(::getpid()) : "0");
    set("DS_CAMPAIGN", cookie_);
    set("DSLAUNCH_CUDA_PLUGIN", "none");
    if (spec_.launched) return;
    set("RANK", std::to_string(rank));
    set("LOCAL_RANK", std::to_string(rank));
    set("WORLD_SIZE", std::to_string(spec_.world));
    set("LOCAL_WORLD_SIZE", std::to_string(spec_.world));
    set("MASTER_ADDR", "127.0.0.1");
    set("MASTER_PORT", std::to_string(port));
  }

  [[noreturn]] static void exec(const std::vector<std::string>& argv, const std::string& output) {
    const int in = ::open("/dev/null", O_RDONLY);
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    std::vector<char*> raw;
    for (const std::string& word : argv) raw.push_back(const_cast<char*>(word.c_str()));
    raw.push_back(nullptr);
    ::execv(raw[0], raw.data());
    ::_exit(127);
  }

  /// Watches until no process of the trial is left. Orphans of the trial become children of this
  /// process.
  void watch() {
    const auto limit = Clock::now() + kLimit;
    Clock::time_point due{};
    while (reap()) {
      if (Clock::now() > limit) {
        end_.hung = true;
        for (const Process& each : processes_with(cookie_)) ::kill(each.pid, SIGKILL);
      }
      if (alone_since_ != Clock::time_point() && Clock::now() > alone_since_ + kLongEnough)
        ::kill(-leader_, SIGKILL);
      if (due == Clock::time_point() && is_moment()) due = Clock::now() + spec_.kill.later;
      if (due != Clock::time_point() && Clock::now() >= due && !end_.killed) kill();
      std::this_thread::sleep_for(end_.killed ? 2ms : 500us);
    }
  }

  /// Reaps ended processes. Returns whether any is left.
  bool reap() {
    while (true) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid <= 0) return pid == 0;
      const auto child = children_.find(pid);
      if (child == children_.end()) continue;
      end_.codes[static_cast<std::size_t>(child->second)] =
          WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
      const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
      if (!spec_.launched && was_killed && !has_met()) alone_since_ = Clock::now();
    }
  }

  /// Returns whether rank 0 has printed what ranks print only after they connected.
  bool has_met() {
    return std::ranges::any_of(output_.lines(), [](const std::string& line) {
      return line.starts_with("saves ") || line.starts_with("step ");
    });
  }

  bool is_moment() {
    if (spec_.kill.when == Kill::When::never) return false;
    const bool at_step = spec_.kill.when == Kill::When::at_step;
    const auto& lines = at_step ? output_.lines() : notes_.lines();
    const auto count = std::ranges::count_if(lines, [&](const std::string& line) {
      return !at_step || without_prefix(line).starts_with("step ");
    });
    return count >= spec_.kill.count;
  }

  void kill() {
    end_.killed = true;
    if (spec_.kill.whom == Kill::Whom::launcher) {
      ::kill(leader_, SIGKILL);
    } else if (spec_.kill.whom == Kill::Whom::all && !spec_.launched) {
      ::kill(-leader_, SIGKILL);
    } else {
      for (const std::string& line : notes_.lines()) {
        const FileNote note = parse_note(line);
        const bool meant = spec_.kill.whom == Kill::Whom::all || note.rank == spec_.kill.rank;
        if (note.call == "pid" && meant) ::kill(std::atoi(note.file.c_str()), SIGKILL);
      }
    }
  }

  void read_all() {
    for (const std::string& line : notes_.lines()) end_.notes.push_back(parse_note(line));
    for (const std::string& line : output_.lines()) end_.lines.push_back(without_prefix(line));
    for (int rank = 1; rank < spec_.world && !spec_.launched; ++rank) {
      GrowingFile file(spec_.folder / fmt::format("out.{}", rank));
      const auto& lines = file.lines();
      end_.lines.insert(end_.lines.end(), lines.begin(), lines.end());
    }
  }

  const Programs& programs_;
  const TrialSpec& spec_;
  std::string cookie_;
  GrowingFile output_, notes_;
  std::map<pid_t, int> children_;
  Clock::time_point alone_since_{};  // since when a rank waits for a killed one
  pid_t leader_ = 0;  // leader of their process group: the first rank, or the launcher
  TrialEnd end_;
};

}  // namespace

bool TrialEnd::ended_well() const {
  return !hung && std::ranges::all_of(codes, [](int code) { return code == 0; });
}

TrialEnd run_trial(const Programs& programs, const TrialSpec& spec) {
  return Trial(programs, spec).run();
}

}  // namespace ds::test
