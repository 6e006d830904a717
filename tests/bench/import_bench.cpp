// Measures how fast one rank reads a Hugging Face folder from the page cache, by processor time. Asserts nothing.
// Figures: import_results.md.
//   import_bench [GIB [PIECE]]   default: 1 GiB of bf16, read in pieces of 4 Mi elements
// The folder has Llama's form: 32,000 tokens, width 2,048. Prints GiB of the file a second, for tensors as they are (the
// embedding) and for those that are stored transposed, bf16 and f32; beside it a plain copy of as many bytes.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include "engine/exchange/hf_config_json.h"
#include "engine/exchange/hf_model.h"
#include "engine/exchange/shards.h"

namespace {

/// Returns the seconds of processor time that this process has taken: what the wall clock shows on a machine with nothing
/// else to do, since all files are in the page cache.
double now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

ds::ModelConfig model_of(double gib, ds::DType dtype) {
  ds::ModelConfig model;
  model.arch = "llama";
  model.hidden = 2048;
  model.heads = model.kv_heads = 16;
  model.ffn = 5632;
  model.vocab = 32000;
  model.tied = true;
  const double block = 4.0 * 2048 * 2048 + 3.0 * 2048 * 5632;
  const double wanted = gib * (1 << 30) / static_cast<double>(ds::size_of(dtype));
  model.layers = std::max(1, static_cast<int>((wanted - 32000.0 * 2048) / block));
  return model;
}

void write_folder(const std::string& folder, const ds::ModelConfig& model, ds::DType dtype) {
  const auto tensors = ds::hf_tensors(model, model.vocab, 16);
  const auto shards = ds::cut_shards(tensors, dtype, std::int64_t{1} << 60);
  std::ofstream(folder + "/config.json") << ds::hf_config_json(model, model.vocab, 16, dtype);
  std::ofstream file(folder + "/model.safetensors", std::ios::binary);
  file << shards[0].header;
  std::vector<char> values(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(i * 31 % 61);
  for (std::int64_t left = shards[0].bytes - std::ssize(shards[0].header); left > 0;) {
    const auto now = std::min<std::int64_t>(left, std::ssize(values));
    file.write(values.data(), now);
    left -= now;
  }
}

/// Reads all tensors, those that are transposed or the others, and returns GiB of the file a second.
double rate_of(const std::string& folder, const ds::ModelConfig& model, ds::DType dtype,
               bool transposed, std::int64_t piece) {
  ds::HfModel file(folder, {.model = model, .positions = 16});
  std::vector<float> into(static_cast<std::size_t>(piece));
  double bytes = 0;
  std::string last;
  const double start = now();
  for (const ds::HfTensor& tensor : ds::hf_tensors(model, model.vocab, 16)) {
    if (tensor.transposed != transposed || tensor.ours == last) continue;
    last = tensor.ours;
    const std::int64_t elements = tensor.our_rows * tensor.our_columns;
    for (std::int64_t first = 0; first < elements; first += piece)
      file.read(last, first, std::span(into).first(static_cast<std::size_t>(std::min(piece, elements - first))));
    bytes += static_cast<double>(elements * ds::size_of(dtype));
  }
  return bytes / (now() - start) / (1 << 30);
}

double copy_rate() {
  std::vector<char> from(256 << 20, 1), to(256 << 20, 2);
  const double start = now();
  for (int i = 0; i < 4; ++i) std::memcpy(to.data(), from.data(), from.size());
  return 4.0 * static_cast<double>(from.size()) / (now() - start) / (1 << 30);
}

}  // namespace

int main(int count, char** words) {
  const double gib = count > 1 ? std::atof(words[1]) : 1;
  const std::int64_t piece = count > 2 ? std::atoll(words[2]) : 4 << 20;
  std::string folder = std::filesystem::temp_directory_path() / "import_bench.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  fmt::print("a copy of memory: {:.2f} GiB/s\n", copy_rate());
  for (const ds::DType dtype : {ds::DType::bf16, ds::DType::f32}) {
    const ds::ModelConfig model = model_of(gib, dtype);
    write_folder(folder, model, dtype);
    for (const bool transposed : {false, true}) {
      fmt::print("{}, {}:", ds::name_of(dtype), transposed ? "transposed" : "as stored");
      for (int round = 0; round < 3; ++round)
        fmt::print(" {:.2f}", rate_of(folder, model, dtype, transposed, piece));
      fmt::print(" GiB/s\n");
    }
  }
  std::filesystem::remove_all(folder);
  return 0;
}
