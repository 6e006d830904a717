// Runs a fuzz target without libFuzzer: the whole corpus first, then mutated inputs. NAME
// CORPUS_DIR ITERATIONS [SEED]
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>

#include "support/mutate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

// The input under test, for the handler below.
const std::string* g_input = nullptr;

/// Keeps the input that crashed, as libFuzzer does.
void save_crash(int signal) {
  std::signal(signal, SIG_DFL);
  const int fd = ::open("crash.input", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd >= 0 && g_input != nullptr && ::write(fd, g_input->data(), g_input->size()) >= 0) {
    constexpr std::string_view kNote = "the input is in ./crash.input\n";
    static_cast<void>(!::write(STDERR_FILENO, kNote.data(), kNote.size()));
  }
  std::raise(signal);
}

std::vector<std::string> read_corpus(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // The order decides what a seed means.
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    corpus.push_back(text.str());
  }
  return corpus;
}

void run_one(const std::string& input) {
  g_input = &input;
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: " << argv[0] << " CORPUS_DIR ITERATIONS [SEED]\n";
    return 64;
  }
  const std::vector<std::string> corpus = read_corpus(argv[1]);
  if (corpus.empty()) {
    std::cerr << "no corpus in " << argv[1] << "\n";
    return 65;
  }
  const long iterations = std::strtol(argv[2], nullptr, 10);
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGILL}) std::signal(signal, save_crash);
  for (const std::string& input : corpus) run_one(input);
  ds::test::Mutator mutator(corpus, seed);
  for (long i = 0; i < iterations; ++i) run_one(mutator.next());
  std::cout << corpus.size() << " corpus entries and " << iterations << " mutations of seed "
            << seed << " passed\n";
  return 0;
}
