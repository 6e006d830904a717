// Tests of every optimizer's arithmetic against traces of the papers' formulas.
#include "engine/optimizers/optimizers.h"
#include "trace_file.h"

namespace {

struct Element {
  float weight, m, v;
};

ds::OptimizerNumbers numbers_of(const ds::OptimizerConfig& o, float scale, int step) {
  return {.grad_scale = scale,
          .lr = static_cast<float>(o.lr),
          .beta1 = static_cast<float>(o.betas[0]),
          .beta2 = static_cast<float>(o.betas[1]),
          .eps = static_cast<float>(o.eps),
          .weight_decay = static_cast<float>(o.weight_decay),
          .bias_correction1 = static_cast<float>(1 - std::pow(o.betas[0], step)),
          .bias_correction2 = static_cast<float>(1 - std::pow(o.betas[1], step)),
          .momentum = static_cast<float>(o.momentum),
          .nesterov = o.nesterov};
}

void update(const ds::OptimizerConfig& o, float scale, int step, float grad, Element& e) {
  std::visit(
      [&](const auto& row) { row.template update<ds::ScalarMath>(grad, e.weight, e.m, e.v); },
      ds::rule_of(o.type, numbers_of(o, scale, step)));
}

/// All numbers are below 16, hyper-parameters are exact in fp32, and each of 12 steps rounds fewer
/// than 10 times: at most 120 * 2^-24 * 16 = 1.1e-4. Adam's steps scale an error of m / sqrt(v) by
/// lr, so that far less remains.
constexpr double kTolerance = 4e-6;

}  // namespace

TEST_CASE("weights and moments follow the definitions, whatever the scale of the gradients") {
  for (const TraceCase& trace : read_traces("optimizers.txt")) {
    for (const float scale : {1.0F, 1.0F / 65536}) {
      CAPTURE(trace.title);
      CAPTURE(scale);
      Element e{std::stof(trace.rows[0][1]), 0, 0};
      for (std::size_t step = 1; step < trace.rows.size(); ++step) {
        CAPTURE(step);
        const std::vector<std::string>& row = trace.rows[step];
        update(trace.config.optimizer, scale, static_cast<int>(step), std::stof(row[0]) / scale, e);
        REQUIRE(std::abs(e.weight - std::stod(row[1])) < kTolerance);
        REQUIRE(std::abs(e.m - std::stod(row[2])) < kTolerance);
        REQUIRE(std::abs(e.v - std::stod(row[3])) < kTolerance);
      }
    }
  }
}

TEST_CASE("a power of two in the scale of the gradients changes no bit") {
  for (const TraceCase& trace : read_traces("optimizers.txt")) {
    Element plain{0.5F, 0, 0};
    Element scaled = plain;
    for (int step = 1; step <= 9; ++step) {
      const float grad = 0.37F * static_cast<float>(step - 5);
      update(trace.config.optimizer, 1.0F, step, grad, plain);
      update(trace.config.optimizer, 1.0F / 4096, step, grad * 4096, scaled);
      CHECK(plain.weight == scaled.weight);
      CHECK(plain.m == scaled.m);
      CHECK(plain.v == scaled.v);
    }
  }
}

TEST_CASE("decay apart from the gradient and decay inside it differ, and agree without decay") {
  Element apart{0.5F, 0, 0};
  Element inside = apart;
  ds::OptimizerConfig o{.weight_decay = 0};
  const auto both = [&] {
    for (int step = 1; step <= 5; ++step) {
      o.type = ds::OptimizerType::adamw;
      update(o, 1.0F, step, 0.25F, apart);
      o.type = ds::OptimizerType::adam_l2;
      update(o, 1.0F, step, 0.25F, inside);
    }
  };
  both();
  CHECK(apart.weight == inside.weight);
  o.weight_decay = 0.1;
  both();
  CHECK(apart.weight != inside.weight);
}

TEST_CASE("Lion's sign of zero is zero") {
  Element e{0.5F, 0, 0};
  ds::OptimizerConfig o{.type = ds::OptimizerType::lion, .weight_decay = 0};
  update(o, 1.0F, 1, 0.0F, e);
  CHECK(e.weight == 0.5F);
}
