#include "cli/arguments/threads.hpp"

#include <tbb/global_control.h>

#include <utility>

namespace garuda::cli {

struct ThreadLimit::Limit {
  Limit(std::uint32_t threads, std::uint32_t before)
      : control(tbb::global_control::max_allowed_parallelism, threads), file_threads_before(before) {}
  Limit(Limit const&) = delete;
  Limit& operator=(Limit const&) = delete;
  ~Limit() {
    if (file_threads_before > 0) (void)set_file_threads(file_threads_before);
  }

  tbb::global_control control;
  std::uint32_t file_threads_before;
};

Result<ThreadLimit> ThreadLimit::set(std::uint32_t threads) {
  if (threads == 0) return ThreadLimit(nullptr);
  GARUDA_TRY_ASSIGN(auto const before, set_file_threads(threads));
  return ThreadLimit(std::make_unique<Limit>(threads, before));
}

ThreadLimit::ThreadLimit(std::unique_ptr<Limit> limit) : limit_(std::move(limit)) {}
ThreadLimit::ThreadLimit(ThreadLimit&&) noexcept = default;
ThreadLimit& ThreadLimit::operator=(ThreadLimit&&) noexcept = default;
ThreadLimit::~ThreadLimit() = default;

}  // namespace garuda::cli
