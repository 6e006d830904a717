// Background job: forks, waits for the ranks over a pipe, and starts a new session.
#include "launcher/commands/start/detach.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"
#include "launcher/job/job_facts.h"

namespace ds::launcher {
namespace {

namespace fs = std::filesystem;

/// Returns `form` with every %j replaced by `job_id`, and %% by %.
std::string log_file_name(std::string_view form, std::string_view job_id) {
  std::string name;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const std::string_view pair = form.substr(i, 2);
    name += pair == "%j" ? job_id : pair.substr(0, 1);
    if (pair == "%j" || pair == "%%") ++i;
  }
  return name;
}

UniqueFd open_log(const std::string& file) {
  UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666));
  if (!fd)
    throw Error(ErrorKind::config,
                fmt::format("cannot write {}: {}", file, std::generic_category().message(errno)),
                "choose another output file with --detach=FILE");
  return fd;
}

void show(int terminal, std::string_view line) {
  const std::string text = std::string(line) + "\n";
  (void)!::write(terminal, text.data(), text.size());
}

/// Runs the job in the child and returns its exit code.
int run_child(Background background, UniqueFd running,
              const std::function<int(const Background*)>& run) {
  UniqueFd terminal(::fcntl(2, F_DUPFD_CLOEXEC, 3));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(null.get(), 0);
  ::dup2(background.log_fd, 1);
  ::dup2(background.log_fd, 2);
  background.on_say = [&](std::string_view line) {
    if (terminal) show(terminal.get(), line);
  };
  background.on_running = [&] {
    ::setsid();
    // If the parent was killed, nobody can learn the job's id: stop the job.
    if (::write(running.get(), "r", 1) != 1) ::kill(::getpid(), SIGTERM);
    running.reset();
    terminal.reset();
  };
  try {
    return run(&background);
  } catch (const std::exception& caught) {
    const Error error = as_error(caught);
    const std::string text = "dslaunch: " + error.for_people();
    show(background.log_fd, text);
    background.on_say(text);
    return contract::exit_code(error.kind());
  }
}

/// Waits in the parent until the job runs. Returns false if the job ended before.
bool wait_until_running(int running) {
  char letter = 0;
  ssize_t got = 0;
  while ((got = ::read(running, &letter, 1)) < 0 && errno == EINTR) {
  }
  return got == 1;
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return contract::kExitBug;
  return ExitStatus::from_wait_status(status).shell_code();
}

}  // namespace

int run_at_terminal(const Options& options, const std::function<int(const Background*)>& run) {
  if (!options.control.detach) return run(nullptr);
  const std::uint64_t job_id = random_job_id();
  const std::string id = job_id_text(job_id);
  const std::string log_file = fs::absolute(log_file_name(*options.control.detach, id));
  const UniqueFd log = open_log(log_file);
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  const UniqueFd running_read(ends[0]);
  UniqueFd running_write(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) throw_errno("cannot start a process for the job", errno, "check `ulimit -u`");
  if (child == 0) {
    const int code = run_child({job_id, log_file, log.get()}, std::move(running_write), run);
    std::fflush(nullptr);
    ::_exit(code);
  }
  running_write.reset();
  // The child gets Ctrl-C itself and stops the job; this process only reports how it ended.
  std::signal(SIGINT, SIG_IGN);
  if (!wait_until_running(running_read.get())) return exit_code_of(child);
  fmt::print("{}\n", id);
  std::fflush(stdout);
  fmt::print(stderr,
             "dslaunch: job {0} runs in the background; its output goes to {1}\n"
             "dslaunch: to follow it: dslaunch attach {0}; to stop it: dslaunch kill {0}\n",
             id.substr(0, 8), log_file);
  return 0;
}

}  // namespace ds::launcher
