// The other one, and one that is in another namespace.
#pragma once

namespace ds {

struct Twice;

struct Twice {
  double b = 0;
};

namespace inner {
struct Twice {};
}  // namespace inner

}  // namespace ds
