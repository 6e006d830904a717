// Poses as dsrunner in tests of the rank channel: prints the files that its agent keeps, hands in
// one of its own, waits for the other ranks, then ends as the script wants.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/rank_channel.h"

namespace {

using namespace std::chrono_literals;

int number(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? -1 : std::atoi(text);
}

ds::KeptFile file_of(const std::string& name, const std::string& text) {
  ds::KeptFile file{name, static_cast<std::int64_t>(text.size()),
                    ds::UniqueFd(::memfd_create("share", MFD_CLOEXEC))};
  DS_ASSERT(::write(file.fd.get(), text.data(), text.size()) == file.bytes);
  return file;
}

std::string text_of(const ds::KeptFile& file) {
  std::string text(static_cast<std::size_t>(file.bytes), '\0');
  DS_ASSERT(::pread(file.fd.get(), text.data(), text.size(), 0) == file.bytes);
  return text;
}

/// Waits until all ranks of the epoch are here.
void meet(const std::string& what, int rank, int epoch, int ranks) {
  const ds::Deadline deadline = ds::Deadline::after(20s);
  std::ofstream(fmt::format("{}.{}.{}", what, epoch, rank)).close();
  for (int other = 0; other < ranks; ++other)
    while (!std::filesystem::exists(fmt::format("{}.{}.{}", what, epoch, other))) {
      DS_ASSERT(!deadline.passed());
      std::this_thread::sleep_for(5ms);
    }
}

/// Ends as the file "end.EPOCH.RANK" says: a code, or "kill"; without it: with 0 in the epoch of
/// the file "last", else never.
[[noreturn]] void end(int rank, int epoch) {
  std::string how;
  std::ifstream(fmt::format("end.{}.{}", epoch, rank)) >> how;
  if (how == "kill") ::raise(SIGKILL);
  if (!how.empty()) ::_exit(std::atoi(how.c_str()));
  int last = -1;
  std::ifstream("last") >> last;
  if (epoch == last) ::_exit(0);
  while (true) ::pause();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]).starts_with("--check")) return 0;
  const int rank = number("RANK"), epoch = number("DSLAUNCH_EPOCH"), ranks = number("WORLD_SIZE");
  const auto channel = ds::RankChannel::from_environment();
  if (!channel) {
    fmt::print("rank {} has no channel\n", rank);
    return 3;
  }
  const auto say = [&](const std::string& text) {
    const std::string line = fmt::format("epoch {} rank {}: {}\n", epoch, rank, text);
    DS_ASSERT(::write(1, line.data(), line.size()) > 0);
  };
  channel->tell_phase("met");
  for (const ds::KeptFile& file : channel->kept(ds::Deadline::after(20s)))
    say(fmt::format("{} is {}", file.name, text_of(file)));
  // A program that this one starts inherits neither the variable nor a socket.
  if (std::system(
          "[ -z \"${DSLAUNCH_RANK_CHANNEL:-}\" ] && ! ls -l /proc/self/fd | grep -q socket") != 0)
    say("the channel leaks");
  meet("asked", rank, epoch, ranks);
  if (number("DROP") == epoch) channel->drop_earlier_epochs();
  channel->keep(
      file_of(fmt::format("own.{}", rank), fmt::format("share {} of epoch {}", rank, epoch)));
  channel->tell_step(10 * (epoch + 1), 100, 0.01, 10 * (epoch + 1) - 1);
  meet("kept", rank, epoch, ranks);
  end(rank, epoch);
}
