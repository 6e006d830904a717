// Reads checkpoints with the product's reader and compares its verdict with the values.
#include "e2e/checkpoint/saved_steps.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>

#include "engine/base/error.h"
#include "engine/checkpoint/reader.h"
#include "engine/checkpoint/save_folder.h"

namespace ds::test {
namespace {

namespace fs = std::filesystem;

/// Hash of values in the model's order, independent of where and by which rank they were written.
class Content {
 public:
  Content() { XXH3_128bits_reset(state_.get()); }
  void add(const void* bytes, std::size_t size) { XXH3_128bits_update(state_.get(), bytes, size); }
  void add(const std::string& text) { add(text.data(), text.size()); }
  [[nodiscard]] std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

std::int64_t elements_of(const TensorEntry& tensor) {
  return std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

void read_all(SavedStep& saved, const std::string& folder) {
  const auto checkpoint = Checkpoint::open(folder);
  const TrainingState& state = checkpoint->manifest().state;
  Content content;
  const LossScaleState& scale = state.loss_scale;
  content.add(fmt::format("{} {} {} {} {} {:a} {:a} {} {} {}", state.step, state.next_sample,
                          state.seed, state.updates, state.skipped, state.lr, scale.scale,
                          scale.hysteresis, scale.iteration, scale.last_overflow));
  PieceReader reader(checkpoint);
  std::vector<float> values;
  for (const TensorEntry& tensor : checkpoint->manifest().tensors) {
    for (const StateEntry& each : tensor.states) {
      values.assign(static_cast<std::size_t>(elements_of(tensor)), 0.0F);
      reader.read(tensor.name, each.name, 0, values);
      content.add(tensor.name + each.name);
      content.add(values.data(), values.size() * sizeof(float));
      saved.pieces += static_cast<std::int64_t>(each.pieces.size());
    }
  }
  if (state.step != saved.step)
    throw Error(ErrorKind::config, fmt::format("its manifest is of step {}", state.step));
  saved.content = content.text();
}

std::vector<std::string> names_in(const fs::path& dir) {
  std::vector<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(dir, none))
    names.push_back(entry.path().filename());
  std::ranges::sort(names, std::greater<>());
  return names;
}

std::string file_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

std::vector<SavedStep> saved_steps(const fs::path& dir) {
  std::vector<SavedStep> all;
  for (const std::string& name : names_in(dir)) {
    const auto step = step_of(name);
    if (!step) continue;
    SavedStep saved{.step = *step, .name = name};
    try {
      read_all(saved, dir / name);
    } catch (const Error& error) {
      saved.problem = error.what();
    }
    all.push_back(std::move(saved));
  }
  return all;
}

std::vector<std::string> other_names(const fs::path& dir) {
  std::vector<std::string> names = names_in(dir);
  std::erase_if(names, [](const std::string& name) { return step_of(name).has_value(); });
  return names;
}

std::string harm(const fs::path& checkpoint, std::mt19937_64& random) {
  const std::vector<std::string> names = names_in(checkpoint);
  if (names.empty()) return "nothing to harm";
  const fs::path path = checkpoint / names[random() % names.size()];
  std::string bytes = file_bytes(path);
  const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
  std::string what;
  switch (random() % 6) {
    case 0:
      fs::remove(path);
      return fmt::format("{} removed", path.filename().string());
    case 1:
      bytes.resize(at);
      what = fmt::format("cut at byte {}", at);
      break;
    case 2: {
      const std::size_t size = std::min<std::size_t>(4096, bytes.size() - at);
      bytes.replace(at, size, size, '\0');
      what = fmt::format("{} zeros at byte {}", size, at);
      break;
    }
    default:
      if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      what = fmt::format("one bit of byte {} flipped", at);
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  return fmt::format("{}: {}", path.filename().string(), what);
}

}  // namespace ds::test
