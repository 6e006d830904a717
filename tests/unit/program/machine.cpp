// Interpreter of sharded programs, and the written rule of summing for comparison.
#include "unit/program/machine.h"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "engine/program/liveness.h"

namespace ds::test {
namespace {

constexpr std::byte kGarbage{0xC3};  // as a float about -391

std::byte pattern_of(const std::string& name, std::int64_t i) {
  const auto hash = std::hash<std::string>{}(name);
  return static_cast<std::byte>(hash >> (8 * static_cast<unsigned>(i % 8)));
}

bool is_communication(const Op& op) { return is<ops::Exchange>(op) || is<ops::AllGather>(op); }

const CommAttrs& comm_of(const Op& op) {
  return is<ops::Exchange>(op) ? as<ops::Exchange>(op).comm : as<ops::AllGather>(op).comm;
}

std::vector<float> sum(std::vector<float> left, const std::vector<float>& right) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = left[i] + right[i];
  return left;
}

// A binary counter: push, merge equal levels; the rest folds from right to left.
std::vector<float> counter_sum(const std::vector<std::vector<float>>& leaves) {
  std::vector<std::pair<int, std::vector<float>>> stack;
  const auto fold = [&] {
    const std::vector<float> right = std::move(stack.back().second);
    stack.pop_back();
    stack.back() = {stack.back().first + 1, sum(stack.back().second, right)};
  };
  for (const auto& leaf : leaves) {
    stack.emplace_back(0, leaf);
    while (stack.size() >= 2 && stack[stack.size() - 2].first == stack.back().first) fold();
  }
  while (stack.size() > 1) fold();
  return stack.front().second;
}

// Adds one micro-batch's contributions, in program order, to a gradient that may hold earlier ones.
void add_micro_batch(const Program& program, int g, int virtual_rank, int micro_step, bool fresh,
                     std::vector<float>& gradient) {
  const ParamGroup& group = program.groups[static_cast<std::size_t>(g)];
  std::map<ValueId, bool> seen;
  for (const Op& op : program.ops) {
    for (std::size_t i = 0; i < op.out.size(); ++i) {
      for (const ParamTensor& tensor : group.tensors) {
        if (tensor.gradient != op.out[i]) continue;
        const std::vector<float> part =
            random_gradient(op.path, i, virtual_rank, micro_step, tensor.shape.elements());
        const bool adds = !fresh || seen[tensor.gradient];
        for (std::size_t e = 0; e < part.size(); ++e) {
          float& to = gradient[static_cast<std::size_t>(tensor.offset) + e];
          to = adds ? to + part[e] : part[e];
        }
        seen[tensor.gradient] = true;
      }
    }
  }
}

}  // namespace

std::vector<float> random_gradient(const std::string& path, std::size_t operand, int virtual_rank,
                                   int micro_step, std::int64_t elements) {
  const std::string key = fmt::format("{}/{}/{}/{}", path, operand, virtual_rank, micro_step);
  std::minstd_rand random(static_cast<std::uint32_t>(std::hash<std::string>{}(key)));
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    value = std::ldexp(static_cast<float>(bits & 0xFFFFFFU) - 8388608.0F,
                       static_cast<int>(bits >> 24U) % 16 - 24);
  }
  return values;
}

Machine::Machine(Program program) : program_(std::move(program)) {
  verify(program_);
  plan_ = place({&program_}, 1000);
  for (std::size_t tier = 0; tier < kTiers; ++tier)
    arenas_[tier].assign(static_cast<std::size_t>(plan_.tiers[tier].total_bytes), kGarbage);
  for (std::size_t i = 0; i < program_.values.size(); ++i) {
    const Value& value = program_.values[i];
    if (value.base == kNoValue && (value.persistent || value.kind == ValueKind::input))
      write_pattern(static_cast<ValueId>(i));
  }
}

std::byte* Machine::data(ValueId id) {
  const std::int64_t offset = plan_.offsets[0][static_cast<std::size_t>(id)];
  const Tier tier = program_.value(id).tier;
  REQUIRE(offset >= 0);
  REQUIRE(offset + bytes_of(program_.value(id)) <= plan_.of(tier).total_bytes);
  return arenas_[static_cast<std::size_t>(tier)].data() + offset;
}

float* Machine::floats(ValueId id) { return reinterpret_cast<float*>(data(id)); }

void Machine::write_pattern(ValueId id) {
  const Value& value = program_.value(id);
  std::byte* bytes = data(id);
  for (std::int64_t i = 0; i < bytes_of(value); ++i) bytes[i] = pattern_of(value.name, i);
}

void Machine::check_pattern(ValueId id) {
  const Value& value = program_.value(id);
  if (value.kind == ValueKind::gradient || value.base != kNoValue) return;
  const std::byte* bytes = data(id);
  const std::string name = value.name;
  const auto hash_bytes = [&](std::int64_t i) { return pattern_of(name, i); };
  for (std::int64_t i = 0; i < bytes_of(value); ++i) {
    if (bytes[i] == hash_bytes(i)) continue;
    ++broken_reads_;
    return;
  }
}

const Op* Machine::run() {
  while (next_ < program_.ops.size()) {
    const Op& op = program_.ops[next_];
    if (is_communication(op)) return &op;
    run_op(op);
    ++next_;
  }
  for (const MicroBatch& batch : program_.micro_batches) {
    check_pattern(batch.loss);
    check_pattern(batch.count);
  }
  return nullptr;
}

void Machine::run_op(const Op& op) {
  if (is<ops::Control>(op) || is<ops::Update>(op)) return;
  if (is<ops::Add>(op) && program_.value(op.out[0]).kind == ValueKind::gradient) {
    const float *a = floats(op.in[0]), *b = floats(op.in[1]);
    float* out = floats(op.out[0]);
    for (std::int64_t i = 0; i < program_.value(op.out[0]).shape.elements(); ++i)
      out[i] = a[i] + b[i];
    return;
  }
  for (const ValueId id : op.in) {
    if (id != kNoValue) check_pattern(id);
  }
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    if (op.out[i] == kNoValue) continue;
    const Value& value = program_.value(op.out[i]);
    if (is<ops::Clear>(op)) {
      std::memset(data(op.out[i]), 0, static_cast<std::size_t>(bytes_of(value)));
    } else if (value.kind == ValueKind::gradient) {
      add_gradient(op, i);
    } else {
      write_pattern(op.out[i]);
    }
  }
}

void Machine::add_gradient(const Op& op, std::size_t operand) {
  const MicroBatch& batch = program_.micro_batches.at(static_cast<std::size_t>(op.micro));
  const std::int64_t elements = program_.value(op.out[operand]).shape.elements();
  const std::vector<float> part =
      random_gradient(op.path, operand, batch.virtual_rank, batch.micro_step, elements);
  const bool adds = op.adds_to(operand);
  float* to = floats(op.out[operand]);
  for (std::size_t i = 0; i < part.size(); ++i) to[i] = adds ? to[i] + part[i] : part[i];
}

World::World(const Program& differentiated, ShardSpec spec) {
  for (spec.rank = 0; spec.rank < spec.world_size; ++spec.rank)
    ranks_.emplace_back(shard(differentiated, spec));
  while (true) {
    std::vector<const Op*> ops;
    for (Machine& rank : ranks_) ops.push_back(rank.run());
    for (const Op* op : ops) REQUIRE((op == nullptr) == (ops[0] == nullptr));
    if (ops[0] == nullptr) return;
    for (const Op* op : ops) {
      REQUIRE(op->path == ops[0]->path);
      REQUIRE(comm_of(*op).cuts == comm_of(*ops[0]).cuts);
    }
    if (is<ops::Exchange>(*ops[0])) {
      exchange(ops);
    } else {
      all_gather(ops);
    }
    for (Machine& rank : ranks_) rank.pass();
  }
}

void World::exchange(const std::vector<const Op*>& ops) {
  const std::vector<std::int64_t>& cuts = comm_of(*ops[0]).cuts;
  for (std::size_t to = 0; to < ranks_.size(); ++to) {
    const std::int64_t length = cuts[to + 1] - cuts[to];
    std::int64_t row = 0;
    for (std::size_t from = 0; from < ranks_.size(); ++from) {
      const bool contributes = comm_of(*ops[to]).contributes[from];
      REQUIRE(contributes == (ops[from]->in[0] != kNoValue));
      if (!contributes) continue;
      const float* root = ranks_[from].floats(ops[from]->in[0]) + cuts[to];
      const ValueId staging = ops[to]->out[0];
      const std::int64_t slice = ranks_[to].program().value(staging).shape[1];
      std::copy_n(root, length, ranks_[to].floats(staging) + row++ * slice + comm_of(*ops[to]).at);
    }
  }
}

void World::all_gather(const std::vector<const Op*>& ops) {
  const std::vector<std::int64_t>& cuts = comm_of(*ops[0]).cuts;
  for (std::size_t to = 0; to < ranks_.size(); ++to) {
    for (std::size_t from = 0; from < ranks_.size(); ++from) {
      const ValueId slice = ops[from]->in[0];
      if (from == to && slice == kNoValue) continue;
      const float* own = slice == kNoValue ? ranks_[from].floats(ops[from]->out[0]) + cuts[from]
                                           : ranks_[from].floats(slice) + comm_of(*ops[from]).at;
      std::copy_n(own, cuts[from + 1] - cuts[from],
                  ranks_[to].floats(ops[to]->out[0]) + cuts[from]);
    }
  }
}

std::vector<std::vector<float>> World::gradients(int g) {
  std::vector<std::vector<float>> gradients;
  for (Machine& rank : ranks_) {
    const ParamGroup& group = rank.program().groups[static_cast<std::size_t>(g)];
    const float* data = rank.floats(group.gradient);
    gradients.emplace_back(data, data + group.elements);
  }
  return gradients;
}

int World::broken_reads() const {
  int count = 0;
  for (const Machine& rank : ranks_) count += rank.broken_reads();
  return count;
}

std::vector<float> expected_gradient(const Program& differentiated, int g, const ShardSpec& spec) {
  const auto elements =
      static_cast<std::size_t>(differentiated.groups[static_cast<std::size_t>(g)].elements);
  std::vector<std::vector<float>> leaves;
  if (spec.order == ShardSpec::Order::boundary) {
    for (int leaf = 0; leaf < spec.virtual_ranks; ++leaf) {
      std::vector<float> gradient(elements, 0.0F);
      for (int s = 0; s < spec.accum; ++s)
        add_micro_batch(differentiated, g, leaf, s, s == 0, gradient);
      leaves.push_back(std::move(gradient));
    }
    return counter_sum(leaves);
  }
  std::vector<float> total;
  for (int s = 0; s < spec.accum; ++s) {
    leaves.clear();
    for (int leaf = 0; leaf < spec.virtual_ranks; ++leaf) {
      std::vector<float> gradient(elements, 0.0F);
      add_micro_batch(differentiated, g, leaf, s, true, gradient);
      leaves.push_back(std::move(gradient));
    }
    total = s == 0 ? counter_sum(leaves) : sum(std::move(total), counter_sum(leaves));
  }
  return total;
}

}  // namespace ds::test
