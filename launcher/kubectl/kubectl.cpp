// Starts kubectl. Files in memory take its input and output, so that neither side waits for the
// other.
#include "launcher/kubectl/kubectl.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::seconds kMeanwhile{10};
constexpr std::chrono::milliseconds kLook{50};

UniqueFd memory_file(const char* name) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) throw_errno("cannot make a file in memory", errno);
  return file;
}

void fill(const UniqueFd& file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) throw_errno("cannot write a file in memory", errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
}

std::string text_of(const UniqueFd& file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (ssize_t size = 0; (size = ::pread(file.get(), buffer.data(), buffer.size(),
                                         static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer.data(), static_cast<std::size_t>(size));
  return text;
}

/// Waits for a child, and returns its exit code.
int exit_code_of(pid_t pid, const std::function<void()>& meanwhile) {
  int status = 0;
  for (auto next = Clock::now() + kMeanwhile;;) {
    const pid_t ended = ::waitpid(pid, &status, meanwhile ? WNOHANG : 0);
    if (ended == pid) return ExitStatus::from_wait_status(status).shell_code();
    if (ended < 0 && errno != EINTR) throw_errno("cannot wait for kubectl", errno);
    if (ended == 0) std::this_thread::sleep_for(kLook);
    if (!meanwhile || Clock::now() < next) continue;
    meanwhile();
    next = Clock::now() + kMeanwhile;
  }
}

/// Runs kubectl with these descriptors as 0, 1 and 2, and returns its exit code.
int run(std::vector<std::string> words, const std::array<int, 3>& streams,
        const std::function<void()>& meanwhile = {}) {
  words.insert(words.begin(), "kubectl");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (int stream = 0; stream < 3; ++stream)
    ::posix_spawn_file_actions_adddup2(&actions, streams[static_cast<std::size_t>(stream)], stream);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, "kubectl", &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error == ENOENT)
    throw Error(ErrorKind::config, "kubectl is not in PATH",
                "install it, or apply the output of dslaunch k8s manifest elsewhere");
  if (error != 0) throw_errno("cannot run kubectl", error);
  return exit_code_of(pid, meanwhile);
}

}  // namespace

KubectlResult kubectl(std::vector<std::string> words, const std::string& input) {
  const UniqueFd in = memory_file("input");
  const UniqueFd out = memory_file("output");
  const UniqueFd err = memory_file("error");
  fill(in, input);
  words.emplace_back("--request-timeout=60s");
  KubectlResult result;
  result.code = run(std::move(words), {in.get(), out.get(), err.get()});
  result.out = text_of(out);
  result.err = text_of(err);
  return result;
}

int kubectl_shown(std::vector<std::string> words, const std::function<void()>& meanwhile) {
  const UniqueFd none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return run(std::move(words), {none.get(), STDOUT_FILENO, STDERR_FILENO}, meanwhile);
}

}  // namespace ds::launcher
