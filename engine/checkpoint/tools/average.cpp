// Averages piece by piece: adds the elements of every folder in order, divides, rounds, writes.
#include "engine/checkpoint/tools/average.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/checkpoint/chunk_writer.h"
#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/checkpoint/tools/tree.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kListed = 8;
constexpr std::int64_t kPieceElements = kPieceBytes / static_cast<std::int64_t>(sizeof(float));

using Opened = std::vector<std::shared_ptr<const Checkpoint>>;

std::string problem_of(const TensorEntry& tensor, const Checkpoint& other) {
  const TensorEntry* const same = other.tensor(tensor.name);
  if (same == nullptr) return fmt::format("{} is not in {}", tensor.name, other.folder());
  if (same->shape != tensor.shape)
    return fmt::format("{} is {}, and in {} it is {}", tensor.name, shape_text(tensor.shape),
                       other.folder(), shape_text(same->shape));
  if (other.state(tensor.name, kMaster) == nullptr)
    return fmt::format("{} has no master weights in {}", tensor.name, other.folder());
  return {};
}

void require_alike(const Opened& opened) {
  std::vector<std::string> problems;
  const Checkpoint& last = *opened.back();
  for (const auto& other : opened) {
    for (const TensorEntry& tensor : last.manifest().tensors)
      problems.push_back(problem_of(tensor, *other));
    for (const TensorEntry& tensor : other->manifest().tensors) {
      if (last.tensor(tensor.name) == nullptr)
        problems.push_back(fmt::format("{} is not in {}", tensor.name, last.folder()));
    }
  }
  std::erase(problems, std::string());
  if (problems.empty()) return;
  std::string text = "these checkpoints belong to different models:";
  for (std::size_t i = 0; i < std::min(problems.size(), kListed); ++i) text += "\n  " + problems[i];
  if (problems.size() > kListed) text += fmt::format("\n  and {} more", problems.size() - kListed);
  throw Error(ErrorKind::config, text,
              "dslaunch inspect A B shows the differences of two checkpoints");
}

void require_empty(const std::string& out) {
  std::error_code error;
  if (!fs::exists(out, error)) return;
  if (fs::is_directory(out, error) && fs::is_empty(out, error) && !error) return;
  throw Error(ErrorKind::config, fmt::format("{}: already exists", out),
              "existing files are never overwritten; specify a new folder");
}

std::string names_of(const Opened& opened) {
  std::string names = "mean of";
  for (const auto& checkpoint : opened) names += " " + checkpoint->folder();
  return names;
}

class Averager {
 public:
  Averager(const Opened& opened, ChunkWriter& writer, const VerifyProgress& progress)
      : writer_(writer), progress_(progress), count_(static_cast<double>(opened.size())) {
    for (const auto& checkpoint : opened) readers_.emplace_back(checkpoint);
    for (const TensorEntry& tensor : opened.back()->manifest().tensors)
      bytes_ += 4 * elements_of(tensor);
  }

  TensorEntry average(const TensorEntry& tensor) {
    const std::vector<std::int64_t> zeros(tensor.shape.size(), 0);
    StateEntry master{.name = std::string(kMaster)};
    const std::int64_t elements = elements_of(tensor);
    for (std::int64_t first = 0; first < elements; first += kPieceElements) {
      const std::int64_t count = std::min(kPieceElements, elements - first);
      const ChunkWriter::Place place = writer_.append(std::as_bytes(mean_of(tensor, first, count)));
      master.pieces.push_back({.box = {.offset = zeros, .extent = tensor.shape},
                               .first = first,
                               .elements = count,
                               .at = place.at,
                               .checksum = place.checksum});
      done_ += 4 * count;
      progress_(done_, bytes_);
    }
    return {.name = tensor.name, .shape = tensor.shape, .states = {std::move(master)}};
  }

 private:
  std::span<const float> mean_of(const TensorEntry& tensor, std::int64_t first,
                                 std::int64_t count) {
    sums_.assign(static_cast<std::size_t>(count), 0.0);
    values_.resize(static_cast<std::size_t>(count));
    for (PieceReader& reader : readers_) {
      reader.read(tensor.name, kMaster, first, values_);
      for (std::size_t i = 0; i < values_.size(); ++i) sums_[i] += static_cast<double>(values_[i]);
    }
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = static_cast<float>(sums_[i] / count_);
    return values_;
  }

  std::vector<PieceReader> readers_;
  ChunkWriter& writer_;
  const VerifyProgress& progress_;
  const double count_;
  std::int64_t bytes_ = 0, done_ = 0;
  std::vector<double> sums_;
  std::vector<float> values_;
};

/// Returns the last folder's manifest with master states only and no pieces.
Manifest head_of(const Opened& opened) {
  Manifest head = opened.back()->manifest();
  head.world_size = 1;
  head.saved_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count();
  head.origin = {.path = names_of(opened), .load = "weights"};
  head.chunks.clear();
  for (TensorEntry& tensor : head.tensors) tensor.states = {{.name = std::string(kMaster)}};
  return head;
}

ChunkPart write_chunk(const Opened& opened, const Manifest& head, const std::string& path,
                      const VerifyProgress& progress) {
  ChunkWriter writer({.path = path});
  Averager averager(opened, writer, progress);
  ChunkPart part{.chunk = {.name = fs::path(path).filename()}};
  for (const TensorEntry& tensor : head.tensors) part.tensors.push_back(averager.average(tensor));
  part.chunk.bytes = writer.finish();
  return part;
}

}  // namespace

AverageResult average_checkpoints(const std::vector<std::string>& folders, const std::string& out,
                                  const VerifyProgress& progress) {
  DS_ASSERT(folders.size() >= 2);
  require_empty(out);
  Opened opened;
  for (const std::string& folder : folders) opened.push_back(Checkpoint::open(folder));
  require_alike(opened);
  const Manifest head = head_of(opened);
  const SaveFolder target(out, static_cast<std::uint64_t>(::getpid()));
  const std::string folder = target.begin(head.state.step);
  try {
    const ChunkPart part = write_chunk(opened, head, folder + "/rank-00000.chunk", progress);
    target.publish(head.state.step, part);
    target.commit(head);
    return {.folder = out + "/" + step_name(head.state.step), .bytes = part.chunk.bytes};
  } catch (...) {
    target.abandon(head.state.step);
    throw;
  }
}

}  // namespace ds
