// Batch, precision, ZeRO, offload, and what is passed over or refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "unit/deepspeed/convert_helpers.h"

using namespace ds;
using namespace ds::test;

namespace {

DsConversion convert_fixture(const std::string& name, const DsContext& context = {}) {
  std::ifstream file(DS_SOURCE_DIR "/tests/golden/fixtures/deepspeed/" + name + ".json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return convert(text, context);
}

}  // namespace

TEST_CASE("basic_zero2_fp16.json") {
  const DsConversion c = convert_fixture("basic_zero2_fp16");
  CHECK(findings(c) == "none");
  CHECK(setting(c, "batch.global") == "train_batch_size: 128");
  CHECK(setting(c, "batch.micro") == "train_micro_batch_size_per_gpu: 16");
  CHECK(setting(c, "batch.accum") == "gradient_accumulation_steps: 8");
  CHECK(setting(c, "log.every") == "steps_per_print: 100");
  CHECK(setting(c, "zero.stage") == "zero_optimization.stage: 2");
  CHECK(setting(c, "zero.gather_bucket") == "zero_optimization.allgather_bucket_size: 500000000");
  CHECK(setting(c, "zero.overlap") == "zero_optimization.overlap_comm: true");
  CHECK(setting(c, "precision.dtype") == "fp16.enabled: fp16");
  CHECK(setting(c, "precision.loss_scale.static") == "fp16.loss_scale: 0");
  CHECK(setting(c, "optimizer.clip") == "default: 1");
  CHECK(setting(c, "optimizer.lr") == "none");  // train.toml's optimizer
  CHECK(setting(c, "schedule.type") == "none");
  CHECK(passed(c, "zero_optimization.reduce_scatter") ==
        "always so: gradients are reduce-scattered");
  CHECK(passed(c, "zero_optimization.cpu_offload") == "off");
}

TEST_CASE("bert_zero1_offload.json and t5_zero2_bf16.json") {
  const DsConversion bert = convert_fixture("bert_zero1_offload");
  CHECK(findings(bert) == "none");
  CHECK(setting(bert, "optimizer.type") == "optimizer.type: adamw");
  CHECK(setting(bert, "optimizer.lr") == "optimizer.params.lr: 0.0001");
  CHECK(setting(bert, "optimizer.betas") == "default: 0.9 0.999 ");
  CHECK(setting(bert, "optimizer.weight_decay") == "default: 0");
  CHECK(setting(bert, "schedule.type") == "default: constant");
  CHECK(setting(bert, "offload.optimizer.device") ==
        "zero_optimization.offload_optimizer.device: cpu");
  const DsConversion t5 = convert_fixture("t5_zero2_bf16");
  CHECK(findings(t5) == "none");
  CHECK(setting(t5, "optimizer.betas") == "optimizer.params.betas: 0.9 0.95 ");
  CHECK(setting(t5, "precision.dtype") == "bf16.enabled: bf16");
  CHECK(setting(t5, "precision.on_nonfinite") == "default: skip");
}

TEST_CASE("zero2_fp16_auto.json and zero3_offload_auto.json") {
  const DsConversion two = convert_fixture("zero2_fp16_auto");
  CHECK(findings(two) == "none");
  CHECK(setting(two, "batch.global") == "none");
  CHECK(setting(two, "batch.accum") == "gradient_accumulation_steps: 4");
  CHECK(setting(two, "optimizer.clip") == "gradient_clipping: 1");
  CHECK(setting(two, "precision.dtype") == "fp16.enabled: fp16");
  CHECK(passed(two, "bf16.enabled") == "off");
  const DsConversion three = convert_fixture("zero3_offload_auto");
  CHECK(findings(three) == "none");
  CHECK(setting(three, "precision.dtype") == "default: fp32");
  CHECK(setting(three, "zero.reduce_bucket") == "default: auto");
  CHECK(setting(three, "zero.prefetch") == "default: auto");
  CHECK(setting(three, "zero.persist_below") == "none");
  CHECK(setting(three, "zero.max_live") ==
        "zero_optimization.stage3_max_live_parameters: 1000000000");
  const DsConversion known = convert_fixture("zero3_offload_auto", {.hidden = 768, .dtype = {}});
  CHECK(setting(known, "zero.reduce_bucket") == "default: 589824");
  CHECK(setting(known, "zero.prefetch") == "default: 530841");  // int(0.9 * 768 * 768)
  CHECK(setting(known, "zero.persist_below") == "default: 7680");
}

TEST_CASE("\"auto\" becomes the default of transformers, which train.toml may replace") {
  const DsConversion c = convert(
      R"({"train_micro_batch_size_per_gpu": "auto", "gradient_accumulation_steps": "auto",
          "gradient_clipping": "auto", "fp16": {"enabled": "auto", "loss_scale_window": 500},
          "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 2, "stage3_prefetch_bucket_size": "auto"}})");
  CHECK(findings(c) == "none");
  CHECK(setting(c, "batch.micro") == "default: 8");
  CHECK(setting(c, "batch.accum") == "default: 1");
  CHECK(setting(c, "optimizer.clip") == "default: 1");
  CHECK(setting(c, "precision.dtype") == "default: fp32");
  CHECK(setting(c, "precision.loss_scale.window") == "none");
  CHECK(setting(c, "zero.prefetch") == "none");
  const DsConversion fp16 = convert(R"({"fp16": {"enabled": "auto", "loss_scale_window": 500}})",
                                    {.hidden = 0, .dtype = "fp16"});
  CHECK(setting(fp16, "precision.loss_scale.window") == "fp16.loss_scale_window: 500");
}

TEST_CASE("a batch that fits no number of ranks") {
  CHECK(
      contains(findings(convert(R"({"train_batch_size": 100, "train_micro_batch_size_per_gpu": 16,
                                      "gradient_accumulation_steps": 8})")),
               "train_batch_size = 100 is not a multiple of train_micro_batch_size_per_gpu = 16 * "
               "gradient_accumulation_steps = 8"));
  CHECK(findings(convert(R"({"train_batch_size": 256, "train_micro_batch_size_per_gpu": 16,
                             "gradient_accumulation_steps": 8})")) == "none");
}

TEST_CASE("old forms") {
  const DsConversion c = convert(
      R"({"zero_optimization": {"stage": 3, "cpu_offload": true, "cpu_offload_param": true}})");
  CHECK(findings(c) == "none");
  CHECK(setting(c, "offload.optimizer.device") == "zero_optimization.cpu_offload: cpu");
  CHECK(setting(c, "offload.param.device") == "zero_optimization.cpu_offload_param: cpu");
  CHECK(setting(convert(R"({"zero_optimization": true})"), "zero.stage") == "zero_optimization: 1");
  CHECK(contains(
      findings(convert(
          R"({"zero_optimization": {"cpu_offload": true, "offload_optimizer": {"device": "cpu"}}})")),
      "both become offload.optimizer.device"));
}

TEST_CASE("offload to drives, and a part of it") {
  const DsConversion c = convert(
      R"({"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "nvme", "nvme_path": "/nvme", "ratio": 0.3},
          "offload_param": {"device": "cpu", "nvme_path": "/nvme"}}, "aio": {"block_size": 1048576, "queue_depth": 8}})");
  CHECK(findings(c) == "none");
  CHECK(setting(c, "offload.optimizer.paths") ==
        "zero_optimization.offload_optimizer.nvme_path: /nvme");
  CHECK(setting(c, "offload.optimizer.device_share") ==
        "zero_optimization.offload_optimizer.ratio: 70");
  CHECK(setting(c, "offload.param.paths") == "none");
  CHECK(passed(c, "zero_optimization.offload_param.nvme_path") == "the device is not nvme");
  CHECK(setting(c, "offload.io.depth") == "aio.queue_depth: 8");
}

TEST_CASE("TensorBoard and CSV, with and without a folder") {
  const DsConversion named = convert(
      R"({"tensorboard": {"enabled": true, "output_path": "out/tb/", "job_name": "first"},
          "csv_monitor": {"enabled": true, "output_path": "out"}})");
  CHECK(findings(named) == "none");
  CHECK(setting(named, "log.tensorboard") == "tensorboard.enabled: out/tb/first");
  CHECK(setting(named, "log.csv") == "csv_monitor.enabled: out/DeepSpeedJobName");
  const DsConversion plain = convert(
      R"({"tensorboard": {"enabled": true}, "csv_monitor": {"enabled": false, "job_name": "x"}})");
  CHECK(findings(plain) == "none");
  CHECK(setting(plain, "log.tensorboard") == "tensorboard.enabled: true");
  CHECK(setting(plain, "log.csv") == "none");
  CHECK(passed(plain, "csv_monitor.enabled") == "off");
  CHECK(passed(plain, "csv_monitor.job_name") == "off");
  CHECK(setting(convert(R"({"csv_monitor": {"enabled": true, "job_name": "x"}})"), "log.csv") ==
        "csv_monitor.enabled: x");
  for (const char* json :
       {R"({"tensorboard": {"enabled": "yes"}})",
        R"({"tensorboard": {"enabled": true, "output_path": 3}})", R"({"csv_monitor": true})"})
    CHECK_MESSAGE(convert(json).findings.size() == 1, json);
}

TEST_CASE("what is refused is accepted where it asks for nothing") {
  const DsConversion c = convert(
      R"({"elasticity": {"enabled": false, "max_train_batch_size": 4}, "amp": {"enabled": "auto", "opt_level": "auto"},
          "zero_optimization": {"zero_quantized_weights": false, "zenflow": null, "round_robin_gradients": true},
          "sequence_parallel_size": 1, "gradient_allreduce_op": "mean", "tensor_parallel": {"autotp_size": 1},
          "autotuning": {"enabled": false}, "wandb": {"enabled": true}})");
  CHECK(findings(c) == "none");
  CHECK(passed(c, "elasticity") == "asks for nothing");
  CHECK(passed(c, "zero_optimization.zenflow") == "null asks for nothing");
  CHECK(contains(passed(c, "wandb"), "no matter here: metrics.jsonl"));
  for (const char* json :
       {R"({"elasticity": {"enabled": true}})", R"({"zero_optimization": {"zenflow": {}}})",
        R"({"zero_optimization": {"zero_quantized_gradients": true}})",
        R"({"sequence_parallel_size": 2})", R"({"gradient_allreduce_op": "sum"})",
        R"({"tensor_parallel": {"autotp_size": 2}})", R"({"amp": {"enabled": true}})",
        R"({"compression_training": {}})", R"({"data_types": {"param_dtype": "bf16"}})",
        R"({"bf16": {"bf16_optimizer_states": true}})",
        R"({"checkpoint": {"use_node_local_storage": true}})"})
    CHECK_MESSAGE(convert(json).findings.size() == 1, json);
}

TEST_CASE("all findings at once, each with its place") {
  const std::string text =
      findings(convert("{\n  \"gradient_cliping\": 1,\n  \"fp16\": {\"enabled\": true},\n  "
                       "\"bf16\": {\"enabled\": true},\n"
                       "  \"zero_optimization\": {\"stage\": 2, \"stge\": 3},\n  "
                       "\"sequence_parallel_size\": 2,\n  \"fp16.enabled\": 1\n}"));
  CHECK(contains(text, "ds.json: 6 keys cannot be converted\n"));
  CHECK(contains(
      text, "ds.json:2:3: unknown key \"gradient_cliping\"; did you mean \"gradient_clipping\"?"));
  CHECK(contains(text,
                 "ds.json:5:37: unknown key \"zero_optimization.stge\"; did you mean "
                 "\"zero_optimization.stage\"?"));
  CHECK(contains(
      text, "ds.json:6:3: sequence_parallel_size: dslaunch does not split sequences among ranks"));
  CHECK(contains(text, "hint: set it to 1"));
  CHECK(contains(text, "fp16 and bf16 are both enabled"));
  CHECK(contains(text, "ds.json:7:3: unknown key \"fp16.enabled\""));
}

TEST_CASE("values of a wrong form") {
  CHECK(contains(findings(convert(R"({"fp16": {"enabled": "yes"}})")),
                 "must be true, false or \"auto\""));
  CHECK(contains(findings(convert(R"({"fp16": 1})")), "fp16 must be an object"));
  CHECK(contains(findings(convert(R"({"gradient_clipping": {"a": 1}})")),
                 "gradient_clipping is {\"a\": 1}"));
  CHECK(contains(findings(convert(R"({"zero_optimization": {"offload_optimizer": {"ratio": 2}}})")),
                 "must be a number from 0 to 1"));
}

TEST_CASE("bf16: what follows a gradient that is not finite") {
  CHECK(setting(convert(R"({"bf16": {"enabled": true, "check_grad_overflow": false}})"),
                "precision.on_nonfinite") == "bf16.check_grad_overflow: abort");
  CHECK(setting(convert(R"({"bf16": {"enabled": false, "check_grad_overflow": true}})"),
                "precision.on_nonfinite") == "none");
}

TEST_CASE("no key is dropped in silence") {
  for (const DsKey& key : ds_keys()) {
    for (const char* value : {"true", "1", "0.5", "\"auto\"", "\"text\"", "{}", "[1, 2]", "null"}) {
      std::string json(value);
      for (std::string_view path = key.path; !path.empty();) {
        const std::size_t dot = path.rfind('.');
        const std::string_view name = dot == path.npos ? path : path.substr(dot + 1);
        json = fmt::format("{{\"{}\": {}}}", name, json);
        path = dot == path.npos ? "" : path.substr(0, dot);
      }
      const DsConversion c = convert(json);
      const auto from_key = [&key](const DsSetting& setting) {
        return setting.from.starts_with(key.path);
      };
      const bool has_fate = passed(c, key.path) != "none" || !c.findings.empty() ||
                            std::ranges::any_of(c.settings, from_key);
      CHECK_MESSAGE(has_fate, json);
    }
  }
}
