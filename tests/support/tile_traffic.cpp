// Writes and reads files of engine/storage tile by tile, as a rank would. For the benchmark against
// fio and for tests of disk faults.
//
//   tile_traffic KEY=VALUE ...   folders=A,B mib=256 tile=32 (MiB) block=1024 (KiB) depth=32
//                                engine=auto register=1 checksum=1 passes=1 patience=30000 (ms)
//                                wait=1: a line of standard input is awaited before reading
// Prints the step of the ladder, then rates in MB/s. Exit: 0, or as dsrunner's for the same error.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <thread>

#include "engine/base/contract.h"
#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "engine/storage/tile_files.h"

using namespace ds;

namespace {

constexpr std::int64_t kMiB = 1 << 20;

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string text = argv[i];
      values_[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
  }
  [[nodiscard]] std::string text(const std::string& key, const char* otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : found->second;
  }
  [[nodiscard]] std::int64_t number(const std::string& key, std::int64_t otherwise) const {
    const auto found = values_.find(key);
    return found == values_.end() ? otherwise : std::stoll(found->second);
  }

 private:
  std::map<std::string, std::string> values_;
};

/// Whole pages of memory; never freed, the program ends with it.
std::span<std::byte> pages(std::int64_t bytes) {
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw_errno("memory", errno);
  return {static_cast<std::byte*>(memory), static_cast<std::size_t>(bytes)};
}

void fill(std::span<std::byte> tile, std::int64_t seed) {
  for (std::size_t at = 0; at < tile.size(); at += sizeof(seed)) {
    const std::int64_t word = seed * 1'000'003 + static_cast<std::int64_t>(at);
    std::memcpy(tile.data() + at, &word, sizeof(word));
  }
}

class Traffic {
 public:
  explicit Traffic(const Options& options)
      : bytes_(options.number("mib", 256) * kMiB),
        tile_(options.number("tile", 32) * kMiB),
        passes_(options.number("passes", 1)),
        waits_(options.number("wait", 0) != 0) {
    TileFilesSpec spec;
    std::istringstream folders(options.text("folders", "/tmp"));
    for (std::string folder; std::getline(folders, folder, ',');) spec.folders.push_back(folder);
    spec.bytes = bytes_;
    const std::string engine = options.text("engine", "auto");
    spec.engine = engine == "uring"     ? TileEngine::uring
                  : engine == "threads" ? TileEngine::threads
                                        : TileEngine::automatic;
    spec.block = options.number("block", 1024) * 1024;
    spec.depth = static_cast<int>(options.number("depth", 32));
    spec.checksum = options.number("checksum", 1) != 0;
    spec.patience = std::chrono::milliseconds(options.number("patience", 30'000));
    spec.label = "optimizer state";
    files_ = TileFiles::open(spec);
    source_ = pages(tile_);
    other_ = pages(tile_);
    fill(source_, 1);
    fill(other_, 2);  // touched before anything is measured
    if (options.number("register", 1) != 0) {
      files_->register_memory(source_);
      files_->register_memory(other_);
    }
    fmt::print("{}\n", files_->description());
    std::fflush(stdout);
  }

  void run() {
    write(0, bytes_);  // space that was never written is slower
    for (std::int64_t pass = 0; pass < passes_; ++pass) {
      say("write", bytes_, [&] { write(0, bytes_); });
      if (waits_) wait_for_line();
      say("read", bytes_, [&] { read(0, bytes_); });
      const std::int64_t half = bytes_ / tile_ / 2 * tile_;
      say("both ways, each", half, [&] {
        std::thread writer([&] { write(half, half); });
        read(0, half);
        writer.join();
      });
    }
  }

 private:
  template <typename Body>
  static void say(const char* what, std::int64_t bytes, Body body) {
    const Clock::time_point start = Clock::now();
    body();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    fmt::print("{} {:.1f}\n", what, static_cast<double>(bytes) / seconds / 1e6);
    std::fflush(stdout);
  }

  static void wait_for_line() {
    fmt::print("waiting\n");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);
  }

  void write(std::int64_t offset, std::int64_t size) {
    for (std::int64_t at = 0; at < size; at += tile_) files_->write(offset + at, source_);
  }

  void read(std::int64_t offset, std::int64_t size) {
    for (std::int64_t at = 0; at < size; at += tile_) files_->read(offset + at, other_);
    if (std::memcmp(other_.data(), source_.data(), source_.size()) != 0) {
      throw Error(ErrorKind::bug, "the last tile is not what was written");
    }
  }

  std::int64_t bytes_, tile_, passes_;
  bool waits_;
  std::unique_ptr<TileFiles> files_;
  std::span<std::byte> source_, other_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    Traffic(Options(argc, argv)).run();
    return 0;
  } catch (const Error& error) {
    fmt::print(stderr, "tile_traffic: {}\n", error.for_people());
    return contract::exit_code(error.kind());
  }
}
