// Keys of the sections [determinism], [train], [sample], [log], [device], [comm] and [debug].
#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // above every int64
constexpr std::string_view kOrders = "auto|boundary|step";
constexpr std::string_view kGraphs = "auto|on|off";
constexpr std::string_view kEpilogues = "exact|fused";

using K = KeyKind;
// clang-format off
const Key kRunKeys[] = {
    {"determinism.virtual_ranks", K::integer, true, 1, 1 << 16, "", "", "the number of ranks",
     "Number of ranks among which the arithmetic divides the batch; equal numbers give equal bits at every world size. With --nodes MIN:MAX the default is batch.global / batch.micro, with accum 1; if only one of the two is given, the least number from MAX ranks on that divides the batch.", DS_FIELD(determinism.virtual_ranks)},
    {"determinism.order", K::choice, true, 0, 0, kOrders, "", "\"auto\"",
     "Order in which gradients are summed; auto: boundary for ZeRO stages 0 and 1, step for 2 and 3.", DS_WORD(determinism.order, kOrders)},

    {"train.steps", K::integer, false, 1, kAny, "", "", "required, or train.epochs",
     "Number of optimizer steps.", DS_FIELD(train.steps)},
    {"train.epochs", K::number, false, 0, 1e9, "", "", "0.0",
     "How often the data are read; where train.steps is also given, that decides.", DS_FIELD(train.epochs)},
    {"train.seed", K::integer, true, 0, kAny, "", "", "1",
     "Seed of the initial weights and of the data order.", DS_FIELD(train.seed)},
    {"train.freeze", K::names, true, 0, 0, "", "", "[]",
     "Patterns of tensor names (docs/models.md), such as \"embed*\" or \"layers.[0-3].*\": these tensors do not train.", DS_FIELD(train.freeze)},
    {"train.validate_every", K::integer, false, 0, kAny, "", "", "0",
     "Steps between validations; 0 = only at the end.", DS_FIELD(train.validate_every)},
    {"train.validate_batches", K::integer, false, 1, 1 << 20, "", "", "16",
     "Micro-batches per virtual rank in one validation.", DS_FIELD(train.validate_batches)},

    {"sample.prompt", K::text, false, 0, 0, "", "", "\"\"",
     "Text that the sample at the end of training continues; with data.tokenizer = \"none\", token numbers such as \"464 995\".", DS_FIELD(sample.prompt)},
    {"sample.tokens", K::integer, false, 0, 1 << 20, "", "", "0",
     "Tokens to generate at the end; 0 = no sample.", DS_FIELD(sample.tokens)},
    {"sample.temperature", K::number, false, 0, 100, "", "", "0.8",
     "Sampling temperature; 0 = always the likeliest token.", DS_FIELD(sample.temperature)},
    {"sample.top_k", K::integer, false, 0, 1 << 24, "", "", "0",
     "Sample among the k likeliest tokens; 0 = among all.", DS_FIELD(sample.top_k)},
    {"sample.seed", K::integer, false, 0, kAny, "", "", "1",
     "Seed of the sample.", DS_FIELD(sample.seed)},

    {"log.dir", K::path, false, 0, 0, "", "", "runs/NAME-DATE-N in the working directory",
     "Folder of the run.", DS_FIELD(log.dir)},
    {"log.every", K::integer, false, 1, kAny, "", "", "10",
     "Steps between lines of metrics.jsonl.", DS_FIELD(log.every)},
    {"log.samples", K::flag, false, 0, 0, "", "", "false",
     "Write samples-rankN.jsonl into the run's folder on every rank: the sequences that each step used (docs/run_folder.md).", DS_FIELD(log.samples)},
    {"log.phases", K::flag, false, 0, 0, "", "", "true",
     "Measure what the time of each step is spent on (docs/metrics.md).", DS_FIELD(log.phases)},
    {"log.tensorboard", K::place, false, 0, 0, "", "", "false",
     "Write event files for TensorBoard: true, into tensorboard/ in the run's folder; or the folder to write them to (docs/metrics.md).", DS_FIELD(log.tensorboard)},
    {"log.csv", K::place, false, 0, 0, "", "", "false",
     "Write metrics.csv: true, into the run's folder; or the folder to write it to (docs/metrics.md).", DS_FIELD(log.csv)},
    {"log.trace", K::steps, false, 0, 0, "", "", "\"\"",
     "Steps that are recorded op by op on all ranks, such as \"20-22\"; the run's folder gets trace.json for Perfetto (docs/metrics.md).", DS_FIELD(log.trace)},

    {"device.backend", K::choice, false, 0, 0, "auto|cpu|cuda", "", "\"auto\"",
     "Where the arithmetic runs; auto: cuda if the plugin is installed and finds a device, else cpu.", DS_FIELD(device.backend)},
    {"device.graphs", K::choice, false, 0, 0, kGraphs, "", "\"auto\"",
     "Issue parts of a step as CUDA graphs from its second run on; auto: where the ops are so small that launching them takes longer than running them.", DS_WORD(device.graphs, kGraphs)},
    {"device.epilogues", K::choice, true, 0, 0, kEpilogues, "", "\"exact\"",
     "How GELU and bias gradients of 16-bit products are computed. exact: by kernels whose bits recomputation can repeat; fused: inside the cuBLASLt products, with different bits; CUDA only.", DS_WORD(device.epilogues, kEpilogues)},
    {"device.threads", K::integer, false, 0, 4096, "", "", "0",
     "Threads of one rank; 0 = its share of the node's cores.", DS_FIELD(device.threads)},
    {"device.isa", K::choice, false, 0, 0, "auto|avx512|avx2", "", "\"auto\"",
     "Instruction set of the CPU kernels; all ranks must use the same one.", DS_FIELD(device.isa)},
    {"device.memory", K::bytes, false, 1 << 20, kAny, "auto", "", "\"auto\"",
     "Device memory that a rank may use, as 8G or in bytes; auto: all that is free.", DS_OR_AUTO(device.memory, 0)},
    {"device.host_memory", K::bytes, false, 1 << 20, kAny, "auto", "", "\"auto\"",
     "Host memory that a rank may use for offloaded state; auto: all that is free.", DS_OR_AUTO(device.host_memory, 0)},

    {"comm.timeout", K::number, false, 1, 86400, "", "", "20.0",
     "Seconds after which the job fails because a rank is silent or because no rank makes progress. A rank that makes progress is never given up.", DS_FIELD(comm.timeout)},

    {"debug.non_finite", K::text, true, 0, 0, "", "", "\"\"",
     "Make steps fail, for tests: \"3,7\" scales the loss of steps 3 and 7 by infinity; \"5:block1.mlp.fc\" makes the first output of that op NaN in step 5.", DS_FIELD(debug.non_finite)},
    {"debug.slow_data", K::text, false, 0, 0, "", "", "\"\"",
     "Make the data of one rank come late, for tests: \"1:20\" makes rank 1 read 20 ms longer in every step.", DS_FIELD(debug.slow_data)},
};
// clang-format on

}  // namespace

std::span<const Key> run_keys() { return kRunKeys; }

}  // namespace ds
