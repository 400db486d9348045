// A disk that is full, for tests of what is written to it.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace garuda::testing {

/// A limit on the size of files stands for a full disk: both make write(2) fail.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit const limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallFiles(SmallFiles const&) = delete;
  SmallFiles& operator=(SmallFiles const&) = delete;

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace garuda::testing
