#include "engine/sample/fill_masks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

namespace ds {
namespace {

using Prompts = std::span<const std::vector<std::int32_t>>;

/// Returns the most tokens of a softmax with the highest logits, the likeliest first.
std::vector<MaskCandidate> likeliest_of(std::span<const float> logits, std::int64_t count) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.begin() + std::min<std::ptrdiff_t>(count, std::ssize(order));
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  std::partial_sort(order.begin(), last, order.end(), [&](std::int32_t a, std::int32_t b) {
    return logit(a) != logit(b) ? logit(a) > logit(b) : a < b;
  });
  std::vector<MaskCandidate> likeliest;
  for (auto token = order.begin(); token != last; ++token)
    likeliest.push_back({*token, std::exp(logit(*token) - largest) / sum});
  return likeliest;
}

class Filling {
 public:
  Filling(BoundProgram model, const FillRequest& request)
      : model_(model),
        request_(request),
        chooser_(request.valid_vocab),
        tokens_(model.numbers(input::kTokens)),
        positions_(model.numbers(input::kPositions)),
        documents_(model.numbers(input::kDocuments)),
        types_(model.numbers(input::kTokenTypes)),
        rows_(model.numbers(input::kLast)),
        length_(model.program.extents.seq_len) {
    for (const Input& in : model.program.micro_batches[0].inputs)
      if (in.name == input::kPositions) first_position_ = in.first;
  }

  /// Fills the masks of some prompts; `first`: the number of the first one.
  void run(Prompts prompts, std::size_t first, std::span<std::vector<FilledMask>> out) {
    const std::int64_t sequences = model_.program.extents.micro;
    for (std::int64_t b = 0; b < sequences; ++b)
      write(b, b < std::ssize(prompts) ? std::span(prompts[static_cast<std::size_t>(b)])
                                       : std::span<const std::int32_t>());
    std::vector<std::int64_t> rows;
    for (std::size_t b = 0; b < prompts.size(); ++b)
      for (std::size_t t = 0; t < prompts[b].size(); ++t)
        if (prompts[b][t] == request_.mask)
          rows.push_back(static_cast<std::int64_t>(b) * length_ + static_cast<std::int64_t>(t));
    const std::int64_t places = model_.executor.tensor(model_.program.logits).shape[0];
    for (std::int64_t i = 0; rows_ != nullptr && i < places; ++i)
      rows_[i] =
          i < std::ssize(rows) ? static_cast<std::int32_t>(rows[static_cast<std::size_t>(i)]) : 0;
    model_.executor.run(context_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto prompt = static_cast<std::size_t>(rows[i] / length_);
      const std::int64_t place = rows_ != nullptr ? static_cast<std::int64_t>(i) : rows[i];
      out[prompt].push_back(filled(place, first + prompt, out[prompt].size()));
      out[prompt].back().at = static_cast<std::size_t>(rows[i] % length_);
    }
  }

 private:
  /// Writes one sequence of the inputs; what is behind the prompt is padding.
  void write(std::int64_t sequence, std::span<const std::int32_t> prompt) {
    for (std::int64_t t = 0; t < length_; ++t) {
      const std::int64_t at = sequence * length_ + t;
      const bool is_padding = t >= std::ssize(prompt);
      tokens_[at] = is_padding ? 0 : prompt[static_cast<std::size_t>(t)];
      documents_[at] = is_padding ? -1 : 0;
      if (positions_ != nullptr) positions_[at] = static_cast<std::int32_t>(first_position_ + t);
      if (types_ != nullptr) types_[at] = 0;
    }
  }

  FilledMask filled(std::int64_t place, std::size_t prompt, std::size_t mask) {
    const Tensor all = model_.executor.tensor(model_.program.logits);
    const std::span logits(static_cast<const float*>(all.data) + place * all.shape[1],
                           static_cast<std::size_t>(request_.valid_vocab));
    try {
      FilledMask made{
          .token = chooser_.choose(logits, request_.choice,
                                   uniform_number(request_.seed, static_cast<std::uint32_t>(prompt),
                                                  static_cast<std::uint32_t>(mask)))};
      if (request_.candidates > 0) made.likeliest = likeliest_of(logits, request_.candidates);
      return made;
    } catch (const Error& error) {
      throw error.with_context(fmt::format("prompt {}, mask {}", prompt + 1, mask + 1));
    }
  }

  BoundProgram model_;
  const FillRequest& request_;
  TokenChooser chooser_;
  std::int32_t *tokens_, *positions_, *documents_, *types_, *rows_;
  std::int64_t length_, first_position_ = 0;
  StepContext context_;
};

}  // namespace

ModelShape shape_to_fill(const FillRequest& request, DType act) {
  std::int64_t longest = 0, masks = 0;
  const auto together = static_cast<std::size_t>(request.together);
  for (std::size_t first = 0; first < request.prompts.size(); first += together) {
    std::int64_t here = 0;
    for (std::size_t i = first; i < std::min(first + together, request.prompts.size()); ++i) {
      longest = std::max(longest, std::ssize(request.prompts[i]));
      here += std::ranges::count(request.prompts[i], request.mask);
    }
    masks = std::max(masks, here);
  }
  DS_ASSERT(masks > 0);
  return {.micro = request.together,
          .seq_len = longest,
          .valid_vocab = request.valid_vocab,
          .act = act,
          .logits = masks,
          .fields = {.documents = true}};
}

std::vector<std::vector<FilledMask>> fill_masks(BoundProgram model, const FillRequest& request) {
  std::vector<std::vector<FilledMask>> all(request.prompts.size());
  Filling filling(model, request);
  const auto together = static_cast<std::size_t>(request.together);
  for (std::size_t first = 0; first < all.size(); first += together) {
    const std::size_t count = std::min(together, all.size() - first);
    filling.run(Prompts(request.prompts).subspan(first, count), first,
                std::span(all).subspan(first, count));
  }
  return all;
}

}  // namespace ds
