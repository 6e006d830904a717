// A type whose name another header of the namespace has.
#pragma once

namespace ds {

struct Twice {
  int a = 0;
};

}  // namespace ds
