// Keys and values for the tests of group-by kernels, and what their groups and states have to be.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "operators/contract/group_by_kernel.hpp"

namespace garuda::testing {

/// How rows fall into groups.
enum class GroupPattern : std::uint8_t {
  one,       ///< all rows are one group
  two,       ///< alternating
  some,      ///< 64 groups
  many,      ///< 65 536 groups
  distinct,  ///< every row its own
  zipf,      ///< exponent 1.5
  heavy,     ///< one group with 90 % of the rows, the others spread
};
inline constexpr std::uint32_t kNumGroupPatterns = 7;

/// The shape of keys.
struct KeyShape {
  std::uint32_t bits = 32;  ///< of packed keys: 32 or 64; 0: words
  std::uint32_t words = 0;  ///< of keys of several words; bits == 0 and words == 0: no keys
  bool dense = false;       ///< packed keys are consecutive, up to the end of the type's range
  bool poor_hash = false;   ///< all rows agree in the hashing word
};

struct GroupCase {
  std::uint64_t rows = 0;
  GroupPattern pattern = GroupPattern::one;
  KeyShape shape;
  std::uint32_t seed = 1;
};
std::string to_string(GroupCase const& group_case);

/// The keys of a case and the groups that they have to give.
class GroupProblem {
 public:
  explicit GroupProblem(GroupCase const& group_case);
  GroupProblem(GroupProblem const&) = delete;
  GroupProblem& operator=(GroupProblem const&) = delete;

  contract::GroupSlice slice() const;
  std::vector<std::uint32_t> const& heads() const { return heads_; }
  std::vector<std::uint32_t> const& ids() const { return ids_; }

 private:
  GroupCase case_;
  std::vector<std::uint32_t> keys32_;
  std::vector<std::uint64_t> keys64_;
  std::vector<std::vector<std::uint32_t>> words_;
  std::vector<std::uint32_t> heads_;
  std::vector<std::uint32_t> ids_;
};

/// How values are spread.
enum class ValuePattern : std::uint8_t {
  full_range,  ///< any bits: floats of every magnitude, subnormals, NaNs and infinities among them
  largest,     ///< the largest value of the kind: sums need more bits than values
  cancelling,  ///< pairs that add up to zero, of every magnitude; few values of small magnitude between
  tiny,        ///< zeros of both signs, subnormals and small integers
};
inline constexpr std::uint32_t kNumValuePatterns = 4;

/// A column and the states that it has to give.
class ValueColumn {
 public:
  ValueColumn(contract::ValueKind kind, ValuePattern pattern, bool nulls, std::uint64_t rows, std::uint32_t seed);

  contract::AggregateInput input(contract::StateSet states) const;
  /// Compares every state asked for with sums and extremes found one value at a time.
  void expect_states(contract::AggregateState const& state, contract::StateSet states,
                     GroupProblem const& problem) const;

 private:
  bool is_valid(std::size_t row) const { return validity_.empty() || (validity_[row / 32] >> (row % 32) & 1U) != 0; }
  void expect_sums(contract::AggregateState const& state, GroupProblem const& problem) const;
  void expect_float_sums(contract::FloatSums const& sums, GroupProblem const& problem) const;
  void expect_extremes(contract::AggregateState const& state, contract::StateSet states,
                       GroupProblem const& problem) const;

  contract::ValueKind kind_;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint32_t> validity_;
};

}  // namespace garuda::testing
