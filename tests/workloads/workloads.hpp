// Keys for the tests of the join kernels: sizes, distributions and nulls as data.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/contract/join_kernel.hpp"
#include "tests/reference/reference_join.hpp"
#include "tests/test_run.hpp"

namespace garuda::testing {

/// How the keys of the two sides are spread. The right side is the one that is skewed.
enum class KeyPattern : std::uint8_t {
  dense_unique,   ///< 0…rows-1, shuffled, on each side
  random_unique,  ///< over the whole width; half of the right keys are keys of the left, as far as there are any
  stride_2_10,    ///< 0, 2^10, 2·2^10, … on each side, shuffled
  stride_2_16,    ///< the same by 2^16; 32-bit keys start again at 0 after 2^16 rows
  all_equal,      ///< one key on both sides
  zipf_0_5,       ///< left 0…rows-1 shuffled, right drawn from these by Zipf's law with exponent 0.5
  zipf_1_0,
  zipf_1_5,
  zipf_both,  ///< both sides by Zipf's law with exponent 1, at most 2^20 pairs: right rows beyond match nothing
  no_match,   ///< even keys on the left, odd ones between them on the right
  extremes,   ///< 0, 1, the largest, the next to it and both sides of the sign bit on each side, then random ones
};
inline constexpr std::size_t kNumKeyPatterns = 11;
std::string_view to_string(KeyPattern pattern) noexcept;

/// The sides that have nulls: about an eighth of the rows.
enum class Nulls : std::uint8_t { none, left, right, both };
inline constexpr std::size_t kNumNulls = 4;
std::string_view to_string(Nulls nulls) noexcept;

/// Rows a side: nothing, one, around subgroup and workgroup sizes, around 2^16.
inline constexpr std::uint64_t kSmallSizes[] = {0, 1, 7, 8, 9, 255, 256, 257};
inline constexpr std::uint64_t kLargeSizes[] = {65'535, 65'537};

/// Everything that determines the keys of a case.
struct JoinCase {
  std::uint32_t key_bits = 32;
  std::uint64_t left_rows = 0;
  std::uint64_t right_rows = 0;
  KeyPattern pattern = KeyPattern::dense_unique;
  Nulls nulls = Nulls::none;
  std::uint64_t seed = 1;
};
std::string to_string(JoinCase const& join_case);

struct JoinKeys {
  reference::Keys left;
  reference::Keys right;
};

/// Makes the keys: a function of the case alone, the same on every platform.
JoinKeys make_keys(JoinCase const& join_case);

/// Whether all pairs of a case can be compared one by one: equal keys give at most 9 M pairs.
bool is_affordable(KeyPattern pattern, std::uint64_t left_rows, std::uint64_t right_rows) noexcept;

/// All combinations of width, pattern and nulls with both sizes in kSmallSizes.
std::vector<JoinCase> small_cases();

/// Pairwise combinations with a side in kLargeSizes, and what the axes do not reach: 1 000 000 dense keys a side,
/// 1 × 100 000 and 3 000 × 3 000 equal ones.
std::vector<JoinCase> large_cases();

/// One side's keys as a kernel takes them: nulls left out, in `key_bits` wide words.
class SliceSide {
 public:
  SliceSide(reference::Keys const& keys, std::uint32_t key_bits);

  /// Valid while this object lives.
  contract::KeySpan span() const;
  /// Row among the side's rows, nulls included, of the kernel's row `index`.
  std::uint64_t row(std::uint32_t index) const { return rows_.at(index); }
  std::uint64_t size() const { return rows_.size(); }

 private:
  std::uint32_t key_bits_;
  std::vector<std::uint32_t> words32_;
  std::vector<std::uint64_t> words64_;
  std::vector<std::uint64_t> rows_;
};

/// Pairs of a kernel as rows of the sides, nulls included, in the kernel's order.
std::vector<reference::RowPair64> table_rows(std::span<contract::RowPair const> pairs, SliceSide const& left,
                                             SliceSide const& right);

/// Marks of a kernel as a flag a row of the side, nulls included. Throws std::runtime_error when the bitmap has not the
/// words it should, or bits behind the last row.
std::vector<bool> table_marks(contract::MarkBitmap const& marks, SliceSide const& side, std::uint64_t num_rows);

}  // namespace garuda::testing
