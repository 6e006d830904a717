// export_hugging_face(): reads each tensor once, in panels of whole rows, and writes each panel to
// all exported tensors that contain a part of it.
#include "engine/exchange/export.h"

#include <algorithm>
#include <filesystem>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/base/error.h"
#include "engine/exchange/companions.h"
#include "engine/exchange/hf_config_json.h"
#include "engine/exchange/merge_adapters.h"
#include "engine/exchange/model_facts.h"
#include "engine/exchange/out_folder.h"
#include "engine/exchange/shards.h"
#include "engine/tensor/bf16.h"
#include "engine/tensor/f16.h"

namespace ds {
namespace {

constexpr std::int64_t kPanelElements = kPanelBytes / static_cast<std::int64_t>(sizeof(float));
constexpr std::size_t kListed = 8;

/// Rows [first, first + rows) of one of this program's tensors.
struct Panel {
  std::int64_t first = 0, rows = 0;
};

class Exporter {
 public:
  Exporter(const std::shared_ptr<const Checkpoint>& checkpoint, const ModelFacts& facts,
           const std::vector<HfTensor>& tensors, DType dtype,
           const std::function<void(std::int64_t, std::int64_t)>& progress)
      : reader_(checkpoint),
        adapters_(checkpoint, facts),
        tensors_(tensors),
        dtype_(dtype),
        progress_(progress) {
    for (const HfTensor& tensor : tensors) all_ += tensor.elements() * size_of(dtype);
  }

  void write_files(const OutFolder& folder, const std::vector<ShardFile>& shards) {
    places_.resize(tensors_.size());
    for (const ShardFile& shard : shards) {
      files_.push_back(folder.add(shard.name, shard.bytes));
      files_.back().write(std::as_bytes(std::span(shard.header)), 0);
      for (std::size_t i = 0; i < shard.tensors.size(); ++i)
        places_[shard.tensors[i]] = {files_.size() - 1,
                                     std::ssize(shard.header) + shard.entries[i].from};
    }
    for (std::size_t i = 0; i < tensors_.size();) {
      std::size_t end = i + 1;
      while (end < tensors_.size() && tensors_[end].ours == tensors_[i].ours) ++end;
      write_ours(i, end);
      i = end;
    }
    for (OutFile& file : files_) file.finish();
  }

  [[nodiscard]] std::int64_t overflowed() const { return overflowed_; }

 private:
  struct Place {
    std::size_t file = 0;
    std::int64_t at = 0;
  };

  /// Fills values_ with the elements from `first` on, merged with their adapters.
  void read(const HfTensor& tensor, std::int64_t first) {
    reader_.read(tensor.ours, kMaster, first, values_);
    adapters_.add(tensor.ours, tensor.our_columns, first, values_);
  }

  /// Writes exported tensors [begin, end), which are parts of one of ours.
  void write_ours(std::size_t begin, std::size_t end) {
    const HfTensor& some = tensors_[begin];
    // A row longer than a panel belongs to a vector or to a very wide matrix, and is cut where
    // nothing is transposed.
    const std::int64_t width = some.our_columns;
    if (!some.transposed) return write_straight(begin);
    const std::int64_t most = std::max<std::int64_t>(1, kPanelElements / width);
    for (std::int64_t row = 0; row < some.rows; row += most) {
      const Panel panel{.first = row, .rows = std::min(most, some.rows - row)};
      values_.resize(static_cast<std::size_t>(panel.rows * width));
      read(some, panel.first * width);
      for (std::size_t i = begin; i < end; ++i) write_turned(i, panel);
    }
  }

  /// Writes an exported tensor that is the beginning of ours.
  void write_straight(std::size_t index) {
    const HfTensor& tensor = tensors_[index];
    for (std::int64_t first = 0; first < tensor.elements(); first += kPanelElements) {
      const std::int64_t count = std::min(kPanelElements, tensor.elements() - first);
      values_.resize(static_cast<std::size_t>(count));
      read(tensor, first);
      bytes_.resize(static_cast<std::size_t>(count * size_of(dtype_)));
      for (std::size_t i = 0; i < values_.size(); ++i) put(values_[i], i);
      write(index, first, bytes_);
    }
  }

  /// Writes a transposed panel: its columns are runs in the exported rows.
  void write_turned(std::size_t index, const Panel& panel) {
    const HfTensor& tensor = tensors_[index];
    bytes_.resize(static_cast<std::size_t>(panel.rows * tensor.columns * size_of(dtype_)));
    const auto rows = static_cast<std::size_t>(panel.rows);
    constexpr std::int64_t kBlock = 32;  // columns transposed together: whole cache lines
    for (std::int64_t from = 0; from < tensor.columns; from += kBlock) {
      const std::int64_t to = std::min(from + kBlock, tensor.columns);
      for (std::size_t row = 0; row < rows; ++row) {
        const float* const in = values_.data() +
                                static_cast<std::int64_t>(row) * tensor.our_columns +
                                tensor.first_column;
        for (std::int64_t column = from; column < to; ++column)
          put(in[column], static_cast<std::size_t>(column) * rows + row);
      }
    }
    if (panel.rows == tensor.rows) return write(index, 0, bytes_);
    const std::size_t run = rows * static_cast<std::size_t>(size_of(dtype_));
    for (std::int64_t column = 0; column < tensor.columns; ++column)
      write(index, column * tensor.rows + panel.first,
            std::span(bytes_).subspan(static_cast<std::size_t>(column) * run, run));
  }

  void put(float value, std::size_t element) {
    std::byte* const to = bytes_.data() + element * static_cast<std::size_t>(size_of(dtype_));
    if (dtype_ == DType::f32) {
      std::memcpy(to, &value, sizeof(value));
      return;
    }
    const std::uint16_t half =
        dtype_ == DType::bf16 ? bf16_from_float(value) : f16_from_float(value);
    if (dtype_ == DType::f16 && std::isfinite(value) && (half & 0x7FFFU) == 0x7C00U) ++overflowed_;
    std::memcpy(to, &half, sizeof(half));
  }

  void write(std::size_t index, std::int64_t first, std::span<const std::byte> bytes) {
    const Place& place = places_[index];
    files_[place.file].write(bytes, place.at + first * size_of(dtype_));
    done_ += std::ssize(bytes);
    progress_(done_, all_);
  }

  PieceReader reader_;
  AdapterMerge adapters_;
  const std::vector<HfTensor>& tensors_;
  const DType dtype_;
  const std::function<void(std::int64_t, std::int64_t)>& progress_;
  std::vector<OutFile> files_;
  std::vector<Place> places_;
  std::vector<float> values_;
  std::vector<std::byte> bytes_;
  std::int64_t all_ = 0, done_ = 0, overflowed_ = 0;
};

void require_tensors(const Checkpoint& checkpoint, const std::vector<HfTensor>& tensors) {
  std::vector<std::string> problems;
  for (const HfTensor& tensor : tensors) {
    const TensorEntry* const ours = checkpoint.tensor(tensor.ours);
    if (ours == nullptr || checkpoint.state(tensor.ours, kMaster) == nullptr) {
      problems.push_back(tensor.ours + ": missing, or without a master");
    } else if (ours->shape != tensor.our_shape()) {
      problems.push_back(tensor.ours + ": its shape differs from the config's");
    }
  }
  if (problems.empty()) return;
  std::string text = fmt::format("{}: its tensors do not match its config:", checkpoint.folder());
  for (std::size_t i = 0; i < std::min(problems.size(), kListed); ++i) text += "\n  " + problems[i];
  if (problems.size() > kListed) text += fmt::format("\n  and {} more", problems.size() - kListed);
  throw Error(ErrorKind::config, text, "compare both with dslaunch inspect");
}

std::int64_t vocab_of(const ExportRequest& request, const ModelFacts& facts,
                      const Companions& companions) {
  if (request.vocab > facts.model.vocab)
    throw Error(ErrorKind::usage,
                fmt::format("--vocab {}: the model has {} rows", request.vocab, facts.model.vocab));
  if (request.vocab > 0) return request.vocab;
  if (companions.vocab > 0) return std::min(companions.vocab, facts.model.vocab);
  return facts.tokens() > 0 ? std::min(facts.tokens(), facts.model.vocab) : facts.model.vocab;
}

/// Returns the folder whose tokenizer the model has: that it began with, or else that of the data.
std::string folder_of(const ModelFacts& facts) {
  if (!facts.model.from.empty()) return facts.model.from;
  if (facts.tokenizer == "bytes" || facts.tokenizer == "none") return {};
  std::error_code ignored;
  const std::filesystem::path given(facts.tokenizer);
  return std::filesystem::is_regular_file(given, ignored) ? given.parent_path() : given;
}

}  // namespace

ExportResult export_hugging_face(const std::shared_ptr<const Checkpoint>& checkpoint,
                                 const ExportRequest& request,
                                 const std::function<void(std::int64_t, std::int64_t)>& progress) {
  const ModelFacts facts = model_facts(checkpoint->manifest());
  const std::string like = request.like.empty() ? folder_of(facts) : request.like;
  const Companions companions = companions_of(like);
  const std::int64_t vocab = vocab_of(request, facts, companions);
  const std::vector<HfTensor> tensors = hf_tensors(facts.model, vocab, facts.seq_len);
  require_tensors(*checkpoint, tensors);
  const std::vector<ShardFile> shards = cut_shards(tensors, request.dtype, request.shard_bytes);
  ExportResult result{.files = static_cast<int>(shards.size()),
                      .vocab = vocab,
                      .our_vocab = facts.model.vocab,
                      .is_vocab_known = companions.vocab > 0 || facts.tokens() > 0,
                      .like = like};
  for (const ShardFile& shard : shards) result.bytes += shard.bytes;
  OutFolder folder(request.out, result.bytes);
  Exporter exporter(checkpoint, facts, tensors, request.dtype, progress);
  exporter.write_files(folder, shards);
  if (shards.size() > 1) folder.add_text("model.safetensors.index.json", index_json(shards));
  const std::string config = hf_config_json(facts.model, vocab, facts.seq_len, request.dtype);
  folder.add_text("config.json", with_tokens(config, companions));
  for (const auto& [name, text] : companions.files) {
    folder.add_text(name, text);
    result.copied.push_back(name);
  }
  folder.commit();
  result.overflowed = exporter.overflowed();
  return result;
}

}  // namespace ds
