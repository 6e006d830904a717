// Keys of [determinism], [train], [sample], [log], [device] and [debug].
#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // Beyond every int64.
constexpr std::string_view kOrders = "auto|boundary|step";
constexpr std::string_view kGraphs = "auto|on|off";
constexpr std::string_view kEpilogues = "exact|fused";

using K = KeyKind;
// clang-format off
const Key kRunKeys[] = {
    {"determinism.virtual_ranks", K::integer, true, 1, 1 << 16, "", "", "the number of ranks",
     "Among how many ranks the batch is divided for the arithmetic; equal numbers give equal bits.", DS_FIELD(determinism.virtual_ranks)},
    {"determinism.order", K::choice, true, 0, 0, kOrders, "", "\"auto\"",
     "Order of the gradient sum; auto: boundary for ZeRO stages 0 and 1, step for 2 and 3.", DS_WORD(determinism.order, kOrders)},

    {"train.steps", K::integer, false, 1, kAny, "", "", "required",
     "Optimizer steps.", DS_FIELD(train.steps)},
    {"train.seed", K::integer, true, 0, kAny, "", "", "1",
     "Of weights and of the order of the data.", DS_FIELD(train.seed)},
    {"train.validate_every", K::integer, false, 0, kAny, "", "", "0",
     "Steps between validations; 0 = at the end only.", DS_FIELD(train.validate_every)},
    {"train.validate_batches", K::integer, false, 1, 1 << 20, "", "", "16",
     "Micro-batches of every virtual rank in one validation.", DS_FIELD(train.validate_batches)},

    {"sample.prompt", K::text, false, 0, 0, "", "", "\"\"",
     "Text that the sample at the end continues.", DS_FIELD(sample.prompt)},
    {"sample.tokens", K::integer, false, 0, 1 << 20, "", "", "0",
     "Tokens to generate at the end; 0 = no sample.", DS_FIELD(sample.tokens)},
    {"sample.temperature", K::number, false, 0, 100, "", "", "0.8",
     "0 = always the likeliest token.", DS_FIELD(sample.temperature)},
    {"sample.top_k", K::integer, false, 0, 1 << 24, "", "", "0",
     "Choose among the k likeliest tokens; 0 = among all.", DS_FIELD(sample.top_k)},
    {"sample.seed", K::integer, false, 0, kAny, "", "", "1",
     "Of the sample.", DS_FIELD(sample.seed)},

    {"log.dir", K::path, false, 0, 0, "", "", "runs/NAME-DATE-N in the working directory",
     "The folder of the run.", DS_FIELD(log.dir)},
    {"log.every", K::integer, false, 1, kAny, "", "", "10",
     "Steps between lines of metrics.jsonl.", DS_FIELD(log.every)},
    {"log.samples", K::flag, false, 0, 0, "", "", "false",
     "Every rank writes samples-rankN.jsonl into the run's folder: which sequences of the data each step took (docs/run_folder.md).", DS_FIELD(log.samples)},

    {"device.backend", K::choice, false, 0, 0, "auto|cpu|cuda", "", "\"auto\"",
     "Where the arithmetic runs; auto: cuda where the plugin is there and sees a device.", DS_FIELD(device.backend)},
    {"device.graphs", K::choice, false, 0, 0, kGraphs, "", "\"auto\"",
     "CUDA graphs of stretches of a step, from its second run on; auto: where ops are so small that launching them would take longer.", DS_WORD(device.graphs, kGraphs)},
    {"device.epilogues", K::choice, true, 0, 0, kEpilogues, "", "\"exact\"",
     "GELU and bias gradients of 16-bit products; exact: by kernels whose bits recomputation can repeat; fused: inside cuBLASLt's products, with bits of their own; CUDA alone has it.", DS_WORD(device.epilogues, kEpilogues)},
    {"device.threads", K::integer, false, 0, 4096, "", "", "0",
     "Threads of one rank; 0 = its share of the node's cores.", DS_FIELD(device.threads)},
    {"device.isa", K::choice, false, 0, 0, "auto|avx512|avx2", "", "\"auto\"",
     "Instruction set of the CPU kernels; the one in use is compared among ranks.", DS_FIELD(device.isa)},
    {"device.memory", K::bytes, false, 1 << 20, kAny, "auto", "", "\"auto\"",
     "Memory of the device that a rank may use, as 8G or in bytes; auto: what is free.", DS_OR_AUTO(device.memory, 0)},
    {"device.host_memory", K::bytes, false, 1 << 20, kAny, "auto", "", "\"auto\"",
     "Memory of the host that a rank may use for offloaded state; auto: what is free.", DS_OR_AUTO(device.host_memory, 0)},

    {"comm.timeout", K::number, false, 1, 86400, "", "", "20.0",
     "Seconds after which a rank that is silent, or a job in which no rank gets on, is given up; a rank that works is waited for.", DS_FIELD(comm.timeout)},

    {"debug.non_finite", K::text, true, 0, 0, "", "", "\"\"",
     "Makes steps fail, to see what a job does: \"3,7\" scales the loss of these steps by infinity; \"5:block1.mlp.fc\" makes the first output of that operation NaN.", DS_FIELD(debug.non_finite)},
};
// clang-format on

}  // namespace

std::span<const Key> run_keys() { return kRunKeys; }

}  // namespace ds
