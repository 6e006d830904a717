// Starts kubectl. Files in memory take its input and output, so that neither side waits for the
// other.
#include "launcher/kubectl/kubectl.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::seconds kMeanwhile{10};

UniqueFd memory_file(const char* name) {
  UniqueFd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file) throw_errno("cannot make a file in memory", errno);
  return file;
}

void write_all(int fd, const std::string& text, const char* what) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) throw_errno(what, errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
}

void fill(const UniqueFd& file, const std::string& text) {
  write_all(file.get(), text, "cannot write a file in memory");
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

/// A kubectl that runs. The destructor kills one whose end was not waited for.
class Child {
 public:
  /// `streams`: its descriptors 0, 1 and 2.
  Child(std::vector<std::string> words, const std::array<int, 3>& streams) {
    words.insert(words.begin(), "kubectl");
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    for (int stream = 0; stream < 3; ++stream)
      ::posix_spawn_file_actions_adddup2(&actions, streams[static_cast<std::size_t>(stream)],
                                         stream);
    const int error = ::posix_spawnp(&pid_, "kubectl", &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT)
      throw Error(ErrorKind::config, "kubectl is not in PATH",
                  "install it, or apply the output of dslaunch k8s manifest elsewhere");
    if (error != 0) throw_errno("cannot run kubectl", error);
  }
  ~Child() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Waits for its end, and returns its exit code.
  int wait() {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0)
      if (errno != EINTR) throw_errno("cannot wait for kubectl", errno);
    ended_ = true;
    return ExitStatus::from_wait_status(status).shell_code();
  }

 private:
  pid_t pid_ = 0;
  bool ended_ = false;
};

/// Waits until `fd` can be read, until `until` at most. Returns what is there: nothing yet, or an
/// empty text at its end.
std::optional<std::string> read_until(int fd, Clock::time_point until) {
  pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&waiting, 1, static_cast<int>(Deadline(until).remaining().count()));
  if (ready < 0 && errno != EINTR) throw_errno("cannot wait for the output of kubectl", errno);
  if (ready <= 0) return std::nullopt;
  std::array<char, 65536> buffer{};
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  if (size >= 0) return std::string(buffer.data(), static_cast<std::size_t>(size));
  if (errno != EINTR) throw_errno("cannot read the output of kubectl", errno);
  return std::nullopt;
}

}  // namespace

KubectlResult kubectl(std::vector<std::string> words, const std::string& input) {
  const UniqueFd in = memory_file("input");
  const UniqueFd out = memory_file("output");
  const UniqueFd err = memory_file("error");
  fill(in, input);
  words.emplace_back("--request-timeout=60s");
  KubectlResult result;
  result.code = Child(std::move(words), {in.get(), out.get(), err.get()}).wait();
  result.out = text_of(out);
  result.err = text_of(err);
  return result;
}

int kubectl_shown(std::vector<std::string> words) {
  const UniqueFd none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return Child(std::move(words), {none.get(), STDOUT_FILENO, STDERR_FILENO}).wait();
}

std::optional<Clock::time_point> kubectl_relayed(std::vector<std::string> words,
                                                 const std::function<void()>& meanwhile) {
  const UniqueFd none(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw_errno("cannot make a pipe", errno);
  const UniqueFd output(ends[0]);
  UniqueFd input(ends[1]);
  Child child(std::move(words), {none.get(), input.get(), STDERR_FILENO});
  input.reset();
  std::optional<Clock::time_point> last;
  for (auto next = Clock::now() + kMeanwhile;;) {
    const std::optional<std::string> text = read_until(output.get(), next);
    if (text && text->empty()) break;
    if (text) {
      write_all(STDOUT_FILENO, *text, "cannot write the output of the job");
      last = Clock::now();
    }
    if (Clock::now() < next) continue;
    meanwhile();
    next = Clock::now() + kMeanwhile;
  }
  child.wait();
  return last;
}

}  // namespace ds::launcher
