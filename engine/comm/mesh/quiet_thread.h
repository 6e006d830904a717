// SignalsBlocked: threads made while it lives take no signals, which are for the main thread.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace ds::comm {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace ds::comm
