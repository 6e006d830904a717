// Freed: a std::unique_ptr deleter for objects that a C library frees with its own function.
#pragma once

namespace ds {

/// Use: std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>.
template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

}  // namespace ds
