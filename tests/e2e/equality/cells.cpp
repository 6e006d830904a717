// Table of settings that must not change a bit, and of those that may.
#include "e2e/equality/cells.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds::test {

const std::vector<Axis>& axes() {
  using enum Axis::Kind;
  static const std::vector<Axis> kAxes{
      {"dtype",
       arithmetic,
       {{"fp32", {"precision.dtype=fp32"}},
        {"bf16", {"precision.dtype=bf16"}},
        {"fp16", {"precision.dtype=fp16", "precision.loss_scale.init_power=12"}}}},
      {"order",
       arithmetic,
       {{"boundary", {"determinism.order=boundary"}}, {"step", {"determinism.order=step"}}}},
      {"dropout", arithmetic, {{"0.1", {"model.dropout=0.1"}}, {"0", {"model.dropout=0"}}}},
      {"model",
       arithmetic,
       {{"gpt2", {}},
        {"llama", {"model.arch=llama", "model.kv_heads=1", "model.ffn=100"}},
        {"frozen",
         {"model.arch=llama", "model.kv_heads=1", "model.ffn=100",
          "train.freeze=[\"embed*\",\"*.0.mlp*\",\"*.1.*\",\"norm.weight\"]"}},
        {"lora",
         {"model.arch=llama", "model.kv_heads=1", "model.ffn=100", "lora.rank=3",
          "lora.dropout=0.1"}},
        {"qwen3",
         {"model.arch=qwen3", "model.kv_heads=1", "model.ffn=100", "model.head_size=12",
          "model.window=5"}},
        {"packed",
         {"model.arch=llama", "model.kv_heads=1", "model.ffn=100", "model.vocab=200",
          "data.format=samples", "data.train={paths}/packed"}},
        {"bert",
         {"model.arch=bert", "model.ffn=100", "model.vocab=200", "data.format=samples",
          "data.train={paths}/masked"}},
        {"roberta",
         {"model.arch=roberta", "model.activation=relu", "model.type_vocab=2", "model.vocab=200",
          "data.format=samples", "data.train={paths}/masked"}},
        {"t5",
         {"model.arch=t5", "model.decoder_layers=2", "model.head_size=12", "model.ffn=100",
          "model.relative_buckets=8", "model.relative_distance=10", "model.vocab=200",
          "data.format=samples", "data.encoder_len=20", "data.train={paths}/pairs"}},
        {"t5-v1.1",
         {"model.arch=t5", "model.activation=gated_gelu", "model.tied=false", "model.ffn=60",
          "model.vocab=200", "data.format=samples", "data.encoder_len=20",
          "data.train={paths}/pairs"}},
        {"t5-lora",
         {"model.arch=t5", "model.head_size=12", "model.ffn=100", "model.vocab=200",
          "data.format=samples", "data.encoder_len=20", "data.train={paths}/pairs", "lora.rank=3"}},
        {"bert-frozen",
         {"model.arch=bert", "model.ffn=100", "model.vocab=200", "data.format=samples",
          "data.train={paths}/masked",
          "train.freeze=[\"embeddings*\",\"*.1.*\",\"*LayerNorm*\"]"}}}},
      {"clip", arithmetic, {{"0.5", {"optimizer.clip=0.5"}}, {"0", {"optimizer.clip=0"}}}},
      {"decay",
       arithmetic,
       {{"usual", {}},
        {"some", {"optimizer.no_decay=[\"biases\",\"*att*\",\"*.2.*\"]"}},
        {"all", {"optimizer.no_decay=[]"}}}},
      {"stage",
       full,
       {{"0", {"zero.stage=0"}},
        {"1", {"zero.stage=1"}},
        {"2", {"zero.stage=2"}},
        {"3", {"zero.stage=3"}}}},
      {"offload",
       full,
       {{"none", {}},
        {"cpu",
         {"offload.optimizer.device=cpu", "stage=3 ? offload.param.device=cpu",
          "stage=3 ? offload.grad.device=cpu"}},
        {"nvme",
         {"offload.optimizer.device=nvme", "offload.optimizer.paths=[\"{paths}\"]",
          "stage=3 ? offload.param.device=nvme", "stage=3 ? offload.grad.device=nvme"}}}},
      {"update",
       dealt,
       {{"auto", {}},
        {"after", {"offload!=none ? offload.optimizer.update=after"}},
        {"forward", {"offload!=none ? offload.optimizer.update=forward"}},
        {"backward", {"offload!=none ? offload.optimizer.update=backward"}}}},
      {"tiles",
       dealt,
       {{"whole", {}},
        {"small", {"offload!=none ? offload.optimizer.tile=3000", "offload.optimizer.buffers=2"}}}},
      {"share",
       dealt,
       {{"none", {"offload=cpu ? offload.optimizer.device_share=0"}},
        {"half", {"offload=cpu ? offload.optimizer.device_share=50"}},
        {"all", {"offload=cpu ? offload.optimizer.device_share=100"}}}},
      {"device", dealt, {{"host", {}}, {"apart", {}}}},
      {"master",
       dealt,
       {{"whole", {}}, {"split", {"dtype=bf16 ? offload=none ? precision.master=split16"}}}},
      {"activations",
       dealt,
       {{"kept", {"offload.activation.device=none"}}, {"host", {"offload.activation.device=cpu"}}}},
      {"recompute",
       full,
       {{"none", {"recompute.policy=none"}},
        {"selective", {"recompute.policy=selective"}},
        {"block", {"recompute.policy=block"}}}},
      {"pieces",
       dealt,
       {{"whole", {}},
        {"small",
         {"zero.gather_bucket=3000", "zero.reduce_bucket=5000", "zero.prefetch=20000",
          "zero.max_live=40000", "zero.reuse_distance=30000", "zero.persist_below=3000"}}}},
      {"overlap", full, {{"off", {"zero.overlap=false"}}, {"on", {"zero.overlap=true"}}}},
      {"world", full, {{"1", {}}, {"2", {}}, {"3", {}}, {"4", {}}}},
      {"threads", full, {{"1", {"device.threads=1"}}, {"2", {"device.threads=2"}}}}};
  return kAxes;
}

std::string name_of(const Cell& cell) {
  std::string name;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    const Axis& axis = axes()[a];
    name += fmt::format("{}{}={}", a == 0 ? "" : ",", axis.name, axis.choices[cell[a]].name);
  }
  return name;
}

namespace {

void choose(Cell& cell, std::string_view assignment) {
  const std::size_t equals = std::min(assignment.find('='), assignment.size());
  for (std::size_t a = 0; a < axes().size(); ++a) {
    if (axes()[a].name != assignment.substr(0, equals)) continue;
    const auto& choices = axes()[a].choices;
    for (std::size_t c = 0; c < choices.size(); ++c) {
      if (fmt::format("{}={}", axes()[a].name, choices[c].name) != assignment) continue;
      cell[a] = c;
      return;
    }
  }
  throw Error(ErrorKind::usage, fmt::format("no such choice: {}", assignment));
}

}  // namespace

Cell cell_of(std::string_view text) {
  Cell cell(axes().size(), 0);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    choose(cell, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cell;
}

Cell reference_of(const Cell& cell) {
  Cell reference = cell;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    if (axes()[a].kind != Axis::Kind::arithmetic) reference[a] = 0;
  }
  return reference;
}

Cell changed(const Cell& cell, std::mt19937& random) {
  Cell other = cell;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    if (axes()[a].kind != Axis::Kind::arithmetic) other[a] = random() % axes()[a].choices.size();
  }
  return other;
}

namespace {

// Resolves "stage=3 ? KEY": returns the key, or nothing if the condition does not hold.
std::string_view key_in(std::string_view key, const Cell& cell) {
  const std::size_t mark = key.find(" ? ");
  if (mark == std::string_view::npos) return key;
  const std::string_view condition = key.substr(0, mark);
  const std::size_t equals = condition.find('=');
  const bool unless = condition[equals - 1] == '!';
  const std::string_view axis = condition.substr(0, equals - (unless ? 1 : 0));
  const bool has = choice_of(cell, axis) == condition.substr(equals + 1);
  return has != unless ? key_in(key.substr(mark + 3), cell) : std::string_view();
}

}  // namespace

std::vector<std::string> keys_of(const Cell& cell) {
  std::vector<std::string> keys;
  for (std::size_t a = 0; a < cell.size(); ++a) {
    for (const std::string_view key : axes()[a].choices[cell[a]].keys) {
      if (!key_in(key, cell).empty()) keys.emplace_back(key_in(key, cell));
    }
  }
  return keys;
}

std::string_view choice_of(const Cell& cell, std::string_view axis) {
  for (std::size_t a = 0; a < cell.size(); ++a) {
    if (axes()[a].name == axis) return axes()[a].choices[cell[a]].name;
  }
  throw Error(ErrorKind::bug, fmt::format("no such axis: {}", axis));
}

int world_of(const Cell& cell) { return choice_of(cell, "world")[0] - '0'; }

std::vector<Cell> all_cells(unsigned seed) {
  std::vector<Cell> cells{{}};
  for (const Axis& axis : axes()) {
    const bool once = axis.name == "dropout" || axis.name == "clip" ||
                      axis.name == "decay";  // as in the random cells
    const bool dealt = axis.kind == Axis::Kind::dealt || axis.name == "model" || once;
    std::vector<Cell> longer;
    for (const Cell& cell : cells) {
      for (std::size_t c = 0; c < (dealt ? 1 : axis.choices.size()); ++c) {
        longer.push_back(cell);
        longer.back().push_back(c);
      }
    }
    cells = std::move(longer);
  }
  std::mt19937 random(seed);
  for (Cell& cell : cells) {
    for (std::size_t a = 0; a < cell.size(); ++a) {
      if (axes()[a].kind == Axis::Kind::dealt || axes()[a].name == "model")
        cell[a] = random() % axes()[a].choices.size();
    }
  }
  return cells;
}

}  // namespace ds::test
