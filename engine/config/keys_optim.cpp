// Keys of the sections [optimizer], [schedule] and [precision].
#include <array>
#include <utility>

#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // above every int64
/// The names of all optimizers, as "adamw|sgd".
constexpr auto joined_names() {
  std::array<char, 256> text{};
  std::size_t end = 0;
  for (const OptimizerFacts& facts : kOptimizers) {
    if (end > 0) text.at(end++) = '|';
    for (const char c : facts.name) text.at(end++) = c;
  }
  return std::pair(text, end);
}
constexpr auto kJoined = joined_names();
constexpr std::string_view kTypes(kJoined.first.data(), kJoined.second);
constexpr std::string_view kSchedules =
    "constant|linear|cosine|wsd|warmup|warmup_decay|warmup_cosine|onecycle|range_test";
constexpr std::string_view kOrigins = "clean|deepspeed";
constexpr std::string_view kWarmups = "log|linear";
constexpr std::string_view kTails = "linear|sqrt|cosine";
constexpr std::string_view kPrecisions = "fp32|bf16|fp16";
constexpr std::string_view kMasters = "fp32|split16";
constexpr std::string_view kOnNonfinite = "auto|skip|abort";
constexpr std::string_view kAtMin = "abort|continue";

using K = KeyKind;
// clang-format off
const Key kOptimKeys[] = {
    {"optimizer.type", K::choice, true, 0, 0, kTypes, "*", "\"adamw\"",
     "adamw: decoupled weight decay; adam_l2: decay added to the gradient; sgd: momentum; lion: sign of the mean gradient.", DS_WORD(optimizer.type, kTypes)},
    {"optimizer.lr", K::number, true, 0, 1e3, "", "", "0.001",
     "Peak learning rate.", DS_FIELD(optimizer.lr)},
    {"optimizer.betas", K::betas, true, 0, 0.999999, "", "", "[0.9, 0.95]",
     "Decay rates of the two moments.", DS_FIELD(optimizer.betas)},
    {"optimizer.eps", K::number, true, 1e-30, 1, "", "", "1e-08",
     "Added to the square root of the second moment.", DS_FIELD(optimizer.eps)},
    {"optimizer.momentum", K::number, true, 0, 0.999999, "", "", "0.9",
     "sgd: momentum; 0 = plain SGD.", DS_FIELD(optimizer.momentum)},
    {"optimizer.nesterov", K::flag, true, 0, 0, "", "", "false",
     "sgd: Nesterov momentum.", DS_FIELD(optimizer.nesterov)},
    {"optimizer.weight_decay", K::number, true, 0, 1e3, "", "", "0.1",
     "Weight decay, multiplied by the learning rate (adam_l2 and sgd: multiplied by the weight and added to the gradient).", DS_FIELD(optimizer.weight_decay)},
    {"optimizer.no_decay", K::names, true, 0, 0, "norms|biases", "", "[\"norms\", \"biases\"]",
     "Tensors without weight decay: norms, biases, and patterns of tensor names, such as \"wte.weight\" or \"*.c_proj.weight\". [] = all decay.", DS_FIELD(optimizer.no_decay)},
    {"optimizer.clip", K::number, true, 0, 1e9, "", "", "1.0",
     "Clip the gradient to this global L2 norm; 0 = off.", DS_FIELD(optimizer.clip)},

    {"schedule.type", K::choice, true, 0, 0, kSchedules, "", "\"cosine\"",
     "Learning rate schedule.", DS_WORD(schedule.type, kSchedules)},
    {"schedule.origin", K::choice, true, 0, 0, kOrigins, "", "\"clean\"",
     "Step numbering of the last five types, whose rate is a function of an index i. clean: step t uses i = t. deepspeed: step 1 uses the initial rate and step t the index t - 2, because DeepSpeed's scheduler advances after the step.", DS_WORD(schedule.origin, kOrigins)},
    {"schedule.warmup", K::integer, true, 0, kAny, "", "", "by type: 1000 for warmup, warmup_decay, warmup_cosine, else 0",
     "Warm-up steps.", DS_FIELD(schedule.warmup)},
    {"schedule.total", K::integer, true, 1, kAny, "", "", "train.steps",
     "Step at which the lowest rate is reached.", DS_FIELD(schedule.total)},
    {"schedule.min_lr", K::number, true, 0, 1e3, "", "", "0.0",
     "Lowest rate: at the end (constant, linear, cosine, wsd), at the start (warmup), at both (warmup_decay, onecycle).", DS_FIELD(schedule.min_lr)},
    {"schedule.warmup_type", K::choice, true, 0, 0, kWarmups, "", "\"log\"",
     "Warm-up shape of warmup, warmup_decay and warmup_cosine; other types rise linearly.", DS_WORD(schedule.warmup_type, kWarmups)},
    {"schedule.warmup_min_ratio", K::number, true, 0, 1, "", "", "0.0",
     "warmup_cosine: rate at the start, as a fraction of optimizer.lr.", DS_FIELD(schedule.warmup_min_ratio)},
    {"schedule.cos_min_ratio", K::number, true, 0, 1, "", "", "0.0001",
     "warmup_cosine: rate at the end, as a fraction of optimizer.lr.", DS_FIELD(schedule.cos_min_ratio)},
    {"schedule.decay", K::integer, true, 0, kAny, "", "", "a tenth of total",
     "wsd: decay steps at the end.", DS_FIELD(schedule.decay)},
    {"schedule.tail", K::choice, true, 0, 0, kTails, "", "\"linear\"",
     "wsd: shape of the decay; sqrt: 1 - sqrt(x).", DS_WORD(schedule.tail, kTails)},
    {"schedule.first_steps", K::integer, true, 1, kAny, "", "", "2000",
     "onecycle: steps from min_lr up to optimizer.lr.", DS_FIELD(schedule.first_steps)},
    {"schedule.second_steps", K::integer, true, 0, kAny, "", "", "first_steps",
     "onecycle: steps from optimizer.lr back to min_lr.", DS_FIELD(schedule.second_steps)},
    {"schedule.first_stairs", K::integer, true, 0, kAny, "", "", "0",
     "onecycle: number of stairs of the rise; 0 = smooth.", DS_FIELD(schedule.first_stairs)},
    {"schedule.second_stairs", K::integer, true, -1, kAny, "", "", "-1",
     "onecycle: number of stairs of the fall; -1 = first_stairs.", DS_FIELD(schedule.second_stairs)},
    {"schedule.decay_steps", K::integer, true, 0, kAny, "", "", "0",
     "onecycle: number of steps after the cycle to which decay_lr_rate and decay_momentum_rate apply; 0 = no decay.", DS_FIELD(schedule.decay_steps)},
    {"schedule.decay_lr_rate", K::number, true, 0, 1e6, "", "", "0.0",
     "onecycle: lr = min_lr / (1 + rate * steps / decay_steps) after the cycle.", DS_FIELD(schedule.decay_lr_rate)},
    {"schedule.cycle_momentum", K::flag, true, 0, 0, "", "", "true",
     "onecycle: lower beta1 (origin = clean: also the momentum of sgd) while the rate rises; origin = deepspeed also sets beta2 to 0.99.", DS_FIELD(schedule.cycle_momentum)},
    {"schedule.min_momentum", K::number, true, 0, 0.999999, "", "", "0.8",
     "onecycle: momentum at the highest rate.", DS_FIELD(schedule.min_momentum)},
    {"schedule.max_momentum", K::number, true, 0, 0.999999, "", "", "0.9",
     "onecycle: momentum at the lowest rate.", DS_FIELD(schedule.max_momentum)},
    {"schedule.decay_momentum_rate", K::number, true, 0, 1e6, "", "", "0.0",
     "onecycle: momentum = max_momentum / (1 + rate * steps / decay_steps) after the cycle; origin = deepspeed multiplies instead, limited to less than 1.", DS_FIELD(schedule.decay_momentum_rate)},
    {"schedule.range_steps", K::integer, true, 1, kAny, "", "", "2000",
     "range_test: lr = optimizer.lr * (1 + range_rate * (i + 1) / range_steps).", DS_FIELD(schedule.range_steps)},
    {"schedule.range_rate", K::number, true, 0, 1e6, "", "", "1.0",
     "range_test: growth of the rate per range_steps, as a fraction of optimizer.lr.", DS_FIELD(schedule.range_rate)},
    {"schedule.range_staircase", K::flag, true, 0, 0, "", "", "false",
     "range_test: round (i + 1) / range_steps down.", DS_FIELD(schedule.range_staircase)},

    {"precision.dtype", K::choice, true, 0, 0, kPrecisions, "", "\"fp32\"",
     "Type of weights and activations; gradients are summed in fp32.", DS_WORD(precision.dtype, kPrecisions)},
    {"precision.master", K::choice, false, 0, 0, kMasters, "", "\"fp32\"",
     "Master weights. split16 (bf16 only): store the lower 16 bits beside the bf16 weights; the same values in 2 bytes less per weight.", DS_WORD(precision.master, kMasters)},
    {"precision.grad_accum", K::choice, true, 0, 0, "fp32", "bf16|fp16", "\"fp32\"",
     "Type of the gradient sums.", DS_FIELD(precision.grad_accum)},
    {"precision.on_nonfinite", K::choice, true, 0, 0, kOnNonfinite, "", "\"auto\"",
     "Reaction to a gradient that is not finite. skip: skip the step; abort: end the job and name tensor and layer; auto: skip for fp16, else abort.", DS_WORD(precision.on_nonfinite, kOnNonfinite)},

    {"precision.loss_scale.static", K::number, true, 0, 1e30, "", "", "0.0",
     "Fixed loss scale (fp16); 0 = dynamic.", DS_FIELD(precision.loss_scale.fixed)},
    {"precision.loss_scale.init_power", K::integer, true, 0, 30, "", "", "16",
     "Start of the dynamic scale, as a power of 2.", DS_FIELD(precision.loss_scale.init_power)},
    {"precision.loss_scale.window", K::integer, true, 1, kAny, "", "", "1000",
     "Steps without overflow before the scale doubles.", DS_FIELD(precision.loss_scale.window)},
    {"precision.loss_scale.hysteresis", K::integer, true, 1, 1 << 20, "", "", "2",
     "Overflows before the scale halves.", DS_FIELD(precision.loss_scale.hysteresis)},
    {"precision.loss_scale.consecutive", K::flag, true, 0, 0, "", "", "false",
     "Restore the hysteresis after every step without overflow, not only after a whole window.", DS_FIELD(precision.loss_scale.consecutive)},
    {"precision.loss_scale.min", K::number, true, 1e-30, 1e30, "", "", "1.0",
     "Lowest dynamic scale.", DS_FIELD(precision.loss_scale.min)},
    {"precision.loss_scale.at_min", K::choice, true, 0, 0, kAtMin, "", "\"abort\"",
     "Reaction to an overflow at the lowest scale.", DS_WORD(precision.loss_scale.at_min, kAtMin)},
};
// clang-format on

}  // namespace

std::span<const Key> optim_keys() { return kOptimKeys; }

}  // namespace ds
