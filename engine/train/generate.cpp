// Samples text from the forward program.
#include "engine/train/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/token_numbers.h"
#include "engine/data/byte_tokens.h"
#include "engine/tensor/philox.h"

namespace ds {
namespace {

double uniform_number(std::uint64_t seed, std::uint32_t index) {
  const auto words = philox({index, 0, 0, 0x5A4D504CU}, {static_cast<std::uint32_t>(seed),
                                                         static_cast<std::uint32_t>(seed >> 32)});
  return words[0] * 0x1p-32;
}

// The trunk ends where the head would read the last activation and its weights.
ValueId head_weights_of(const Program& trunk) {
  for (const Op& op : trunk.ops) {
    if (op.path == "head") return op.in.at(1);
  }
  DS_ASSERT(false, "every language model has a head");
  return kNoValue;
}

}  // namespace

int choose_token(std::span<const float> logits, std::int64_t valid, double temperature,
                 std::int64_t top_k, double uniform) {
  std::vector<int> order(
      static_cast<std::size_t>(std::min<std::int64_t>(valid, std::ssize(logits))));
  std::iota(order.begin(), order.end(), 0);
  const auto larger = [&](int a, int b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  std::sort(order.begin(), order.end(), larger);
  if (temperature <= 0) return order.front();
  if (top_k > 0 && top_k < std::ssize(order)) order.resize(static_cast<std::size_t>(top_k));
  const double largest = logits[static_cast<std::size_t>(order.front())];
  std::vector<double> upto;
  double total = 0;
  for (const int token : order) {
    total += std::exp((logits[static_cast<std::size_t>(token)] - largest) / temperature);
    upto.push_back(total);
  }
  const auto chosen = std::upper_bound(upto.begin(), upto.end(), uniform * total);
  return order[static_cast<std::size_t>(std::min(chosen - upto.begin(), std::ssize(upto) - 1))];
}

std::string generate(const Program& trunk, Executor& executor, const TrainConfig& all,
                     Backend& backend, Stream& stream) {
  const SampleConfig& config = all.sample;
  const bool has_text = all.data.tokenizer == "bytes";
  const Tensor tokens = executor.tensor(trunk.input(input::kTokens));
  const auto positions = tokens.elements();
  const Tensor head = executor.tensor(head_weights_of(trunk));
  const Tensor final_rows = executor.tensor(trunk.final_activation);
  const std::int64_t width = final_rows.shape[1];
  const auto vocab = static_cast<std::size_t>(head.shape[0]);
  const auto memory = backend.device->allocate(Tier::pinned_host, vocab * sizeof(float));
  const std::span<const float> logits(reinterpret_cast<const float*>(memory->data()), vocab);

  std::vector<std::int32_t> text =
      has_text ? encode_bytes(config.prompt.empty() ? "\n" : config.prompt)
               : token_numbers(config.prompt).value_or(std::vector<std::int32_t>{0});
  const std::size_t prompt_tokens =
      config.prompt.empty() ? 1 : 0;  // the newline that stands for an empty prompt is not printed
  std::size_t begin = 0;
  StepContext context;
  for (std::int64_t made = 0; made < config.tokens; ++made) {
    while (std::ssize(text) - static_cast<std::int64_t>(begin) > positions) {
      begin = text.size() - static_cast<std::size_t>(std::max<std::int64_t>(positions / 2, 1));
    }
    const auto length = std::ssize(text) - static_cast<std::int64_t>(begin);
    auto* input = static_cast<std::int32_t*>(tokens.data);
    std::fill_n(input, positions, 0);  // the model is causal: tokens after the text have no effect
    std::copy_n(text.begin() + static_cast<std::int64_t>(begin), length, input);
    executor.run(context);
    const std::byte* row = static_cast<const std::byte*>(final_rows.data) +
                           (length - 1) * width * size_of(final_rows.dtype);
    backend.kernels->run(Logits{.in = {row, final_rows.dtype, {1, width}},
                                .weight = head,
                                .out = {memory->data(), DType::f32, {1, head.shape[0]}}},
                         stream);
    stream.synchronize();
    text.push_back(choose_token(
        logits, all.model.tokens, config.temperature, config.top_k,
        uniform_number(static_cast<std::uint64_t>(config.seed), static_cast<std::uint32_t>(made))));
  }
  const std::span shown = std::span(text).subspan(prompt_tokens);
  return has_text ? decode_bytes(shown) : text_of_tokens(shown);
}

}  // namespace ds
