// stubborn_rank WAYS READY_FOLDER: a rank that tries to outlive its job. Each letter of WAYS is one
// way: t ignore TERM, f fork, d fork twice, s setsid, b both, h hop (fork and exit for ever).
// Everything ends by itself after a minute, so that a failed trial leaves nothing for long.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void linger() {
  ::alarm(60);
  while (true) ::pause();
}

[[noreturn]] void hop() {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (::fork() > 0) ::_exit(0);
  }
  ::_exit(0);
}

void leave_behind(char way) {
  if (way == 't') {
    ::signal(SIGTERM, SIG_IGN);
    return;
  }
  if (::fork() != 0) return;
  if (way == 's' || way == 'b') ::setsid();
  if ((way == 'd' || way == 'b') && ::fork() != 0) ::_exit(0);
  if (way == 'h') hop();
  linger();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  for (const char way : std::string(argv[1])) leave_behind(way);
  const char* rank = std::getenv("RANK");
  const std::string ready = std::string(argv[2]) + "/" + (rank != nullptr ? rank : "none");
  ::close(::open(ready.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  linger();
}
