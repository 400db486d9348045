// The bound of how deep relations, expressions and types of a plan may be nested: every level takes stack.
#pragma once

#include <fmt/format.h>

#include <cstddef>

#include "garuda/error.hpp"

namespace garuda::substrait {

inline constexpr std::size_t kMostDepth = 256;

inline tl::unexpected<Error> too_deep() {
  return fail(ErrorCode::invalid_input, fmt::format("the plan is nested deeper than this bound: {}", kMostDepth));
}

/// One level more, as long as it lives.
class Level {
 public:
  explicit Level(std::size_t& depth) : depth_(depth) { ++depth_; }
  Level(Level const&) = delete;
  Level& operator=(Level const&) = delete;
  ~Level() { --depth_; }
  bool is_too_deep() const noexcept { return depth_ > kMostDepth; }

 private:
  std::size_t& depth_;
};

}  // namespace garuda::substrait
