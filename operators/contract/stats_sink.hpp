// Where the paths report what they did.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace garuda::contract {

/// What a kernel did, added up by the backend over all its kernels: thread-safe.
class StatsSink {
 public:
  virtual ~StatsSink() = default;
  virtual void add_phase(std::string_view name, std::uint64_t ns, std::uint64_t bytes, std::uint64_t items) = 0;
  virtual void add_counter(std::string_view name, std::uint64_t value) = 0;  ///< summed
  virtual void max_counter(std::string_view name, std::uint64_t value) = 0;  ///< greatest kept
  virtual void note(std::string text) = 0;  ///< a pass that ran differently, and why; duplicates are dropped
};

}  // namespace garuda::contract
