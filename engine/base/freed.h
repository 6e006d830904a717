// std::unique_ptr for what a C library frees by a function of its own.
#pragma once

namespace ds {

/// As a deleter: std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>.
template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

}  // namespace ds
