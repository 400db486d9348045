#include "cli/arguments/threads.hpp"

#include <tbb/global_control.h>

#include <utility>

namespace garuda::cli {

struct ThreadLimit::Limit {
  tbb::global_control control;
};

Result<ThreadLimit> ThreadLimit::set(std::uint32_t threads) {
  if (threads == 0) return ThreadLimit(nullptr);
  GARUDA_TRY(limit_file_threads(threads));
  return ThreadLimit(std::unique_ptr<Limit>(new Limit{{tbb::global_control::max_allowed_parallelism, threads}}));
}

ThreadLimit::ThreadLimit(std::unique_ptr<Limit> limit) : limit_(std::move(limit)) {}
ThreadLimit::ThreadLimit(ThreadLimit&&) noexcept = default;
ThreadLimit& ThreadLimit::operator=(ThreadLimit&&) noexcept = default;
ThreadLimit::~ThreadLimit() = default;

}  // namespace garuda::cli
