// Tests of nested tables, counts, bytes and folders, and of the rules of [zero], [offload.*],
// [schedule] and [precision].
#include "config_helpers.h"
#include "engine/config/keys.h"
#include "engine/config/planted_fault.h"
#include "engine/config/resolve.h"
#include "engine/config/step_range.h"

namespace {

/// Sets values directly, past the check for unimplemented values, to test the rules alone.
template <class Change>
ds::TrainConfig resolved(Change change) {
  ds::TrainConfig config = config_of(kSmallest);
  config.offload.optimizer.update = ds::UpdateTime::automatic;
  config.precision.on_nonfinite = ds::OnNonfinite::automatic;
  change(config);
  ds::resolve(config, {"t.toml", {}}, {});
  return config;
}
template <class Change>
std::string refused(Change change) {
  try {
    (void)resolved(change);
  } catch (const ds::Error& error) {
    CHECK(error.kind() == ds::ErrorKind::config);
    return error.for_people();
  }
  return "no error";
}

ds::ConfigValue checked(std::string_view name, ds::ConfigValue value) {
  ds::Key key = *ds::find_key(name);
  key.name = "test.key";  // a name that is in no list of unimplemented values
  return ds::check_value(key, {"test.key", std::move(value), {"t.toml", 0, "", 0, 0}, "/base"});
}
std::string unchecked(std::string_view name, ds::ConfigValue value) {
  try {
    (void)checked(name, std::move(value));
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return "no error";
}

using ds::OffloadDevice;

}  // namespace

TEST_CASE("nested tables are read, and their keys are checked like all others") {
  const std::string text = std::string(kSmallest) +
                           "[offload.optimizer]\ndevice = \"none\"\n[offload]\n" +
                           "io = {engine = \"auto\"}\n[precision.loss_scale]\nwindow = 1000\n";
  CHECK(config_of(text).precision.loss_scale.window == 1000);
  CHECK(has(error_of(std::string(kSmallest) + "[offload.optimizer]\ndevise = \"cpu\"\n"),
            "t.toml:12:1: unknown key \"offload.optimizer.devise\"; did you mean "
            "\"offload.optimizer.device\"?"));
  CHECK(has(error_with({"offload.optimizer.device=disk"}), "offload.optimizer.device must be "));
  CHECK(error_of(std::string(kSmallest) + "[offload.param]\n[offload]\n") == "no error");
}

TEST_CASE("counts are integers (5e8 is one), or auto where the plan chooses") {
  CHECK(checked("zero.reduce_bucket", {5e8}) == ds::ConfigValue{std::int64_t{500'000'000}});
  CHECK(checked("zero.reduce_bucket", {std::string("auto")}) ==
        ds::ConfigValue{std::string("auto")});
  CHECK(has(unchecked("zero.reduce_bucket", {1.5}), "must be an integer, at least 1 or \"auto\""));
  CHECK(has(unchecked("zero.reduce_bucket", {1e300}), "must be an integer"));
  CHECK(has(unchecked("zero.max_live", {std::string("auto")}), "must be an integer, at least 0"));
}

TEST_CASE("byte units are powers of 1024") {
  const auto bytes = [](const char* text) { return checked("device.memory", {std::string(text)}); };
  CHECK(bytes("8G") == ds::ConfigValue{std::int64_t{8} << 30});
  CHECK(bytes("1.5 GiB") == ds::ConfigValue{std::int64_t{3} << 29});
  CHECK(bytes("2048K") == ds::ConfigValue{std::int64_t{2} << 20});
  CHECK(bytes("auto") == ds::ConfigValue{std::string("auto")});
  for (const char* text : {"", "G", "8", "8X", "8GB", "8Gx", "nanG", "-8G", "1e300G", "1K"}) {
    CAPTURE(text);
    CHECK(has(unchecked("device.memory", {std::string(text)}), "must be bytes, at least"));
  }
}

TEST_CASE("folders are a path or a list of paths, which may be empty") {
  const ds::ConfigValue::List one{{std::string("/base/x")}};
  CHECK(checked("offload.optimizer.paths", {std::string("x/")}) == ds::ConfigValue{one});
  CHECK(checked("offload.optimizer.paths", {ds::ConfigValue::List{}}) ==
        ds::ConfigValue{ds::ConfigValue::List{}});
  CHECK(has(unchecked("offload.optimizer.paths", {std::int64_t{3}}), "must be a folder or a list"));
}

TEST_CASE("parameters and gradients can be offloaded only at stage 3") {
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    CAPTURE(stage);
    const std::string param = refused([&](ds::TrainConfig& c) {
      c.zero.stage = stage;
      c.offload.param.device = OffloadDevice::cpu;
    });
    const std::string grad = refused([&](ds::TrainConfig& c) {
      c.zero.stage = stage;
      c.offload.grad.device = OffloadDevice::cpu;
    });
    if (stage == 3) {
      CHECK(param + grad == "no errorno error");
    } else {
      CHECK(has(param, "offload.param.device = \"cpu\" needs zero.stage = 3, not"));
      CHECK(has(grad, "offload.grad.device = \"cpu\" needs zero.stage = 3, not"));
    }
  }
}

TEST_CASE("nvme needs folders; the other sections default to the optimizer's") {
  CHECK(has(refused([](ds::TrainConfig& c) { c.offload.optimizer.device = OffloadDevice::nvme; }),
            "offload.optimizer.device = \"nvme\" needs offload.optimizer.paths"));
  const ds::TrainConfig config = resolved([](ds::TrainConfig& c) {
    c.zero.stage = 3;
    c.offload.optimizer.device = OffloadDevice::nvme;
    c.offload.optimizer.paths = {"/a", "/b"};
    c.offload.param.device = OffloadDevice::nvme;
  });
  CHECK(config.offload.param.paths == config.offload.optimizer.paths);
  CHECK(has(refused([](ds::TrainConfig& c) {
              c.zero.stage = 3;
              c.offload.param = {.device = OffloadDevice::nvme, .paths = {"/a"}};
            }),
            "offload.param.device = \"nvme\" needs offload.optimizer.device"));
  CHECK(config.offload.grad.paths.empty());
  CHECK(config.offload.optimizer.update == ds::UpdateTime::forward);
  CHECK(has(
      refused([](ds::TrainConfig& c) { c.offload.optimizer.update = ds::UpdateTime::backward; }),
      "offload.optimizer.update = \"backward\" needs offload.optimizer.device"));
  CHECK(has(refused([](ds::TrainConfig& c) { c.offload.io.block = 5000; }),
            "offload.io.block = 5000 is not a multiple of 4096"));
}

TEST_CASE("all sections with nvme must use the same folders") {
  const auto with = [](OffloadDevice optimizer) {
    return refused([&](ds::TrainConfig& c) {
      c.zero.stage = 3;
      c.offload.optimizer.device = optimizer;
      c.offload.optimizer.paths = {"/a", "/b"};
      c.offload.param.device = OffloadDevice::nvme;
      c.offload.param.paths = {"/a"};
    });
  };
  CHECK(has(with(OffloadDevice::nvme), "offload.param.paths differs from offload.optimizer.paths"));
  CHECK(with(OffloadDevice::cpu) == "no error");
}

TEST_CASE("the precision decides what a step that is not finite does") {
  const auto with = [](ds::Precision dtype) {
    return resolved([&](ds::TrainConfig& c) { c.precision.dtype = dtype; }).precision.on_nonfinite;
  };
  CHECK(with(ds::Precision::fp16) == ds::OnNonfinite::skip);
  CHECK(with(ds::Precision::bf16) == ds::OnNonfinite::abort);
  CHECK(with(ds::Precision::fp32) == ds::OnNonfinite::abort);
  CHECK(has(refused([](ds::TrainConfig& c) { c.precision.loss_scale.window = 5; }),
            "[precision.loss_scale] applies only to dtype = \"fp16\""));
  CHECK(has(refused([](ds::TrainConfig& c) {
              c.precision.dtype = ds::Precision::bf16;
              c.precision.master = ds::MasterWeights::split16;
              c.offload.optimizer.device = ds::OffloadDevice::cpu;
            }),
            "precision.master = \"split16\" cannot be combined with offload.optimizer.device"));
  CHECK(has(refused([](ds::TrainConfig& c) { c.precision.master = ds::MasterWeights::split16; }),
            "precision.master = \"split16\" needs dtype = \"bf16\""));
  CHECK(has(refused([](ds::TrainConfig& c) {
              c.precision.dtype = ds::Precision::fp16;
              c.precision.loss_scale = {.init_power = 2, .min = 5};
            }),
            "precision.loss_scale.min = 5 is above the initial scale, 2^2"));
  CHECK(has(refused([](ds::TrainConfig& c) { c.optimizer.nesterov = true; }),
            "optimizer.nesterov needs optimizer.type = \"sgd\""));
}

TEST_CASE("schedules accept only their own keys and fill their own defaults") {
  using enum ds::ScheduleType;
  CHECK(has(refused([](ds::TrainConfig& c) { c.schedule.range_rate = 2; }),
            "schedule.range_rate = 2.0 has no effect with schedule.type = \"cosine\""));
  CHECK(has(refused([](ds::TrainConfig& c) { c.schedule.origin = ds::ScheduleOrigin::deepspeed; }),
            "it applies to \"warmup\", \"warmup_decay\", \"warmup_cosine\", \"onecycle\""));
  CHECK(resolved([](ds::TrainConfig& c) { c.schedule.type = warmup; }).schedule.warmup == 1000);
  CHECK(has(refused([](ds::TrainConfig& c) { c.schedule.type = warmup_decay; }),
            "schedule.warmup = 1000 is longer than schedule.total = 10"));
  CHECK(resolved([](ds::TrainConfig& c) {
          c.schedule.type = wsd;
          c.schedule.total = 50;
        }).schedule.decay == 5);
  CHECK(has(refused([](ds::TrainConfig& c) {
              c.schedule = {.type = wsd, .warmup = 6, .total = 10, .decay = 5};
            }),
            "schedule.warmup = 6 and schedule.decay = 5 are together longer"));
  const ds::ScheduleConfig cycle =
      resolved([](ds::TrainConfig& c) {
        c.schedule = {.type = onecycle, .first_steps = 7, .first_stairs = 3};
      }).schedule;
  CHECK(cycle.second_steps == 7);
  CHECK(cycle.second_stairs == 3);
  CHECK(has(
      refused([](ds::TrainConfig& c) { c.schedule = {.type = onecycle, .min_momentum = 0.95}; }),
      "schedule.min_momentum = 0.95 is above schedule.max_momentum = 0.9"));
}

TEST_CASE("a planted fault is steps, or steps and an op") {
  using Fault = ds::PlantedFault;
  CHECK(ds::parse_planted_fault("") == Fault{});
  CHECK(ds::parse_planted_fault("3,17") == Fault{{3, 17}, ""});
  CHECK(ds::parse_planted_fault("5:block1.mlp.fc") == Fault{{5}, "block1.mlp.fc"});
  for (const char* bad : {"x", "3,", ",3", "0", "3:", ":a", "3 7", "-1", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(!ds::parse_planted_fault(bad));
    CHECK(has(refused([&](ds::TrainConfig& c) { c.debug.non_finite = bad; }),
              "is neither STEPS nor STEPS:OP"));
  }
}

TEST_CASE("a trace is of a step or of a range of steps") {
  CHECK(ds::parse_step_range("20") == ds::StepRange{20, 20});
  CHECK(ds::parse_step_range("20-22") == ds::StepRange{20, 22});
  for (const char* bad :
       {"x", "0", "-3", "3-", "22-20", "3 - 5", "3,5", "3-5-7", "+3", "3-99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(!ds::parse_step_range(bad));
  }
}

TEST_CASE("planted slow data is a rank and milliseconds") {
  using Delay = ds::PlantedDelay;
  CHECK(ds::parse_planted_delay("") == Delay{});
  CHECK(ds::parse_planted_delay("1:20") == Delay{1, std::chrono::milliseconds(20)});
  for (const char* bad : {"x", "1", "1:", ":20", "1:0", "-1:20", "1:20ms", "1:2 0"}) {
    CAPTURE(bad);
    CHECK(!ds::parse_planted_delay(bad));
    CHECK(has(refused([&](ds::TrainConfig& c) { c.debug.slow_data = bad; }),
              "is not RANK:MILLISECONDS"));
  }
}
