// Keys of [checkpoint].
#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // Beyond every int64.
constexpr std::string_view kLoads = "all|weights";

using K = KeyKind;
// clang-format off
const Key kCheckpointKeys[] = {
    {"checkpoint.dir", K::path, false, 0, 0, "", "", "\"\"",
     "Folder of the run's checkpoints, the same one for all nodes; empty: none are saved.", DS_FIELD(checkpoint.dir)},
    {"checkpoint.every", K::integer, false, 0, kAny, "", "", "0",
     "Steps between checkpoints; 0 = not by steps.", DS_FIELD(checkpoint.every)},
    {"checkpoint.minutes", K::number, false, 0, 1e6, "", "", "0.0",
     "Minutes between checkpoints, at the end of a step; 0 = not by time.", DS_FIELD(checkpoint.minutes)},
    {"checkpoint.at_end", K::flag, false, 0, 0, "", "", "true",
     "A checkpoint after the last step.", DS_FIELD(checkpoint.at_end)},
    {"checkpoint.on_signal", K::flag, false, 0, 0, "", "", "true",
     "A checkpoint at the end of the step in which SIGTERM or SIGINT stops the job. SIGUSR1 always asks for one, and the job goes on.", DS_FIELD(checkpoint.on_signal)},
    {"checkpoint.keep", K::integer, false, 0, kAny, "", "", "3",
     "Newest checkpoints to keep; 0 = all.", DS_FIELD(checkpoint.keep)},
    {"checkpoint.major_every", K::integer, false, 0, kAny, "", "", "0",
     "Checkpoints of steps that are multiples of it are kept for good; 0 = of none.", DS_FIELD(checkpoint.major_every)},
    {"checkpoint.async", K::flag, false, 0, 0, "", "", "true",
     "Periodic checkpoints are copied in memory and written beside the training; false: training waits for the disk, and no memory is taken.", DS_FIELD(checkpoint.async)},
    {"checkpoint.rate", K::bytes, false, 1 << 20, kAny, "unlimited", "", "\"unlimited\"",
     "Bytes a second that a rank writes at most beside the training, as 500M.", DS_OR_WORD(checkpoint.rate, 0, "unlimited")},
    {"checkpoint.resume", K::path, false, 0, 0, "auto|never", "", "\"auto\"",
     "Where training goes on. auto: at the newest checkpoint in dir that verifies, or at the start; never: at the start; a path: there (a checkpoint, or a folder of them).", DS_FIELD(checkpoint.resume)},
    {"checkpoint.load", K::choice, false, 0, 0, kLoads, "", "\"all\"",
     "What is taken from resume = a path: all, or the weights alone, for training that starts anew at step 0.", DS_WORD(checkpoint.load, kLoads)},
};
// clang-format on

}  // namespace

std::span<const Key> checkpoint_keys() { return kCheckpointKeys; }

}  // namespace ds
