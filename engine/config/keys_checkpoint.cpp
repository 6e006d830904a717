// Keys of the sections [checkpoint] and [elastic].
#include "engine/config/key_access.h"

namespace ds {
namespace {

constexpr double kAny = 9.3e18;  // above every int64
constexpr std::string_view kLoads = "all|weights";

using K = KeyKind;
// clang-format off
const Key kCheckpointKeys[] = {
    {"checkpoint.dir", K::path, false, 0, 0, "", "", "\"\"",
     "Folder for checkpoints, shared by all nodes; empty = save none.", DS_FIELD(checkpoint.dir)},
    {"checkpoint.every", K::integer, false, 0, kAny, "", "", "0",
     "Steps between checkpoints; 0 = no checkpoints by step.", DS_FIELD(checkpoint.every)},
    {"checkpoint.minutes", K::number, false, 0, 1e6, "", "", "0.0",
     "Minutes between checkpoints, taken at the end of a step; 0 = no checkpoints by time.", DS_FIELD(checkpoint.minutes)},
    {"checkpoint.at_end", K::flag, false, 0, 0, "", "", "true",
     "Save a checkpoint after the last step.", DS_FIELD(checkpoint.at_end)},
    {"checkpoint.on_signal", K::flag, false, 0, 0, "", "", "true",
     "Save a checkpoint at the end of the step in which SIGTERM or SIGINT stops the job. SIGUSR1 always requests a checkpoint, and the job continues.", DS_FIELD(checkpoint.on_signal)},
    {"checkpoint.keep", K::integer, false, 0, kAny, "", "", "3",
     "Number of newest checkpoints to keep; 0 = all.", DS_FIELD(checkpoint.keep)},
    {"checkpoint.major_every", K::integer, false, 0, kAny, "", "", "0",
     "Keep checkpoints of steps that are multiples of this number forever; 0 = none.", DS_FIELD(checkpoint.major_every)},
    {"checkpoint.async", K::flag, false, 0, 0, "", "", "true",
     "Copy periodic checkpoints in memory and write them while training continues; false: training waits for the disk, and no memory is needed for the copy.", DS_FIELD(checkpoint.async)},
    {"checkpoint.rate", K::bytes, false, 1 << 20, kAny, "unlimited", "", "\"unlimited\"",
     "Maximum bytes per second that a rank writes while training continues, for example 500M.", DS_OR_WORD(checkpoint.rate, 0, "unlimited")},
    {"checkpoint.resume", K::path, false, 0, 0, "auto|never", "", "\"auto\"",
     "Where training resumes. auto: at the newest checkpoint in dir that verifies, else at step 0; never: at step 0; a path: at that checkpoint, or at the newest one in that folder.", DS_FIELD(checkpoint.resume)},
    {"checkpoint.load", K::choice, false, 0, 0, kLoads, "", "\"all\"",
     "What to load when resume is a path: all, or only the weights for a new training from step 0.", DS_WORD(checkpoint.load, kLoads)},

    {"elastic.every", K::count, false, 0, kAny, "auto", "", "\"auto\"",
     "Steps between copies of the states in memory that outlives the ranks, on two nodes if there are two; 0 = none. auto: as often as 2 % of the time allows, in jobs whose nodes may change (--nodes MIN:MAX).", DS_OR_AUTO(elastic.every, kAuto)},
};
// clang-format on

}  // namespace

std::span<const Key> checkpoint_keys() { return kCheckpointKeys; }

}  // namespace ds
