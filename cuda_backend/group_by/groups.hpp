// The group-by of one slice on a lane: the contract of garuda::contract::GroupByKernel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cuda_backend/group_by/group_states.hpp"
#include "cuda_backend/lane.hpp"
#include "cuda_backend/plugin.h"
#include "garuda/error.hpp"

namespace garuda::cuda_backend {

/// Keys of rows on the device: `bits` 32 or 64, or 0 for `num_words` columns of `rows` words behind one another.
struct GroupKeys {
  void const* data = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t bits = 0;
  std::uint32_t num_words = 0;
  bool mixed = false;  ///< are hashes already
};

/// A slot a group, which holds its lowest row in the end; kNoRow: free.
struct GroupTable {
  std::uint32_t* heads = nullptr;
  std::uint32_t log2_slots = 0;  ///< of a hashed table
  std::uint32_t max_groups = 0;  ///< of a hashed table: more set `overflow`
  std::uint32_t* inserted = nullptr;
  std::uint32_t* overflow = nullptr;
};

/// Errors of every call: device_failure, out_of_memory, limit_exceeded, cancelled.
class Groups {
 public:
  /// Where the columns of slice and aggregates lie.
  enum class Source : std::uint8_t { host, device };
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
  GroupStates& states() noexcept { return states_; }

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
  Result<void> hash_all(GroupKeys const& keys, Buffer const& slots);
  Result<bool> hash(GroupKeys const& keys, Buffer const& slots_out, std::uint32_t log2_slots);
  /// Of one word, on the device.
  GarudaCudaColumn key_column() const { return {reinterpret_cast<std::uint64_t>(keys_), slice_.key_bits / 8}; }
  Result<void> partition_keys();
  Result<void> sort_keys();
  Result<void> sort_words();
  /// Slots of rows that `order` brings together; `keys`: in that order, or with `in_order` false as they came.
  Result<void> take_runs(GroupKeys const& keys, Buffer const& order, bool in_order);
  /// Slots and heads of rows from the slots of positions of `order`; the table has memory for the heads.
  Result<void> take_slots(Buffer const& slots, Buffer const& order);
  Result<void> number();
  Result<GroupedValues> upload_values(GarudaCudaAggregate const& input, Buffer& values, Buffer& validity);
  template <class Word>
  Result<void> copy_out(Word* target, void const* source, std::uint64_t words);

  Lane& lane_;
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
  GroupStates states_;
};

}  // namespace garuda::cuda_backend
