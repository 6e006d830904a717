// Prints how long encoding a file takes with one thread: tokenizer_bench TOKENIZER FILE [ROUNDS].
// tokenizer_bench.py compares.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "engine/tokenizer/tokenizer.h"

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  std::ifstream file(argv[2], std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line + '\n');
  const int rounds = argc > 3 ? std::stoi(argv[3]) : 3;
  for (int round = 0; round < rounds; ++round) {
    const ds::Tokenizer tokenizer = ds::Tokenizer::open(argv[1]);  // its cache of words is empty
    std::size_t bytes = 0, tokens = 0;
    const auto begun = std::chrono::steady_clock::now();
    for (const std::string& line : lines) {
      bytes += line.size();
      tokens += tokenizer.encode(line).size();
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun;
    fmt::print("{} {} {:.6f}\n", tokens, bytes, taken.count());
  }
  return 0;
}
