// Reads the words of `sample`; continues texts and prints them, or has masks filled.
#include "runner/sample_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/token_numbers.h"
#include "engine/base/tool_options.h"
#include "engine/plugin/choose_backend.h"
#include "engine/sample/decode_programs.h"
#include "engine/sample/generate.h"
#include "engine/sample/open_model.h"
#include "runner/fill_command.h"
#include "runner/loaded_model.h"
#include "runner/sample_prompts.h"

namespace ds {
namespace {

constexpr std::int64_t kLength = 64;

GenerateRequest request_of(const ToolWords& words) {
  GenerateRequest request{.length = words.number("--length", kLength),
                          .choice = {.temperature = words.decimal("--temperature", 0),
                                     .top_k = words.number("--top-k"),
                                     .top_p = words.decimal("--top-p", 1)},
                          .seed = static_cast<std::uint64_t>(words.number("--seed", 1))};
  for (const char* option : {"--top-k", "--top-p", "--seed"}) {
    if (words.has(option) && request.choice.temperature == 0)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} has no effect: --temperature 0 takes the likeliest token", option),
          "give --temperature 1, too");
  }
  if (words.has("--end") && words.has("--ignore-end"))
    throw Error(ErrorKind::usage, "--end and --ignore-end cannot be combined");
  return request;
}

Backend backend_of(const ToolWords& words) {
  DeviceConfig device;
  if (words.has("--device")) device.backend = words.value("--device");
  device.threads = words.number("--threads");
  device.backend = choose_backend(device).backend;
  return make_backend(device, 0);
}

/// Returns an array with one line for each prompt.
std::string json_of(const GenerateRequest& request, const std::vector<Continuation>& made,
                    const TextCodec* codec) {
  using Json = nlohmann::ordered_json;
  std::string all;
  for (std::size_t i = 0; i < made.size(); ++i) {
    Json one = {
        {"prompt", request.prompts[i]}, {"tokens", made[i].tokens}, {"ended", made[i].ended}};
    if (codec != nullptr) one["text"] = codec->decode(made[i].tokens);
    all += i == 0 ? "[" : ",\n ";
    all += one.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return all + "]\n";
}

/// Returns the tokens of the continuations.
std::string lines_of(const std::vector<Continuation>& made) {
  std::string lines;
  for (const Continuation& each : made) lines += text_of_tokens(each.tokens) + '\n';
  return lines;
}

/// Returns the texts, with their prompts unless an encoder reads those.
std::string texts_of(const GenerateRequest& request, const std::vector<Continuation>& made,
                     const TextCodec& codec, bool with_prompts) {
  std::string lines;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (made.size() > 1) lines += fmt::format("{}=== {}\n", i > 0 ? "\n" : "", i + 1);
    std::vector<std::int32_t> tokens;
    if (with_prompts) tokens = request.prompts[i];
    tokens.insert(tokens.end(), made[i].tokens.begin(), made[i].tokens.end());
    lines += codec.decode(tokens) + '\n';
  }
  return lines;
}

void tell_times(const GenerateTimes& times) {
  fmt::print(stderr, "prompts {:.3f} s", times.prompts);
  if (times.steps > 0)
    fmt::print(stderr, ", then {:.2f} ms a token",
               1000 * times.tokens / static_cast<double>(times.steps));
  fmt::print(stderr, "\n");
}

std::vector<std::int32_t> ends_of(const ToolWords& words, const SampledModel& model) {
  if (words.has("--end")) return given_tokens("--end", words.value("--end"));
  return words.has("--ignore-end") ? std::vector<std::int32_t>() : model.ends;
}

/// Returns the shape of the programs; the cache holds the texts, and prompts where no encoder reads
/// them.
DecodeShape decode_shape(const GenerateRequest& request, const SampledModel& model,
                         const ToolWords& words) {
  std::int64_t longest = 0;
  for (const auto& prompt : request.prompts) longest = std::max(longest, std::ssize(prompt));
  const bool apart = model.has_encoder();
  const std::int64_t room = apart ? request.length : longest + request.length;
  return {.sequences = together_of(words, request.prompts.size()),
          .room = room,
          .positions = model.table_positions,
          .piece = piece_of(longest, room),
          .valid_vocab = model.tokens,
          .act = sampled_type(words),
          .encoder_len = apart ? longest : 0};
}

void run_generate(const ToolWords& words, const SampledModel& model, const TextCodec* codec,
                  const std::vector<Prompt>& prompts, GenerateRequest request, Backend& backend) {
  for (const char* option : {"--mask", "--candidates"}) {
    if (words.has(option))
      throw Error(ErrorKind::usage,
                  fmt::format("{} has no effect: a {} continues texts", option, model.model.arch));
  }
  request.prompts = tokens_of(prompts, {.tokens = model.tokens,
                                        .positions = model.positions,
                                        .length = request.length,
                                        .codec = codec});
  request.valid_vocab = model.tokens;
  request.ends = ends_of(words, model);
  if (codec != nullptr && codec->end && !words.has("--end") && !words.has("--ignore-end"))
    request.ends.push_back(*codec->end);
  DecodePrograms programs =
      build_decode([&](const ModelShape& of) { return build_sampled(model, of); },
                   decode_shape(request, model, words));
  LoadedModel loaded(model, {std::move(programs.prefill), std::move(programs.step)}, backend);
  Decoder decoder(loaded.program(0), loaded.program(1), model.start);
  GenerateTimes times;
  const std::vector<Continuation> made = generate(decoder, request, &times);
  fmt::print("{}", words.has("--json") ? json_of(request, made, codec)
                   : codec != nullptr
                       ? texts_of(request, made, *codec, !model.has_encoder() && !codec->is_chat)
                       : lines_of(made));
  tell_times(times);
}

}  // namespace

int run_sample(const std::vector<std::string>& words) {
  const ToolWords read("sample", words);
  if (read.others.size() != 1)
    throw Error(ErrorKind::usage, "sample needs a checkpoint or a Hugging Face folder",
                "dslaunch sample CHECKPOINT|FOLDER --tokens 1,2,3");
  const GenerateRequest request = request_of(read);
  const std::vector<Prompt> prompts = prompts_of(read);
  const SampledModel model = open_model(read.others[0], longest_of(prompts) + request.length);
  if (request.choice.top_k > model.tokens)
    throw Error(ErrorKind::usage, fmt::format("--top-k {} is more than the model's {} tokens",
                                              request.choice.top_k, model.tokens));
  // Prompts of numbers are answered with numbers, unless tokens are bytes.
  const bool has_text = model.is_bytes || may_have_text(prompts);
  const std::unique_ptr<TextCodec> codec =
      has_text ? codec_of(model, read.value("--chat")) : nullptr;
  Backend backend = backend_of(read);
  if (model.fills_masks()) {
    run_fill(read, model, codec.get(), prompts, request.choice, backend);
  } else {
    run_generate(read, model, codec.get(), prompts, request, backend);
  }
  return 0;
}

}  // namespace ds
