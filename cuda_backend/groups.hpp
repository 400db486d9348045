// The group-by of one slice on a lane: the contract of garuda::contract::GroupByKernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda_backend/group_kernels.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class Groups {
 public:
  /// Where the columns of slice and aggregates lie.
  enum class Source : std::uint8_t { host, device };
  /// What an aggregate computed, on the device.
  struct States {
    AccumulatorLayout layout;
    GarudaCudaValueKind kind = GARUDA_CUDA_NONE;
    std::uint64_t num_windows = 0;
    Buffer accumulators;
    Buffer sums;
    Buffer minima;  ///< 128-bit kinds
    Buffer maxima;
    Buffer flags;
    Buffer first_windows;
    Buffer offsets;
    Buffer windows;
  };

  /// `slice`'s columns and `lane` outlive the groups. On the device: keys of one word, columns without nulls.
  Groups(Lane& lane, GarudaCudaGroupSlice const& slice, Source source = Source::host);
  Groups(Groups const&) = delete;
  Groups& operator=(Groups const&) = delete;
  ~Groups() { lane_.drain(); }

  /// Finds the groups. Called once, first.
  Result<std::uint64_t> find();
  Result<void> heads(std::span<std::uint32_t> out);
  Result<void> ids(std::span<std::uint32_t> out);

  std::uint32_t num_groups() const noexcept { return num_groups_; }
  /// num_groups() first rows on the device, after find().
  std::uint32_t const* device_heads() const noexcept { return heads_.as<std::uint32_t>(); }
  /// The states of the last aggregate.
  States const& states() const noexcept { return states_; }
  /// An array of its accumulators; null for -1.
  std::uint64_t const* accumulator(int which) const noexcept;

  /// Computes the states of a column. Returns the windows of its float sums.
  Result<std::uint64_t> aggregate(GarudaCudaAggregate const& input);
  /// Copies the states of the last aggregate.
  Result<void> fetch(GarudaCudaStates const& states);

 private:
  bool has_keys() const noexcept { return slice_.key_bits != 0 || slice_.num_words != 0; }
  /// Slots of a directly addressed table, 0: keys are hashed.
  std::uint64_t direct_slots() const;
  Result<void> upload_keys();
  GarudaCudaGroupMethod chosen_method() const;
  Result<void> find_slots();
  Result<void> address();
  Result<void> hash_all();
  Result<bool> hash(std::uint32_t log2_slots);
  template <class Key>
  Result<void> partition_keys();
  template <class Key>
  Result<void> sort_keys();
  Result<void> sort_words();
  /// Slots of rows that `order` brings together; `keys`: in that order, or with `in_order` false as they came.
  Result<void> take_runs(GroupKeys const& keys, Buffer const& order, bool in_order);
  Result<void> number();
  Result<GroupedValues> upload_values(GarudaCudaAggregate const& input, Buffer& values, Buffer& validity);
  Result<void> accumulate_words(GroupedValues const& values, States& states);
  Result<Buffer> wide_extremes(GroupedValues const& values, States const& states, bool is_min);
  Result<void> sum_floats(GroupedValues const& values, States& states);
  template <class Word>
  Result<void> copy_out(Word* target, void const* source, std::uint64_t words);

  Lane& lane_;
  Launch launch_;
  GarudaCudaGroupSlice slice_;
  Source source_;
  std::vector<std::uint32_t const*> word_columns_;
  void const* keys_ = nullptr;  ///< on the device
  Buffer own_keys_;
  GroupTable table_;
  Buffer table_heads_;
  Buffer slots_;
  Buffer ids_;
  Buffer heads_;
  std::uint32_t num_groups_ = 1;
  States states_;
};

}  // namespace garuda::cuda_backend
