// Attention of one query per sequence, as in decoding: keys and values are read once, where they
// lie, and are not packed.
#pragma once

#include "engine/kernels/cpu/attention_layout.h"

namespace ds::cpu {

/// Computes an attention with T = 1 and without dropout. A head's result does not depend on the
/// others.
void attend_one_query(const Context& c, const AttentionSizes& s, const Attention& a);

}  // namespace ds::cpu
