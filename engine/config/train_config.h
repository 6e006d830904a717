// TrainConfig: everything that train.toml says, as plain values. Made by load_train_config().
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/memory_config.h"
#include "engine/config/optim_config.h"

namespace ds {

/// The activation of the feed-forward layers that the key chooses. gelu: with erf; gated_gelu:
/// gelu_tanh(gate) * up.
enum class FeedForward : std::uint8_t { gelu, gelu_tanh, relu, gated_gelu };

/// As RotaryScaling::Kind.
enum class RopeScaling : std::uint8_t { none, linear, llama3 };

enum class ReduceOrder : std::uint8_t { automatic, boundary, step };

struct ModelConfig {
  std::string arch = "gpt2";
  std::string preset;  // empty: sizes are given one by one
  std::string from;    // folder whose config.json gives the sizes; or empty
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;   // heads of keys and values; resolved: heads unless given
  std::int64_t head_size = 0;  // 0: hidden / heads
  std::int64_t ffn = 0;        // resolved: by the architecture unless given
  std::int64_t vocab = 0;      // rows of the embedding; resolved: a multiple of 64
  std::int64_t tokens = 0;     // rows that are tokens; resolved: by tokenizer, or vocab unrounded
  std::string init = "random";
  double dropout = 0.0;
  double rope_theta = 10000;  // Llama's family, as the next five
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 1;
  double rope_low = 1, rope_high = 4;  // llama3
  std::int64_t rope_trained = 8192;    // llama3
  std::int64_t window = 0;       // positions that attention sees; 0: all before. Mistral, Qwen
  std::int64_t full_layers = 0;  // first layers without the window; Qwen
  FeedForward activation = FeedForward::gelu;  // BERT, RoBERTa and T5
  // BERT and RoBERTa: rows of the table of token types; resolved: the family's
  std::int64_t type_vocab = 0;
  std::int64_t first_position = 0;       // of a document's first token; resolved: the family's
  std::int64_t decoder_layers = 0;       // T5, as the next three; resolved: layers unless given
  std::int64_t relative_buckets = 32;    // of distances, each with a bias of attention's scores
  std::int64_t relative_distance = 128;  // from which on all distances have one bucket
  bool scaled = false;  // the head's input is divided by sqrt(hidden); resolved: as tied
  double norm_eps = 1e-5;
  bool tied = true;  // output head = embedding; resolved: by architecture and preset
  [[nodiscard]] std::int64_t elements_of_head() const {
    return head_size != 0 || heads == 0 ? head_size : hidden / heads;
  }
  [[nodiscard]] std::int64_t blocks_of_decoder() const {
    return decoder_layers == 0 ? layers : decoder_layers;
  }
  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

/// What the samples have beside tokens and targets. Not a key: open_data() finds it in the files.
struct DataFields {
  bool documents = false, positions = false, token_types = false, encoder_documents = false;
  std::int64_t encoder_len = 0;  // tokens of a sequence of the encoder; 0: there is none
  friend bool operator==(const DataFields&, const DataFields&) = default;
};

/// Low-rank adapters beside linear layers (engine/models/adapters.h); rank = 0: none.
struct LoraConfig {
  std::int64_t rank = 0;
  double alpha = 0;  // resolved: rank unless given
  bool rslora = false;
  std::vector<std::string> targets{"all-linear"};
  double dropout = 0;
  std::vector<std::string> train{};  // patterns of tensors that train beside the adapters
  std::string from{};                // PEFT folder to begin with; empty: new adapters
  /// Returns the factor of the adapters' products.
  [[nodiscard]] double scale() const {
    const auto r = static_cast<double>(rank);
    return rank == 0 ? 0 : alpha / (rslora ? std::sqrt(r) : r);
  }
  friend bool operator==(const LoraConfig&, const LoraConfig&) = default;
};

/// What the data teach. response: the second text of a document, the first is its prompt; chat: the
/// answers of a conversation; masked: hidden tokens; pairs: from the encoder's text the decoder's;
/// spans: what is cut out of the encoder's text.
enum class DataTask : std::uint8_t { text, response, chat, masked, pairs, spans };

/// Returns whether a task has a text that the encoder reads and one that the decoder predicts.
inline bool reads_two_texts(DataTask task) {
  return task == DataTask::pairs || task == DataTask::spans;
}

/// Returns whether few tokens of a text are learned. What rows of "samples" hold is not known; a
/// model that learns hidden tokens has the task masked with them too.
inline bool learns_few(DataTask task) {
  return task == DataTask::response || task == DataTask::chat || task == DataTask::masked;
}

/// How rows are made of documents. cut: all documents are one stream, which is cut; whole:
/// documents are put side by side.
enum class RowKind : std::uint8_t { cut, whole };

/// What happens to documents that are longer than a row.
enum class LongDocuments : std::uint8_t { split, cut, drop };

/// Files whose loss is computed and recorded under a name of its own.
struct NamedFiles {
  std::string name;                // letters, digits, "_", "-" and "."
  std::vector<std::string> files;  // globs, absolute once resolved
  friend bool operator==(const NamedFiles&, const NamedFiles&) = default;
};

struct DataConfig {
  std::vector<std::string> train;           // globs, absolute once resolved
  std::vector<std::string> validation;      // globs; empty: held-out tails of the training files
  std::vector<NamedFiles> validation_sets;  // by name; where there are any, `validation` is empty
  double validation_fraction = 0.05;  // of each training file; 0 = no validation; unused with globs
  std::vector<double> weights;        // of the patterns of train; empty: all files are one source
  std::string format = "text";
  std::string tokenizer = "bytes";  // or "none", or a path; resolved: by format unless given
  std::int64_t seq_len = 0;
  std::int64_t encoder_len = 0;          // of the encoder's sequences, for models that have one
  DataTask task = DataTask::text;        // resolved: by the model unless given
  std::vector<std::string> json_fields;  // or columns; resolved: by the task unless given
  RowKind rows = RowKind::cut;           // resolved: by the task unless given
  LongDocuments longs = LongDocuments::split;  // resolved: by the task unless given
  bool join = false;                           // rows = cut: documents see each other
  double mask = 0.15;                          // share of the tokens that are predicted
  double span = 3;                             // task = spans: mean tokens of a span
  std::string end = "auto";                    // token behind each document; "none"; or its text
  std::string chat_template = "auto";          // name, or by the tokenizer's files
  std::string chat_begin, chat_system, chat_user, chat_assistant;  // of chat_template = "own"
  std::string cache = "auto";                                      // folder of tokens made of texts
  DataFields fields{};
  friend bool operator==(const DataConfig&, const DataConfig&) = default;
};

/// Returns whether the data are files whose bytes are one stream of tokens, without documents.
inline bool is_byte_stream(const DataConfig& data) {
  return data.format == "text" && data.tokenizer == "bytes" && data.rows == RowKind::cut;
}

/// global = micro * accum * virtual_ranks, in sequences.
struct BatchConfig {
  std::int64_t micro = 0;   // sequences per micro-batch of one virtual rank
  std::int64_t accum = 0;   // micro-batches per optimizer step
  std::int64_t global = 0;  // sequences per optimizer step
  friend bool operator==(const BatchConfig&, const BatchConfig&) = default;
};

struct DeterminismConfig {
  std::int64_t virtual_ranks = 0;              // resolved: the world size unless given
  ReduceOrder order = ReduceOrder::automatic;  // resolved: boundary or step
  friend bool operator==(const DeterminismConfig&, const DeterminismConfig&) = default;
};

struct RunConfig {
  std::int64_t steps = 0;  // 0: by epochs, once the data are known
  double epochs = 0;       // 0: steps are given
  std::int64_t seed = 1;
  std::vector<std::string> freeze;     // patterns of the tensors that do not train
  std::int64_t validate_every = 0;     // steps; 0 = only at the end
  std::int64_t validate_batches = 16;  // micro-batches per virtual rank
  friend bool operator==(const RunConfig&, const RunConfig&) = default;
};

/// What to load when resume is a path.
enum class LoadWhat : std::uint8_t { all, weights };

struct CheckpointConfig {
  std::string dir;         // empty: nothing is saved
  std::int64_t every = 0;  // steps; 0 = no saves by step
  double minutes = 0;      // 0 = no saves by time
  bool at_end = true;
  bool on_signal = true;
  std::int64_t keep = 3;         // 0 = all
  std::int64_t major_every = 0;  // 0 = none
  bool async = true;
  std::int64_t rate = 0;  // bytes per second of one rank; 0 = unlimited
  std::string resume = "auto";
  LoadWhat load = LoadWhat::all;
  friend bool operator==(const CheckpointConfig&, const CheckpointConfig&) = default;

  [[nodiscard]] bool saves() const { return !dir.empty(); }
  /// Returns whether saves happen while training continues.
  [[nodiscard]] bool is_periodic() const { return saves() && (every > 0 || minutes > 0); }
};

/// Copies of the states in memory that outlives the ranks (engine/train/keeper.h).
struct ElasticConfig {
  std::int64_t every = kAuto;  // steps; 0 = none; or kAuto
  // Not keys: whether this job keeps states, and whether on two nodes. The launch decides.
  bool keeps = false, has_buddies = false;
  friend bool operator==(const ElasticConfig&, const ElasticConfig&) = default;

  /// Returns how many slots a rank fills: two for its own states, two for its ward's.
  [[nodiscard]] int slots() const { return !keeps ? 0 : has_buddies ? 4 : 2; }
};

struct SampleConfig {
  std::string prompt;
  std::int64_t tokens = 0;  // 0 = no sample
  double temperature = 0.8;
  std::int64_t top_k = 0;  // 0 = all
  std::int64_t seed = 1;
  friend bool operator==(const SampleConfig&, const SampleConfig&) = default;
};

/// Whether figures are also written in another form, and where.
struct LogPlace {
  bool on = false;
  std::string dir{};  // empty: in the folder of the run
  friend bool operator==(const LogPlace&, const LogPlace&) = default;
};

struct LogConfig {
  std::string dir;          // empty: a new folder runs/NAME-DATE-N in the working directory
  std::int64_t every = 10;  // steps
  bool samples = false;     // every rank records the samples of each step
  bool phases = true;       // measure what each step's time is spent on
  LogPlace tensorboard{}, csv{};
  std::string trace;  // steps that are recorded op by op; see parse_step_range(); empty: none
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

/// Whether parts of a step are recorded as CUDA graphs.
enum class UseGraphs : std::uint8_t { automatic, on, off };

/// Whether GELU and bias gradients are computed inside the device's matrix product library.
enum class Epilogues : std::uint8_t { exact, fused };

struct DeviceConfig {
  std::string backend = "auto";  // resolved: cpu or cuda
  std::int64_t threads = 0;      // 0 = this rank's share of the node's cores
  std::string isa = "auto";
  std::int64_t memory = 0;       // device bytes that a rank may use; 0 = auto
  std::int64_t host_memory = 0;  // host bytes that a rank may use; 0 = auto
  UseGraphs graphs = UseGraphs::automatic;
  Epilogues epilogues = Epilogues::exact;
  friend bool operator==(const DeviceConfig&, const DeviceConfig&) = default;
};

/// Returns whether the device has its own memory, apart from the host's.
inline bool is_accelerator(const DeviceConfig& device) { return device.backend == "cuda"; }

struct CommConfig {
  double timeout =
      20;  // seconds: maximum silence of one rank, and maximum time without progress of any
  friend bool operator==(const CommConfig&, const CommConfig&) = default;
};

struct DebugConfig {
  std::string non_finite;  // see parse_planted_fault(); empty: none
  std::string slow_data;   // see parse_planted_delay(); empty: none
  friend bool operator==(const DebugConfig&, const DebugConfig&) = default;
};

struct TrainConfig {
  ModelConfig model;
  LoraConfig lora;
  DataConfig data;
  BatchConfig batch;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  PrecisionConfig precision;
  ZeroConfig zero;
  OffloadConfig offload;
  RecomputeConfig recompute;
  DeterminismConfig determinism;
  CheckpointConfig checkpoint;
  ElasticConfig elastic;
  RunConfig train;
  SampleConfig sample;
  LogConfig log;
  DeviceConfig device;
  CommConfig comm;
  DebugConfig debug;
  friend bool operator==(const TrainConfig&, const TrainConfig&) = default;
};

}  // namespace ds
