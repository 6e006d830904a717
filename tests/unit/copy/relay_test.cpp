// Tests the senders of a node's children, and the link to its parent.
#include "launcher/copy/relay.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <vector>

#include "engine/base/error.h"
#include "support/temp_folder.h"

using namespace ds::launcher;
using namespace ds::launcher::copy;
using namespace std::chrono_literals;

namespace {

/// A file of 5 bytes that gets its final name right after the first look at it.
class CommittedFile : public RelayFiles {
 public:
  explicit CommittedFile(std::string path) : path_(std::move(path)) {}
  std::optional<CopyTarget::Progress> wait(std::uint32_t /*id*/, std::uint64_t /*from*/,
                                           std::chrono::milliseconds /*limit*/) override {
    using Stage = CopyTarget::Progress::Stage;
    const Stage stage = std::exchange(looked_, true) ? Stage::done : Stage::receiving;
    return CopyTarget::Progress{.stage = stage, .bytes = 5, .path = path_, .digest = {1, 2}};
  }
  ds::UniqueFd open(const std::string& path, bool part) override {
    return part ? ds::UniqueFd() : ds::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  Digest digest(const CopyTarget::Progress& /*file*/) override { return {}; }

 private:
  std::string path_;
  bool looked_ = false;
};

/// What a child hears from its parent.
struct Child {
  std::mutex lock;
  std::condition_variable changed;
  std::string text;
  bool ended = false;
  std::optional<std::string> lost;

  void hear(const CopyMessage& message) {
    const std::lock_guard guard(lock);
    if (const auto* data = std::get_if<CopyData>(&message))
      text.append(reinterpret_cast<const char*>(data->bytes.data()), data->bytes.size());
    ended = ended || std::holds_alternative<CopyEnd>(message);
    changed.notify_all();
  }
  void lose(const std::string& why) {
    const std::lock_guard guard(lock);
    lost = why;
    changed.notify_all();
  }
  [[nodiscard]] bool wait_for(const std::function<bool()>& reached) {
    std::unique_lock guard(lock);
    return changed.wait_for(guard, 30s, reached);
  }
};

}  // namespace

TEST_CASE("a file that gets its name while a child waits for it is passed on") {
  const ds::test::TempFolder folder;
  std::ofstream(folder / "a") << "hello";
  static CommittedFile files(folder / "a");  // threads of the relay run until the process ends
  const JoinKey key = JoinKey::random();
  const std::uint16_t port = serve_children("127.0.0.1", key, files);
  REQUIRE(port != 0);
  static Child child;
  ParentLink link("127.0.0.1", port, key,
                  {.on_message = [](const CopyMessage& message) { child.hear(message); },
                   .on_idle = [] {},
                   .on_lost = [](const std::string& why) { child.lose(why); }});
  link.send(CopyFetch{0, 0});
  REQUIRE(child.wait_for([] { return child.ended || child.lost; }));
  CHECK(child.ended);
  CHECK(child.text == "hello");
  link.send(CopyListed{});  // not a request, so the parent closes the connection
  CHECK(child.wait_for([] { return child.lost.has_value(); }));
}

TEST_CASE("an error on a thread of the relay ends the process, without an abort") {
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::close(STDERR_FILENO);
    ::alarm(30);
    // Nobody listens at this port; the report of that fails, as after the death of the root.
    const ParentLink link("127.0.0.1", 1, JoinKey::random(),
                          {.on_message = [](const CopyMessage&) {},
                           .on_idle = [] {},
                           .on_lost =
                               [](const std::string&) {
                                 throw ds::Error(ds::ErrorKind::system, "the root does not read");
                               }});
    while (true) ::pause();
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
}
