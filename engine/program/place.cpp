// The pass "place": persistent values side by side, then scratch, then transient values, which
// share bytes where their lives do not meet.
#include <algorithm>
#include <map>
#include <optional>

#include "engine/program/liveness.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

constexpr std::int64_t kPage = 4096, kSmallAlignment = 512;
constexpr std::int64_t kPageAligned = 64 << 10;  // from this size on: whole pages

std::int64_t alignment_for(std::int64_t bytes) {
  return bytes >= kPageAligned ? kPage : kSmallAlignment;
}
std::int64_t round_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

struct Block {
  ValueId id = kNoValue;
  Life life{};
  std::int64_t bytes = 0, offset = 0;
  [[nodiscard]] std::int64_t end() const { return offset + bytes; }
};

/// The smallest hole that fits among blocks alive at the same time, else their end. `placed` is
/// sorted by offset.
std::int64_t best_fit(const std::vector<Block>& placed, const Block& block) {
  const std::int64_t alignment = alignment_for(block.bytes);
  std::int64_t cursor = 0, best_hole = 0;
  std::optional<std::int64_t> best;
  for (const Block& other : placed) {
    if (!other.life.meets(block.life)) continue;
    const std::int64_t hole = other.offset - cursor;
    if (hole >= block.bytes && (!best || hole < best_hole)) {
      best = cursor;
      best_hole = hole;
    }
    cursor = std::max(cursor, round_up(other.end(), alignment));
  }
  return best.value_or(cursor);
}

std::vector<Block> transient_blocks(const Program& program) {
  const std::vector<Life> lives = lives_of(program);
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    const std::int64_t bytes = bytes_of(program.values[i]);
    if (!lives[i].used() || bytes == 0) continue;
    blocks.push_back({.id = static_cast<ValueId>(i),
                      .life = lives[i],
                      .bytes = round_up(bytes, alignment_for(bytes))});
  }
  return blocks;
}

/// Which block is placed before which: the earlier finds more room.
using Before = bool (*)(const Block&, const Block&);
bool larger(const Block& a, const Block& b) {
  return a.bytes != b.bytes ? a.bytes > b.bytes : a.life.first < b.life.first;
}
bool longer(const Block& a, const Block& b) {
  const int length_a = a.life.last - a.life.first, length_b = b.life.last - b.life.first;
  return length_a != length_b ? length_a > length_b : larger(a, b);
}
bool later(const Block& a, const Block& b) {
  return a.life.last != b.life.last ? a.life.last > b.life.last : larger(a, b);
}
bool larger_in_time(const Block& a, const Block& b) {
  const std::int64_t area_a = a.bytes * (a.life.last - a.life.first + 1);
  const std::int64_t area_b = b.bytes * (b.life.last - b.life.first + 1);
  return area_a != area_b ? area_a > area_b : larger(a, b);
}

std::int64_t end_of(const std::vector<Block>& placed) {
  std::int64_t end = 0;
  for (const Block& block : placed) end = std::max(end, block.end());
  return end;
}

/// Returned sorted by offset.
std::vector<Block> place_in_order(std::vector<Block> blocks, Before before) {
  std::stable_sort(blocks.begin(), blocks.end(), before);
  std::vector<Block> placed;
  const auto by_offset = [](const Block& a, const Block& b) { return a.offset < b.offset; };
  for (Block& block : blocks) {
    block.offset = best_fit(placed, block);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block, by_offset), block);
  }
  return placed;
}

/// No order is best for every program, so the best of a few is taken.
std::vector<Block> place_transient(const Program& program) {
  const std::vector<Block> blocks = transient_blocks(program);
  std::vector<Block> best;
  for (const Before before : {larger, longer, later, larger_in_time}) {
    std::vector<Block> placed = place_in_order(blocks, before);
    if (best.empty() || end_of(placed) < end_of(best)) best = std::move(placed);
  }
  return best;
}

std::string_view class_of(const Program& program, ValueId id) {
  const auto is_master = [&](const ParamGroup& group) { return group.master == id; };
  switch (program.value(id).kind) {
    case ValueKind::parameter:
      return "weights";
    case ValueKind::gradient:
      return "gradients";
    case ValueKind::activation:
      return "activations";
    case ValueKind::input:
      return "inputs";
    case ValueKind::state:
      break;
  }
  const bool master = std::any_of(program.groups.begin(), program.groups.end(), is_master);
  return master ? "master" : "moments";
}

class Placement {
 public:
  Placement(const std::vector<const Program*>& programs, std::int64_t workspace_bytes)
      : programs_(programs) {
    for (const char* name :
         {"weights", "master", "moments", "gradients", "activations", "inputs", "scratch"})
      plan_.classes.emplace_back(name, 0);
    place_persistent();
    plan_.workspace_offset = plan_.persistent_bytes;
    plan_.workspace_bytes = round_up(workspace_bytes, kPage);
    count("scratch", plan_.workspace_bytes);
    const std::int64_t start = plan_.persistent_bytes + plan_.workspace_bytes;
    for (const Program* program : programs_) place_program(*program, start);
    plan_.total_bytes = start + plan_.transient_bytes;
    if (!programs_.empty()) count_peak();
  }

  PlacementPlan plan() { return std::move(plan_); }

 private:
  void count(std::string_view name, std::int64_t bytes) {
    for (auto& [known, sum] : plan_.classes) {
      if (known == name) sum += bytes;
    }
  }

  void place_persistent() {
    for (const Program* program : programs_) {
      for (std::size_t i = 0; i < program->values.size(); ++i) {
        const Value& value = program->values[i];
        if (!value.persistent) continue;
        const auto [known, is_new] =
            persistent_.try_emplace(value.name, Block{.bytes = bytes_of(value)});
        DS_ASSERT(known->second.bytes == bytes_of(value), "two programs, two sizes of one value");
        if (!is_new) continue;
        known->second.offset = plan_.persistent_bytes;
        const std::int64_t bytes = round_up(bytes_of(value), kPage);
        plan_.persistent_bytes += bytes;
        count(class_of(*program, static_cast<ValueId>(i)), bytes);
      }
    }
  }

  void place_program(const Program& program, std::int64_t start) {
    const std::vector<Block> blocks = place_transient(program);
    std::vector<std::int64_t> offsets(program.values.size(), start);  // of what needs no bytes
    std::int64_t end = 0;
    for (const Block& block : blocks) {
      offsets[static_cast<std::size_t>(block.id)] = start + block.offset;
      end = std::max(end, block.end());
    }
    end = round_up(end, kPage);
    if (end > plan_.transient_bytes || largest_ == nullptr) {
      largest_ = &program;
      largest_blocks_ = blocks;
      plan_.transient_bytes = end;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (program.values[i].persistent) offsets[i] = persistent_.at(program.values[i].name).offset;
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (program.values[i].base == kNoValue) continue;
      const Home home = home_of(program, static_cast<ValueId>(i));
      offsets[i] = offsets[static_cast<std::size_t>(home.base)] + home.offset;
    }
    plan_.offsets.push_back(std::move(offsets));
  }

  // Transient classes as they are at the moment of most bytes alive; what the holes between them
  // cost is named too, so that the classes add up to the total.
  void count_peak() {
    const int ops = static_cast<int>(largest_->ops.size());
    std::vector<std::int64_t> change(static_cast<std::size_t>(ops) + 2, 0);
    for (const Block& block : largest_blocks_) {
      change[static_cast<std::size_t>(block.life.first)] += block.bytes;
      change[static_cast<std::size_t>(block.life.last) + 1] -= block.bytes;
    }
    std::int64_t now = 0, most = 0;
    int peak = 0;
    for (int op = 0; op <= ops; ++op) {
      now += change[static_cast<std::size_t>(op)];
      if (now <= most) continue;
      most = now;
      peak = op;
    }
    for (const Block& block : largest_blocks_) {
      if (block.life.meets({peak, peak})) count(class_of(*largest_, block.id), block.bytes);
    }
    plan_.classes.emplace_back("holes", plan_.transient_bytes - most);
  }

  const std::vector<const Program*>& programs_;
  std::map<std::string, Block> persistent_;
  const Program* largest_ = nullptr;
  std::vector<Block> largest_blocks_;
  PlacementPlan plan_;
};

}  // namespace

PlacementPlan place(const std::vector<const Program*>& programs, std::int64_t workspace_bytes) {
  return Placement(programs, workspace_bytes).plan();
}

}  // namespace ds
