// Debian's libgloo-dev forgets this header, which its own tcp/pair.h includes. Here are the names and the layout it
// needs (each wraps one standard smart pointer); the functions stay inside libgloo. Used only where the real one is
// missing (CMakeLists.txt).
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
