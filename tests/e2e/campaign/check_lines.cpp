// Checks the lines of counting ranks: check_lines FOLDER OUT ERR RANKS SURVIVORS. SURVIVORS is a
// comma list ("-": none). The numbers of every rank must rise by one from 0, and no line may be
// torn or mixed, except a killed rank's last one. A survivor must have as many lines as it counted.
// Prints the number of lines and exits with 0, or prints the error.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Stream {
  std::uint64_t next = 0;
  bool torn = false;  // a line that is not whole has come
};
using Rank = std::array<Stream, 2>;

[[noreturn]] void wrong(const std::string& what) {
  fmt::print("{}\n", what);
  std::exit(1);
}

/// The number of a whole line `L N fill N .`; -1 if it is none.
std::int64_t number_of(const std::string& text) {
  std::istringstream words(text);
  std::string mark;
  std::string fill;
  std::uint64_t first = 0;
  if (!(words >> mark >> first) || mark != "L") return -1;
  const std::string tail = fmt::format(" {} .", first);
  const std::string head = fmt::format("L {} ", first);
  if (text.size() < head.size() + tail.size() || !text.starts_with(head) || !text.ends_with(tail))
    return -1;
  const std::string middle = text.substr(head.size(), text.size() - head.size() - tail.size());
  const char letter = static_cast<char>('a' + first % 26);
  return middle.find_first_not_of(letter) == std::string::npos ? static_cast<std::int64_t>(first)
                                                               : -1;
}

void take_line(const std::string& line, std::size_t stream, std::vector<Rank>& ranks) {
  if (stream == 1 && (line.starts_with("dslaunch: ") || line.starts_with("  | "))) return;
  const std::size_t close = line.find("] ");
  if (!line.starts_with('[') || close == std::string::npos)
    wrong("a line of nobody: " + line.substr(0, 100));
  const auto rank = static_cast<std::size_t>(std::atol(line.c_str() + 1));
  if (rank >= ranks.size()) wrong("a line of no rank: " + line.substr(0, 100));
  Stream& seen = ranks[rank][stream];
  const std::int64_t number = number_of(line.substr(close + 2));
  if (seen.torn) wrong(fmt::format("rank {}: lines after a torn one", rank));
  if (number < 0) {
    seen.torn = true;
  } else if (number != static_cast<std::int64_t>(seen.next)) {
    wrong(fmt::format("rank {} stream {}: line {} where {} was due", rank, stream + 1, number,
                      seen.next));
  } else {
    ++seen.next;
  }
}

std::array<std::uint64_t, 2> counted(const std::string& folder, std::size_t rank) {
  std::array<std::uint64_t, 2> counters{};
  std::ifstream file(fmt::format("{}/count.{}", folder, rank), std::ios::binary);
  file.read(reinterpret_cast<char*>(counters.data()), sizeof counters);
  return counters;
}

std::set<std::size_t> numbers(const std::string& list) {
  std::set<std::size_t> out;
  std::istringstream words(list == "-" ? "" : list);
  for (std::string word; std::getline(words, word, ',');) out.insert(std::stoul(word));
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 64;
  std::vector<Rank> ranks(std::stoul(argv[4]));
  for (const std::size_t stream : {0U, 1U}) {
    std::ifstream file(argv[2 + stream], std::ios::binary);
    for (std::string line; std::getline(file, line);) take_line(line, stream, ranks);
  }
  const std::set<std::size_t> survivors = numbers(argv[5]);
  std::uint64_t lines = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto count = counted(argv[1], rank);
    for (const std::size_t stream : {0U, 1U}) {
      const Stream& seen = ranks[rank][stream];
      lines += seen.next;
      if (!survivors.contains(rank)) continue;
      if (seen.next < count[stream])
        wrong(fmt::format("rank {} stream {}: {} lines of {}", rank, stream + 1, seen.next,
                          count[stream]));
      const bool done = std::ifstream(fmt::format("{}/done.{}", argv[1], rank)).good();
      if (done && (seen.torn || seen.next != count[stream]))
        wrong(fmt::format("rank {} stream {}: it ended well after {} lines, here are {}{}", rank,
                          stream + 1, count[stream], seen.next,
                          seen.torn ? " and a torn one" : ""));
    }
  }
  fmt::print("{}\n", lines);
  return 0;
}
