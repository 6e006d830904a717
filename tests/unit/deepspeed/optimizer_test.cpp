// Optimizers and schedulers.
#include <doctest/doctest.h>

#include "unit/deepspeed/convert_helpers.h"

using namespace ds;
using namespace ds::test;

namespace {

DsConversion with(std::string_view optimizer, std::string_view scheduler = "") {
  std::string json = fmt::format("{{\"optimizer\": {}", optimizer);
  if (!scheduler.empty()) json += fmt::format(", \"scheduler\": {}", scheduler);
  return convert(json + "}");
}

}  // namespace

TEST_CASE("types of optimizers") {
  const auto type = [](std::string_view json) { return setting(with(json), "optimizer.type"); };
  CHECK(type(R"({"type": "Adam"})") == "optimizer.type: adamw");
  CHECK(type(R"({"type": "adam", "params": {"adam_w_mode": false}})") == "optimizer.type: adam_l2");
  CHECK(type(R"({"type": "AdamW", "params": {"adam_w_mode": false}})") == "optimizer.type: adamw");
  CHECK(type(R"({"type": "Lion"})") == "optimizer.type: lion");
  CHECK(type(R"({"type": "SGD"})") == "optimizer.type: sgd");
  for (const char* other : {"Lamb", "OneBitAdam", "Muon", "Adagrad", "sgd", "Adan"})
    CHECK_MESSAGE(
        findings(with(fmt::format(R"({{"type": "{}"}})", other)))
                .find(fmt::format("dslaunch has no optimizer \"{}\"", other)) != std::string::npos,
        other);
}

TEST_CASE("defaults and parameters of each type") {
  const DsConversion lion = with(R"({"type": "Lion"})");
  CHECK(setting(lion, "optimizer.lr") == "default: 0.001");
  CHECK(setting(lion, "optimizer.eps") == "none");
  const DsConversion sgd =
      with(R"({"type": "SGD", "params": {"lr": 0.1, "nesterov": true, "momentum": 0.9}})");
  CHECK(findings(sgd) == "none");
  CHECK(setting(sgd, "optimizer.momentum") == "optimizer.params.momentum: 0.9");
  CHECK(setting(sgd, "optimizer.betas") == "none");
  CHECK(findings(with(R"({"type": "SGD", "params": {"betas": [0.9, 0.99]}})"))
            .find("SGD has no parameter \"betas\"") != std::string::npos);
  CHECK(findings(with(R"({"type": "Adam", "params": {"max_grad_norm": 1.0}})"))
            .find("write gradient_clipping at the top") != std::string::npos);
  CHECK(findings(with(R"({"params": {"lr": 1}})")).find("without optimizer.type") !=
        std::string::npos);
  const DsConversion automatic = with(
      R"({"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto", "weight_decay": "auto"}})");
  CHECK(findings(automatic) == "none");
  CHECK(setting(automatic, "optimizer.lr") == "default: 5e-05");
  CHECK(setting(automatic, "optimizer.betas") == "default: 0.9 0.999 ");
}

TEST_CASE("schedulers replace the rate of the optimizer") {
  const char* adam = R"({"type": "Adam", "params": {"lr": 3e-4}})";
  const DsConversion warmup = with(
      adam,
      R"({"type": "WarmupLR", "params": {"warmup_min_lr": 0, "warmup_max_lr": 1e-3, "warmup_num_steps": 50}})");
  CHECK(findings(warmup) == "none");
  CHECK(setting(warmup, "schedule.type") == "scheduler.type: warmup");
  CHECK(setting(warmup, "schedule.origin") == "default: deepspeed");
  CHECK(setting(warmup, "optimizer.lr") == "scheduler.params.warmup_max_lr: 0.001");
  CHECK(passed(warmup, "optimizer.params.lr") == "scheduler.params.warmup_max_lr replaces it");
  CHECK(setting(with(adam, R"({"type": "WarmupLR"})"), "optimizer.lr") ==
        "optimizer.params.lr: 0.0003");
  const DsConversion decay =
      with(adam, R"({"type": "WarmupDecayLR", "params": {"total_num_steps": 500}})");
  CHECK(setting(decay, "optimizer.lr") == "default: 0.001");
  CHECK(setting(decay, "schedule.total") == "scheduler.params.total_num_steps: 500");
  const DsConversion cosine = with(
      adam,
      R"({"type": "WarmupCosineLR", "params": {"total_num_steps": 500, "cos_min_ratio": 0.1}})");
  CHECK(setting(cosine, "optimizer.lr") == "optimizer.params.lr: 0.0003");
  CHECK(setting(cosine, "schedule.cos_min_ratio") == "scheduler.params.cos_min_ratio: 0.1");
  const DsConversion cycle = with(
      adam,
      R"({"type": "OneCycle", "params": {"cycle_min_lr": 1e-5, "cycle_max_lr": 1e-2, "decay_step_size": 9}})");
  CHECK(findings(cycle) == "none");
  CHECK(setting(cycle, "optimizer.lr") == "scheduler.params.cycle_max_lr: 0.01");
  CHECK(setting(cycle, "schedule.min_lr") == "scheduler.params.cycle_min_lr: 1e-05");
  CHECK(setting(with(adam, R"({"type": "LRRangeTest"})"), "optimizer.lr") == "default: 0.001");
}

TEST_CASE("schedulers that are incomplete, unknown, or have foreign parameters") {
  const char* adam = R"({"type": "Adam"})";
  CHECK(findings(with(adam, R"({"type": "WarmupDecayLR"})"))
            .find("needs scheduler.params.total_num_steps") != std::string::npos);
  CHECK(
      findings(with(adam, R"({"type": "StepLR"})")).find("dslaunch has no scheduler \"StepLR\"") !=
      std::string::npos);
  CHECK(findings(with(adam, R"({"type": "WarmupLR", "params": {"cycle_min_lr": 0}})"))
            .find("WarmupLR has no parameter \"cycle_min_lr\"") != std::string::npos);
}

TEST_CASE("\"auto\" of a scheduler") {
  const DsConversion c =
      with(R"({"type": "AdamW", "params": {"lr": 3e-4}})",
           R"({"type": "WarmupDecayLR", "params": {"warmup_min_lr": "auto", "warmup_max_lr": "auto",
                                  "warmup_num_steps": "auto", "total_num_steps": "auto"}})");
  CHECK(findings(c) == "none");
  CHECK(setting(c, "optimizer.lr") == "optimizer.params.lr: 0.0003");
  CHECK(setting(c, "schedule.warmup") == "default: 0");
  CHECK(setting(c, "schedule.total") == "none");
  CHECK(setting(c, "schedule.min_lr") == "none");
}
