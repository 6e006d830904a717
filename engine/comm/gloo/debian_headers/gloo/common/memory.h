// Replaces gloo/common/memory.h, which Debian's libgloo-dev lacks although its own tcp/pair.h
// includes it. Contains the names and the layout that pair.h needs (each wraps one standard smart
// pointer); the functions are in libgloo. Used only where the real header is missing
// (CMakeLists.txt).
#pragma once

#include <memory>

namespace gloo {

template <typename T>
class NonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

template <typename T>
class WeakNonOwningPtr final {
  std::weak_ptr<T> pointer_;
};

template <typename T>
class ShareableNonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

}  // namespace gloo
