// bulk_copy(): copies large blocks past the caches, for data that is not read soon.
#pragma once

#include <cstddef>

namespace ds {

/// Copies like memcpy. Long blocks are written with non-temporal stores, which saves reading the
/// target's lines first: a third of the traffic.
void bulk_copy(void* to, const void* from, std::size_t bytes);

}  // namespace ds
