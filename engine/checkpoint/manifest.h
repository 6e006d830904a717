// Data of a checkpoint as its manifest.json states it (docs/checkpoint.md). Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/schedule/loss_scale.h"
#include "engine/tensor/tensor.h"

namespace ds {

/// Increases when older readers would misread a checkpoint. Readers refuse newer versions.
inline constexpr int kCheckpointVersion = 1;

/// Names of a tensor's states. Readers ignore unknown names.
inline constexpr std::string_view kMaster =
    "master";  // fp32 weights, from which other weights are rounded
inline constexpr std::string_view kMoment1 = "moment1";  // Adam: m; SGD: momentum
inline constexpr std::string_view kMoment2 = "moment2";  // Adam: v

/// Largest size of a piece. Readers read whole pieces, so that all bytes they use are verified.
inline constexpr std::int64_t kPieceBytes = 8 << 20;

/// A block of a logical tensor: by dimension, its offset and its extent.
struct Box {
  std::vector<std::int64_t> offset{}, extent{};
  friend bool operator==(const Box&, const Box&) = default;
};

/// Elements [first, first + elements) of a box in row-major order, dense and little-endian, at byte
/// `at` of a chunk file.
struct Piece {
  Box box{};
  std::int64_t first = 0, elements = 0;
  int chunk = 0;  // index in Manifest::chunks
  std::int64_t at = 0;
  std::uint64_t checksum = 0;  // XXH3-64 of the bytes
  int rank = -1;               // owner, for StateClass::per_rank; else -1
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// How ranks held a state. sharded, replicated: the pieces cover the tensor once, whoever wrote
/// them. per_rank: each rank has its own, loaded only by the same rank at the same world size.
enum class StateClass : std::uint8_t { sharded, replicated, per_rank };

struct StateEntry {
  std::string name{};  // kMaster, ...
  DType dtype = DType::f32;
  StateClass held = StateClass::sharded;
  std::vector<Piece> pieces{};  // by rank, box offset, first
  friend bool operator==(const StateEntry&, const StateEntry&) = default;
};

struct TensorEntry {
  std::string name{};                 // as ParamTensor::name
  std::vector<std::int64_t> shape{};  // logical, unpadded
  std::vector<StateEntry> states{};
  friend bool operator==(const TensorEntry&, const TensorEntry&) = default;
};

struct ChunkFile {
  std::string name{};      // in the checkpoint's folder
  std::int64_t bytes = 0;  // of the file
  friend bool operator==(const ChunkFile&, const ChunkFile&) = default;
};

/// Everything besides tensors that the next step depends on. Random numbers depend on seed, step
/// and sample only, so these are their whole state.
struct TrainingState {
  std::int64_t step = 0;         // finished steps
  std::int64_t next_sample = 0;  // first sample that no step has used
  std::int64_t seed = 0;
  std::int64_t updates = 0, skipped = 0;  // position in the schedule; skipped steps
  double lr = 0;                          // of the last update, for information
  LossScaleState loss_scale{};
  friend bool operator==(const TrainingState&, const TrainingState&) = default;
};

/// Where a run began; empty path: with new weights.
struct Origin {
  std::string path{};
  std::string load{};  // "all" or "weights"
  friend bool operator==(const Origin&, const Origin&) = default;
};

struct Manifest {
  int version = kCheckpointVersion;
  TrainingState state{};
  std::int64_t saved_ms = 0;  // Unix time
  std::string program{};      // "dslaunch 0.1.0"
  std::string build{};        // build_id()
  int world_size = 1;         // number of ranks that saved
  Origin origin{};
  std::string arithmetic{};  // arithmetic_list(): lines "name = value"
  std::string config{};      // the resolved config, as TOML
  std::vector<ChunkFile> chunks{};
  std::vector<TensorEntry> tensors{};  // in the model's order
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// One rank's chunk and its pieces, before rank 0 joins the parts. `tensors` has only what this
/// rank wrote, with Piece::chunk = 0.
struct ChunkPart {
  int rank = 0;
  ChunkFile chunk{};
  std::vector<TensorEntry> tensors{};
  friend bool operator==(const ChunkPart&, const ChunkPart&) = default;
};

}  // namespace ds
