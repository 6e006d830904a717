// Writes a checkpoint whose elements follow from a formula, which tests/e2e/checkpoint/tools.py
// shares: make_checkpoint DIR STEP ARCH RANKS SEED [KEY=VALUE...]
//
// ARCH: gpt2, llama, llama-tied, mistral, qwen2 or qwen3. Keys are train.toml's; piece=N: elements of a piece at most;
// states=N: how many of master, moment1, moment2.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "engine/checkpoint/chunk_writer.h"
#include "engine/checkpoint/save_folder.h"
#include "engine/config/load.h"
#include "engine/config/print.h"
#include "engine/config/toml_reader.h"
#include "engine/models/build_model.h"

namespace {

using namespace ds;

constexpr const char* kToml = R"(
[model]
layers = 2
hidden = 48
heads = 6
[data]
train = "text"
seq_len = 16
[batch]
micro = 2
[train]
steps = 20
)";

struct Wish {
  std::string dir{}, arch{};
  std::int64_t step = 0, seed = 0, piece = kPieceBytes / 4, states = 3;
  int ranks = 1;
  std::vector<std::string> keys{};
};

Wish wish_of(int argc, char** argv) {
  DS_ASSERT(argc >= 6);
  Wish wish{.dir = argv[1],
            .arch = argv[3],
            .step = std::stoll(argv[2]),
            .seed = std::stoll(argv[5]),
            .ranks = std::stoi(argv[4])};
  for (int i = 6; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("piece=")) {
      wish.piece = std::stoll(word.substr(6));
    } else if (word.starts_with("states=")) {
      wish.states = std::stoll(word.substr(7));
    } else {
      wish.keys.push_back(word);
    }
  }
  return wish;
}

TrainConfig config_of(const Wish& wish) {
  std::vector<Entry> entries = read_toml(kToml, "make_checkpoint", "");
  std::vector<std::string> keys = wish.keys;
  keys.push_back("model.arch=" + wish.arch.substr(0, wish.arch.find('-')));
  if (wish.arch != "gpt2") keys.emplace_back("model.kv_heads=2");
  if (wish.arch == "llama-tied") keys.emplace_back("model.tied=true");
  int number = 0;
  for (const std::string& key : keys) entries.push_back(read_override(key, ++number, ""));
  return make_train_config(entries, "make_checkpoint", 1);
}

/// FNV-1a, 32 bits.
std::uint32_t key_of(std::string_view name) {
  std::uint32_t key = 2166136261U;
  for (const char c : name) key = (key ^ static_cast<unsigned char>(c)) * 16777619U;
  return key;
}

/// A multiple of 2^-15 in [-1, 1): exact in f32.
float value_of(std::uint32_t key, std::int64_t seed, std::int64_t state, std::int64_t element) {
  std::uint32_t x = key + static_cast<std::uint32_t>(seed * 977 + state * 31337 + element);
  x ^= x >> 16;
  x *= 0x7FEB352DU;
  x ^= x >> 15;
  return static_cast<float>(static_cast<std::int32_t>(x & 0xFFFFU) - 32768) / 32768.0F;
}

std::vector<TensorEntry> tensors_of(const TrainConfig& config, std::int64_t states) {
  const Program program =
      build_model(config.model, {.micro = 1, .seq_len = config.data.seq_len, .valid_vocab = 256});
  std::vector<TensorEntry> tensors;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      TensorEntry entry{.name = tensor.name};
      for (int axis = 0; axis < tensor.shape.axes(); ++axis)
        entry.shape.push_back(tensor.shape[axis]);
      for (const std::string_view name : {kMaster, kMoment1, kMoment2}) {
        if (std::ssize(entry.states) < states)
          entry.states.push_back({.name = std::string(name), .dtype = DType::f32});
      }
      tensors.push_back(std::move(entry));
    }
  }
  return tensors;
}

std::int64_t elements_of(const TensorEntry& tensor) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= extent;
  return elements;
}

/// Returns the rank's even share of every tensor, as flat ranges.
ChunkPart write_part(const Wish& wish, const std::vector<TensorEntry>& tensors, int rank,
                     const std::string& folder) {
  ChunkPart part{.rank = rank};
  part.chunk.name = fmt::format("rank-{:05}.chunk", rank);
  ChunkWriter writer({.path = folder + "/" + part.chunk.name});
  std::vector<float> values;
  for (TensorEntry tensor : tensors) {
    const std::int64_t all = elements_of(tensor), from = all * rank / wish.ranks,
                       to = all * (rank + 1) / wish.ranks;
    const std::vector<std::int64_t> zeros(tensor.shape.size(), 0);
    std::int64_t number = 0;
    for (StateEntry& state : tensor.states) {
      for (std::int64_t first = from; first < to; first += wish.piece) {
        values.resize(static_cast<std::size_t>(std::min(wish.piece, to - first)));
        for (std::size_t i = 0; i < values.size(); ++i)
          values[i] = value_of(key_of(tensor.name), wish.seed, number,
                               first + static_cast<std::int64_t>(i));
        const ChunkWriter::Place place = writer.append(std::as_bytes(std::span(values)));
        state.pieces.push_back({.box = {.offset = zeros, .extent = tensor.shape},
                                .first = first,
                                .elements = std::ssize(values),
                                .at = place.at,
                                .checksum = place.checksum});
      }
      ++number;
    }
    part.tensors.push_back(std::move(tensor));
  }
  part.chunk.bytes = writer.finish();
  return part;
}

void run(const Wish& wish) {
  const TrainConfig config = config_of(wish);
  Manifest head{.state = {.step = wish.step,
                          .next_sample = 2 * wish.step,
                          .seed = wish.seed,
                          .updates = wish.step,
                          .lr = 1e-3},
                .saved_ms = 1'700'000'000'000,
                .program = "make_checkpoint",
                .build = "test",
                .world_size = wish.ranks,
                .arithmetic = arithmetic_list(config, {"kernels", "libraries", "data"}),
                .config = to_toml(config),
                .tensors = tensors_of(config, wish.states)};
  const SaveFolder target(wish.dir, static_cast<std::uint64_t>(::getpid()));
  const std::string folder = target.begin(wish.step);
  for (int rank = 0; rank < wish.ranks; ++rank)
    target.publish(wish.step, write_part(wish, head.tensors, rank, folder));
  target.commit(head);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(wish_of(argc, argv));
    return 0;
  } catch (const ds::Error& error) {
    std::fprintf(stderr, "make_checkpoint: %s\n", error.for_people().c_str());
    return 1;
  }
}
