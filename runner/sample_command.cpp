// Reads the words of `sample`, makes the programs and their memory, generates, and prints.
#include "runner/sample_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/token_numbers.h"
#include "engine/base/tool_options.h"
#include "engine/base/units.h"
#include "engine/data/byte_tokens.h"
#include "engine/plugin/choose_backend.h"
#include "engine/program/check_edges.h"
#include "engine/sample/generate.h"
#include "engine/sample/open_model.h"
#include "engine/states/weights.h"
#include "engine/train/programs.h"
#include "engine/train/rank_memory.h"
#include "runner/sample_prompts.h"

namespace ds {
namespace {

constexpr std::int64_t kLength = 64, kMostTogether = 8;

DType dtype_of(const std::string& word) {
  if (word == "bf16") return DType::bf16;
  return word == "fp16" ? DType::f16 : DType::f32;
}

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

/// The programs of a model in memory, with its weights.
class Session {
 public:
  Session(SampledModel& model, const DecodeShape& shape, Backend& backend)
      : programs_(
            build_decode([&](const ModelShape& of) { return build_sampled(model, of); }, shape)) {
    require_weights(model, programs_.prefill);
    for (Program* const program : {&programs_.prefill, &programs_.step}) {
      if (!backend.device->is_host()) *program = for_accelerator(std::move(*program));
      verify(*program);
    }
    const auto scratch = [&](const Program& program) {
      return static_cast<std::int64_t>(backend.kernels->workspace_bytes(program.extents));
    };
    const PlacementPlan plan = place({&programs_.prefill, &programs_.step},
                                     std::max(scratch(programs_.prefill), scratch(programs_.step)));
    require_fit(plan, *backend.device, 0);
    memory_.emplace(plan, RankGroups{}, backend, nullptr);
    bind(prefill_, programs_.prefill, plan.offsets[0], backend);
    bind(step_, programs_.step, plan.offsets[1], backend);
    fill_states(programs_.prefill, ShardSpec{}, *prefill_, nullptr, *model.weights,
                host_kernels_of(backend), memory_->stream());
    decoder_.emplace(Decoder::Bound{programs_.prefill, *prefill_},
                     Decoder::Bound{programs_.step, *step_});
  }
  Decoder& decoder() { return *decoder_; }

 private:
  void bind(std::optional<Executor>& executor, const Program& program,
            const std::vector<std::int64_t>& offsets, Backend& backend) {
    const Edges edges = edges_of(program, offsets);
    if (const std::optional<std::string> missing = missing_edge(program, offsets, edges))
      throw Error(ErrorKind::bug, *missing);
    Workplace place = memory_->workplace();
    place.records = recording_pays(program);
    executor.emplace(program, offsets, edges, backend, place);
  }

  DecodePrograms programs_;
  std::optional<RankMemory> memory_;
  std::optional<Executor> prefill_, step_;
  std::optional<Decoder> decoder_;
};

/// Returns an array with one line for each prompt.
std::string json_of(const GenerateRequest& request, const std::vector<Continuation>& made,
                    bool is_bytes) {
  using Json = nlohmann::ordered_json;
  std::string all;
  for (std::size_t i = 0; i < made.size(); ++i) {
    Json one = {
        {"prompt", request.prompts[i]}, {"tokens", made[i].tokens}, {"ended", made[i].ended}};
    if (is_bytes) one["text"] = decode_bytes(made[i].tokens);
    all += i == 0 ? "[" : ",\n ";
    all += one.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return all + "]\n";
}

std::string lines_of(const GenerateRequest& request, const std::vector<Continuation>& made,
                     bool is_bytes) {
  std::string lines;
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (is_bytes && made.size() > 1) lines += fmt::format("{}=== {}\n", i > 0 ? "\n" : "", i + 1);
    lines += is_bytes ? decode_bytes(request.prompts[i]) + decode_bytes(made[i].tokens)
                      : text_of_tokens(made[i].tokens);
    lines += '\n';
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

}  // namespace

int run_sample(const std::vector<std::string>& words) {
  const ToolWords read("sample", words);
  if (read.others.size() != 1)
    throw Error(ErrorKind::usage, "sample needs a checkpoint or a Hugging Face folder",
                "dslaunch sample CHECKPOINT|FOLDER --tokens 1,2,3");
  GenerateRequest request = request_of(read);
  const std::vector<Prompt> prompts = prompts_of(read);
  SampledModel model = open_model(read.others[0], longest_of(prompts) + request.length);
  request.prompts = tokens_of(prompts, {.tokens = model.tokens,
                                        .positions = model.positions,
                                        .length = request.length,
                                        .is_bytes = model.is_bytes});
  request.valid_vocab = model.tokens;
  if (read.has("--end")) {
    request.ends = given_tokens("--end", read.value("--end"));
  } else if (!read.has("--ignore-end")) {
    request.ends = model.ends;
  }
  if (request.choice.top_k > model.tokens)
    throw Error(ErrorKind::usage, fmt::format("--top-k {} is more than the model's {} tokens",
                                              request.choice.top_k, model.tokens));
  std::int64_t longest = 0;
  for (const auto& prompt : request.prompts) longest = std::max(longest, std::ssize(prompt));
  const std::int64_t together = std::min(read.number("--batch", kMostTogether),
                                         static_cast<std::int64_t>(request.prompts.size()));
  const std::int64_t room = longest + request.length;
  Backend backend = backend_of(read);
  Session session(model,
                  {.sequences = together,
                   .room = room,
                   .positions = model.table_positions,
                   .piece = piece_of(longest, room),
                   .valid_vocab = model.tokens,
                   .act = dtype_of(read.value("--dtype"))},
                  backend);
  GenerateTimes times;
  const std::vector<Continuation> made = generate(session.decoder(), request, &times);
  fmt::print("{}", read.has("--json") ? json_of(request, made, model.is_bytes)
                                      : lines_of(request, made, model.is_bytes));
  tell_times(times);
  return 0;
}

}  // namespace ds
