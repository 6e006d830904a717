#include "runner/fill_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/token_numbers.h"
#include "engine/sample/fill_masks.h"
#include "runner/loaded_model.h"

namespace ds {
namespace {

using Filled = std::vector<std::vector<FilledMask>>;

std::int32_t mask_of(const ToolWords& words, const SampledModel& model) {
  if (words.has("--mask")) {
    const std::int64_t given = words.number("--mask");
    if (given < model.tokens) return static_cast<std::int32_t>(given);
    throw Error(ErrorKind::usage,
                fmt::format("--mask {} is beyond the model's {} tokens", given, model.tokens));
  }
  if (model.mask) return *model.mask;
  throw Error(ErrorKind::usage,
              fmt::format("{}: its files do not say which token is the mask", model.path),
              "give its number: --mask 103 is BERT's, 50264 RoBERTa's");
}

void require_masks(const FillRequest& request) {
  for (std::size_t i = 0; i < request.prompts.size(); ++i) {
    if (std::ranges::find(request.prompts[i], request.mask) != request.prompts[i].end()) continue;
    throw Error(ErrorKind::usage, fmt::format("prompt {} has no mask", i + 1),
                fmt::format("put the mask token where a token is to be filled in: as a number {}, "
                            "in a text usually [MASK] (BERT) or <mask> (RoBERTa)",
                            request.mask));
  }
}

std::vector<std::int32_t> filled_prompt(const FillRequest& request, const Filled& filled,
                                        std::size_t i) {
  std::vector<std::int32_t> tokens = request.prompts[i];
  for (const FilledMask& mask : filled[i]) tokens[mask.at] = mask.token;
  return tokens;
}

std::string json_of(const FillRequest& request, const Filled& filled, const TextCodec* codec) {
  using Json = nlohmann::ordered_json;
  std::string all;
  for (std::size_t i = 0; i < filled.size(); ++i) {
    Json masks = Json::array();
    for (const FilledMask& mask : filled[i]) {
      Json one = {{"at", mask.at}, {"token", mask.token}};
      for (const MaskCandidate& candidate : mask.likeliest)
        one["candidates"].push_back(
            {{"token", candidate.token}, {"probability", candidate.probability}});
      masks.push_back(std::move(one));
    }
    const std::vector<std::int32_t> tokens = filled_prompt(request, filled, i);
    Json prompt = {{"prompt", request.prompts[i]}, {"tokens", tokens}, {"masks", std::move(masks)}};
    if (codec != nullptr) prompt["text"] = codec->decode(tokens);
    all += i == 0 ? "[" : ",\n ";
    all += prompt.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return all + "]\n";
}

/// Returns the filled prompt, and a line for each mask if candidates are listed.
std::string lines_of(const FillRequest& request, const Filled& filled, const TextCodec* codec) {
  std::string lines;
  for (std::size_t i = 0; i < filled.size(); ++i) {
    const std::vector<std::int32_t> tokens = filled_prompt(request, filled, i);
    lines += (codec != nullptr ? codec->decode(tokens) : text_of_tokens(tokens)) + '\n';
    for (const FilledMask& mask : filled[i]) {
      if (mask.likeliest.empty()) continue;
      lines += fmt::format("  {}:", mask.at + 1);
      for (const auto& [token, probability] : mask.likeliest)
        lines += codec != nullptr
                     ? fmt::format(" '{}' {:.4f}", codec->decode(std::span(&token, 1)), probability)
                     : fmt::format(" {} {:.4f}", token, probability);
      lines += '\n';
    }
  }
  return lines;
}

}  // namespace

void run_fill(const ToolWords& words, const SampledModel& model, const TextCodec* codec,
              const std::vector<Prompt>& prompts, const TokenChoice& choice, Backend& backend) {
  for (const char* option : {"--length", "--end", "--ignore-end"}) {
    if (words.has(option))
      throw Error(ErrorKind::usage,
                  fmt::format("{} has no effect: a {} fills masks and adds no tokens", option,
                              model.model.arch));
  }
  FillRequest request{
      .prompts = tokens_of(prompts,
                           {.tokens = model.tokens, .positions = model.positions, .codec = codec}),
      .mask = mask_of(words, model),
      .choice = choice,
      .seed = static_cast<std::uint64_t>(words.number("--seed", 1)),
      .valid_vocab = model.tokens,
      .candidates = std::min(words.number("--candidates"), model.tokens)};
  require_masks(request);
  request.together = together_of(words, request.prompts.size());
  ModelShape shape = shape_to_fill(request, sampled_type(words));
  shape.positions = model.table_positions;
  LoadedModel loaded(model, {build_sampled(model, shape)}, backend);
  const Filled filled = fill_masks(loaded.program(0), request);
  fmt::print("{}", words.has("--json") ? json_of(request, filled, codec)
                                       : lines_of(request, filled, codec));
}

}  // namespace ds
