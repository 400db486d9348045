// Makes the columns of a result of the states of groups, on the device.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// The exponent of what position 0 of a float of `kind` stands for, its least subnormal; of other kinds 0.
int unit_exponent(GarudaCudaValueKind kind);

/// Sums times 2^exponent in two's complement, of one word or of two, low word first.
struct SignedSums {
  std::uint64_t const* words = nullptr;
  std::uint32_t words_each = 2;
  int exponent = 0;
};

/// Float sums before they are rounded, as GarudaCudaStates has them.
struct FloatWindows {
  std::uint64_t const* flags = nullptr;    ///< null: the sums are no windows
  std::uint64_t const* windows = nullptr;  ///< null: no group has any
  std::uint32_t first_window = 0;
  std::uint32_t num_windows = 0;
};

/// The states that an aggregate is made from, of all groups, on the device; those that it does not take are null.
struct ResultStates {
  std::uint64_t const* counts = nullptr;
  SignedSums sums;
  FloatWindows windows;
  std::uint64_t const* extremes = nullptr;  ///< words as core/numbers/ordered_value.hpp orders them
};

/// The columns of a result and the memory they lie in.
class ResultColumns {
 public:
  explicit ResultColumns(Lane& lane) : lane_(lane) {}

  /// The column of an aggregate without nulls: a state as it is, or computed into memory of its own. Errors:
  /// limit_exceeded, out_of_memory, device_failure.
  Result<std::uint64_t const*> finish(GarudaCudaResidentAggregate const& aggregate, ResultStates const& states,
                                      std::uint32_t groups);
  /// Keeps memory that a column lies in.
  void keep(Buffer memory) { memory_.push_back(std::move(memory)); }
  /// Waits for the lane. Errors: limit_exceeded when a sum was beyond 64 bits; device_failure, cancelled.
  Result<void> wait();
  void clear() {
    memory_.clear();
    overflow_.reset();
  }

 private:
  Lane& lane_;
  std::vector<Buffer> memory_;
  Buffer overflow_;
};

}  // namespace garuda::cuda_backend
