// Guards callbacks that an io_context may run after their object is gone: they then do nothing.
#pragma once

#include <memory>
#include <utility>

namespace ds::launcher {

/// A member of the object. An expired timer and a posted call cannot be canceled, and an
/// io_context may run on when a job on it has ended.
/// Threads: guard() from any while the object exists; its result where the object is destroyed.
class Life {
 public:
  template <class Call>
  auto guard(Call call) const {
    return [life = std::weak_ptr<const bool>(token_), call = std::move(call)](auto&&... args) {
      if (life.lock()) call(std::forward<decltype(args)>(args)...);
    };
  }

 private:
  std::shared_ptr<const bool> token_ = std::make_shared<const bool>(true);
};

}  // namespace ds::launcher
