// count_pieces(): threads take blocks of text from a queue, and fill it from the files when it is
// empty.
#include "engine/tokenizer_training/count_pieces.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "engine/packing/file_format.h"
#include "engine/packing/raw_reader.h"
#include "engine/tokenizer/pattern.h"
#include "engine/tokenizer/token_model.h"
#include "engine/tokenizer/unicode.h"
#include "engine/tokenizer_training/safe_cuts.h"

namespace ds {
namespace {

/// Text that one thread counts at a time. Smaller blocks cost more locking, larger ones share the
/// work of one file less evenly.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20U;
/// A reader counts by itself while more blocks than this wait, so that memory is bounded.
constexpr std::size_t kMostBlocks = 64;

using Counts = std::unordered_map<std::string, std::int64_t, TextHash, std::equal_to<>>;
/// Documents, or parts of one.
using Block = std::vector<std::string>;

void count_text(std::string_view text, const Pattern& pattern, Counts& counts) {
  thread_local std::vector<Part> found;
  const auto add = [&](std::size_t from, std::size_t to) {
    if (from == to) return;
    const std::string_view piece = text.substr(from, to - from);
    const auto known = counts.find(piece);
    if (known != counts.end()) {
      ++known->second;
    } else {
      counts.emplace(piece, 1);
    }
  };
  pattern.find(text, found);
  std::size_t at = 0;
  for (const Part& part : found) {
    add(at, part.first);
    add(part.first, part.second);
    at = part.second;
  }
  add(at, text.size());
}

/// What the threads share.
class PieceCounter {
 public:
  PieceCounter(const TextFiles& texts, const std::string& expression, const CountWork& work)
      : pattern_(expression), work_(work) {
    for (const std::string& file : texts.files) {
      DataConfig config;
      config.format = text_format_of(file);
      config.json_fields = texts.fields;
      for (RawChunk& chunk : chunks_of({file}, config)) {
        all_ += chunk.bytes;
        chunks_.push_back({std::move(chunk), config});
      }
    }
  }

  std::vector<CountedPiece> run() {
    std::vector<Counts> counts(static_cast<std::size_t>(std::max(work_.threads, 1)));
    {
      std::vector<std::jthread> threads;
      for (Counts& own : counts) threads.emplace_back([&] { run_thread(own); });
    }
    if (error_) std::rethrow_exception(error_);
    for (std::size_t i = 1; i < counts.size(); ++i) {
      for (const auto& [text, count] : counts[i]) counts[0][text] += count;
      counts[i].clear();
    }
    std::vector<CountedPiece> pieces;
    pieces.reserve(counts[0].size());
    while (!counts[0].empty()) {
      auto taken = counts[0].extract(counts[0].begin());
      pieces.push_back({std::move(taken.key()), taken.mapped()});
    }
    std::ranges::sort(pieces, {}, &CountedPiece::text);
    return pieces;
  }

 private:
  struct Source {
    RawChunk chunk;
    DataConfig config;
  };

  void run_thread(Counts& counts) {
    try {
      while (take_work(counts)) {
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (!error_) error_ = std::current_exception();
      changed_.notify_all();
    }
  }

  /// Counts a block, or reads a source if no block waits; returns false when all is done.
  bool take_work(Counts& counts) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return error_ || !blocks_.empty() || next_ < chunks_.size() || readers_ == 0;
    });
    if (error_) return false;
    if (!blocks_.empty()) {
      const Block block = std::move(blocks_.front());
      blocks_.pop_front();
      lock.unlock();
      count(block, counts);
      return true;
    }
    if (next_ == chunks_.size()) return false;
    const Source& source = chunks_[next_++];
    ++readers_;
    lock.unlock();
    read(source, counts);
    lock.lock();
    --readers_;
    done_ += source.chunk.bytes;
    if (work_.tell) work_.tell(done_, all_);
    changed_.notify_all();
    return true;
  }

  void read(const Source& source, Counts& counts) {
    Block block;
    std::size_t size = 0;
    const auto hand_over = [&] {
      if (!block.empty()) give(std::exchange(block, {}), counts);
      size = 0;
    };
    read_documents(source.chunk, source.config, [&](const RawDocument& document, const auto&) {
      for (const std::string& text : document.texts)
        for (const std::string_view part : safe_cuts(text, kBlockBytes)) {
          block.emplace_back(part);
          size += part.size();
          if (size >= kBlockBytes) hand_over();
        }
    });
    hand_over();
  }

  void give(Block block, Counts& counts) {
    {
      const std::scoped_lock lock(mutex_);
      if (blocks_.size() < kMostBlocks) {
        blocks_.push_back(std::move(block));
        changed_.notify_one();
        return;
      }
    }
    count(block, counts);
  }

  void count(const Block& block, Counts& counts) const {
    for (const std::string& text : block) count_text(unicode::valid(text), pattern_, counts);
  }

  Pattern pattern_;
  const CountWork& work_;
  std::vector<Source> chunks_;
  std::int64_t all_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Block> blocks_;
  std::size_t next_ = 0;
  int readers_ = 0;
  std::int64_t done_ = 0;
  std::exception_ptr error_;
};

}  // namespace

std::string_view text_format_of(std::string_view path) {
  const std::string_view format = format_of_ending(path).value_or("text");
  return format == "jsonl" || format == "parquet" ? format : "text";
}

std::vector<CountedPiece> count_pieces(const TextFiles& texts, const std::string& expression,
                                       const CountWork& work) {
  return PieceCounter(texts, expression, work).run();
}

}  // namespace ds
