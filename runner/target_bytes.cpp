#include "runner/target_bytes.h"

#include <vector>

namespace ds {

void TargetBytes::add(std::span<const BatchInput> inputs, std::int64_t sequences) {
  const auto numbers = [&](const char* name) {
    const Tensor memory = memory_of(inputs, name);
    return std::span(static_cast<const std::int32_t*>(memory.data),
                     static_cast<std::size_t>(memory.elements()));
  };
  const std::span tokens = numbers(input::kTokens), targets = numbers(input::kTargets);
  const std::size_t length = targets.size() / static_cast<std::size_t>(sequences);
  for (std::size_t i = 0; i < targets.size();) {
    const std::size_t row_end = (i / length + 1) * length;
    std::size_t end = i;
    while (end < row_end && targets[end] >= 0) ++end;
    if (end > i) bytes_ += of_run(tokens[i], targets.subspan(i, end - i));
    i = end == i ? i + 1 : end;
  }
}

// A tokenizer's first token may lose the space before it, so the run is decoded behind the token
// that stands there.
std::int64_t TargetBytes::of_run(std::int32_t before, std::span<const std::int32_t> run) const {
  if (!tokenizer_) return std::ssize(run);
  std::vector<std::int32_t> all{before};
  const auto size = [&] { return std::ssize(tokenizer_->decode(all)); };
  const std::int64_t without = size();
  all.insert(all.end(), run.begin(), run.end());
  return size() - without;
}

}  // namespace ds
