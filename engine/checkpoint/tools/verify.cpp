// Verifies pieces in the order of the files; threads take one piece at a time.
#include "engine/checkpoint/tools/verify.h"

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <span>
#include <system_error>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "engine/checkpoint/manifest_text.h"

namespace ds {
namespace {

constexpr std::int64_t kLargestManifest = std::int64_t{1} << 30;

std::string why(int error_number) { return std::generic_category().message(error_number); }

struct Work {
  const TensorEntry* tensor;
  const StateEntry* state;
  const Piece* piece;
  std::size_t number;  // in the manifest's order
};

std::int64_t bytes_of(const Work& work) {
  return work.piece->elements * size_of(work.state->dtype);
}

std::vector<Work> work_of(const Manifest& manifest) {
  std::vector<Work> all;
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const StateEntry& state : tensor.states) {
      for (const Piece& piece : state.pieces) all.push_back({&tensor, &state, &piece, all.size()});
    }
  }
  std::ranges::sort(all, {}, [](const Work& w) { return std::pair(w.piece->chunk, w.piece->at); });
  return all;
}

/// Reads all bytes. Returns the error, or an empty text.
std::string read_all(int fd, std::span<std::byte> into, std::int64_t at) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return "cannot be read: " + why(errno);
    if (got == 0) return "the file is shorter";
    into = into.subspan(static_cast<std::size_t>(got));
    at += got;
  }
  return {};
}

class Verifier {
 public:
  Verifier(const std::string& folder, const Manifest& manifest)
      : folder_(folder), manifest_(manifest), work_(work_of(manifest)) {
    for (const Work& work : work_) bytes_ += bytes_of(work);
  }

  Verification run(int threads, const VerifyProgress& progress) {
    std::vector<std::jthread> workers;
    running_ = std::max(1, threads);
    for (int i = std::max(1, threads); i > 0; --i) workers.emplace_back([this] { take_pieces(); });
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, std::chrono::milliseconds(100), [this] { return running_ == 0; }))
      progress(done_.load(), bytes_);
    Verification result{.broken = {}, .bytes = bytes_};
    for (auto& [number, broken] : broken_) result.broken.push_back(std::move(broken));
    return result;
  }

 private:
  /// State of a thread: the last chunk it opened and a buffer for a piece.
  struct Worker {
    int chunk = -1;
    UniqueFd file{};
    std::string problem{};  // error of opening the chunk
    std::vector<std::byte> buffer{};
  };

  void take_pieces() {
    Worker worker;
    for (std::size_t i = next_++; i < work_.size(); i = next_++) {
      const Work& work = work_[i];
      std::string problem = look(work, worker);
      if (!problem.empty()) add(work, std::move(problem));
      done_ += bytes_of(work);
    }
    const std::scoped_lock lock(mutex_);
    if (--running_ == 0) ended_.notify_one();
  }

  std::string look(const Work& work, Worker& worker) const {
    if (worker.chunk != work.piece->chunk) open_chunk(work.piece->chunk, worker);
    if (!worker.problem.empty()) return worker.problem;
    worker.buffer.resize(static_cast<std::size_t>(bytes_of(work)));
    std::string problem = read_all(worker.file.get(), worker.buffer, work.piece->at);
    if (problem.empty() &&
        XXH3_64bits(worker.buffer.data(), worker.buffer.size()) != work.piece->checksum)
      problem = "checksum mismatch";
    return problem;
  }

  void open_chunk(int chunk, Worker& worker) const {
    const std::string& name = manifest_.chunks[static_cast<std::size_t>(chunk)].name;
    worker.chunk = chunk;
    worker.file.reset(::open((folder_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    worker.problem = worker.file ? "" : "cannot be opened: " + why(errno);
  }

  void add(const Work& work, std::string problem) {
    const Piece& piece = *work.piece;
    const std::scoped_lock lock(mutex_);
    broken_[work.number] = {.tensor = work.tensor->name,
                            .state = work.state->name,
                            .first = piece.first,
                            .last = piece.first + piece.elements,
                            .chunk = manifest_.chunks[static_cast<std::size_t>(piece.chunk)].name,
                            .from = piece.at,
                            .to = piece.at + bytes_of(work),
                            .reason = std::move(problem)};
  }

  const std::string& folder_;
  const Manifest& manifest_;
  std::vector<Work> work_;
  std::int64_t bytes_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::int64_t> done_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  int running_ = 0;
  std::map<std::size_t, BrokenRange> broken_;
};

}  // namespace

Manifest read_manifest(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::int64_t bytes = file ? ::lseek(file.get(), 0, SEEK_END) : -1;
  const auto refuse = [&](const std::string& what) {
    return Error(ErrorKind::config, fmt::format("{}: {}", path, what),
                 "nothing in the checkpoint can be trusted without it; use another one");
  };
  if (bytes < 0) throw refuse("cannot be read: " + why(errno));
  if (bytes > kLargestManifest) throw refuse("too large for a manifest");
  std::string text(static_cast<std::size_t>(bytes), '\0');
  const std::string problem = read_all(file.get(), std::as_writable_bytes(std::span(text)), 0);
  if (!problem.empty()) throw refuse(problem);
  try {
    return parse_manifest(text);
  } catch (const Error& error) {
    throw error.with_context(path);
  }
}

Verification verify_pieces(const std::string& folder, const Manifest& manifest, int threads,
                           const VerifyProgress& progress) {
  Verification result = Verifier(folder, manifest).run(threads, progress);
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const StateEntry& state : tensor.states) {
      std::string gap = uncovered(tensor, state);
      if (gap.empty()) continue;
      result.broken.push_back({.tensor = tensor.name, .state = state.name, .reason = gap});
    }
  }
  return result;
}

std::vector<std::string> what_still_loads(const Manifest& manifest,
                                          const std::vector<BrokenRange>& broken) {
  std::map<std::string, std::pair<int, int>> states;  // whole tensors, all tensors
  const auto is_broken = [&](const std::string& tensor, const std::string& state) {
    return std::ranges::any_of(
        broken, [&](const BrokenRange& b) { return b.tensor == tensor && b.state == state; });
  };
  for (const TensorEntry& tensor : manifest.tensors) {
    for (const StateEntry& state : tensor.states) {
      auto& [whole, all] = states[state.name];
      ++all;
      if (!is_broken(tensor.name, state.name)) ++whole;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [name, count] : states)
    lines.push_back(fmt::format("{}: {} of {} tensors", name, count.first, count.second));
  const auto master = states.find(std::string(kMaster));
  const bool has_weights =
      master != states.end() && master->second.first == master->second.second && !broken.empty();
  if (has_weights)
    lines.emplace_back(
        "the weights are intact: checkpoint.load=weights and dslaunch export can use them");
  return lines;
}

}  // namespace ds
