// Rank that numbers every line it writes and records its count outside its output:
// counting_rank FOLDER MILLISECONDS LINES_PER_SECOND. Exits with 0 after that time. FOLDER/up.RANK
// has the pid while it runs, FOLDER/done.RANK exists after a normal end, FOLDER/count.RANK holds
// two 64-bit numbers: lines completely written to standard output and to standard error.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using Counters = std::array<std::atomic<std::uint64_t>, 2>;

Counters& map_counters(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Counters)) != 0) std::abort();
  void* const memory =
      ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  ::close(file);
  return *static_cast<Counters*>(memory);
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t wrote = ::write(fd, text.data() + at, text.size() - at);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) at += static_cast<std::size_t>(wrote);
  }
  return true;
}

/// Both ends carry the number, so that a torn or mixed line is none.
std::string line(std::uint64_t number, std::mt19937_64& random) {
  const std::size_t fill = random() % 64 == 0 ? random() % 6000 : random() % 200;
  return fmt::format("L {} {} {} .\n", number,
                     std::string(fill, static_cast<char>('a' + number % 26)), number);
}

/// FOLDER/WORD.RANK, there as a whole at once.
void announce(const std::string& folder, const std::string& word, const std::string& rank) {
  const std::string hidden = folder + "/new." + rank;
  std::FILE* const file = std::fopen(hidden.c_str(), "w");
  if (file == nullptr) std::abort();
  fmt::print(file, "{}\n", ::getpid());
  std::fclose(file);
  std::rename(hidden.c_str(), (folder + "/" + word + "." + rank).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const char* const rank = std::getenv("RANK");
  if (argc != 4 || rank == nullptr) return 64;
  const std::string folder = argv[1];
  const auto end = Clock::now() + std::chrono::milliseconds(std::atol(argv[2]));
  const auto lines_per_10_ms = static_cast<std::uint64_t>(std::atol(argv[3]) / 100 + 1);
  Counters& counters = map_counters(folder + "/count." + rank);
  std::mt19937_64 random(static_cast<std::uint64_t>(std::atol(rank)));
  std::array<std::uint64_t, 2> written{};
  while (Clock::now() < end) {
    const std::size_t stream = random() % 8 == 0 ? 1 : 0;
    std::string text;
    for (std::uint64_t i = 0; i < lines_per_10_ms; ++i) text += line(written[stream]++, random);
    if (!write_all(stream == 0 ? STDOUT_FILENO : STDERR_FILENO, text)) return 1;
    counters[stream].store(written[stream]);
    if (written[0] + written[1] == lines_per_10_ms) announce(folder, "up", rank);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  announce(folder, "done", rank);
  return 0;
}
