// Any keys under any digit.
#include <rapidcheck/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "partition/radix_partition.hpp"
#include "tests/partition/partitioned_words.hpp"

namespace garuda::partition {
namespace {

/// Any keys, any digit: the partitions hold the input's rows, each once, in order, under the right digit.
template <class Word>
void check_any_partitioning() {
  auto const words = *rc::gen::container<std::vector<Word>>(rc::gen::oneOf(
      rc::gen::arbitrary<Word>(), rc::gen::inRange<Word>(0, 8), rc::gen::just(std::numeric_limits<Word>::max())));
  auto const bits = *rc::gen::inRange<std::uint32_t>(0, 11);
  auto const mixed = *rc::gen::arbitrary<bool>();
  auto const shift =
      *rc::gen::inRange<std::uint32_t>(0, (mixed ? 63U : 8U * static_cast<std::uint32_t>(sizeof(Word))) - bits);
  RadixDigit const digit{bits, shift, mixed};
  auto const result = radix_partition(encoded(words), digit, {});
  RC_ASSERT(result.has_value());
  auto const keys = keys_of<Word>(*result);
  std::set<std::uint64_t> seen;
  for (std::uint32_t p = 0; p < result->num_partitions(); ++p) {
    for (auto i = result->offsets[p]; i < result->offsets[p + 1]; ++i) {
      RC_ASSERT(keys[i] == words.at(result->row_id(i)));
      RC_ASSERT(expected_partition(keys[i], digit) == p);
      RC_ASSERT(keys[i] >= result->ranges[p].min);
      RC_ASSERT(keys[i] <= result->ranges[p].max);
      if (i > result->offsets[p]) RC_ASSERT(result->row_id(i - 1) < result->row_id(i));
      RC_ASSERT(seen.insert(result->row_id(i)).second);
    }
  }
  RC_ASSERT(seen.size() == words.size());
}

RC_GTEST_PROP(RadixPartitionProperty, Any32BitKeys, ()) { check_any_partitioning<std::uint32_t>(); }
RC_GTEST_PROP(RadixPartitionProperty, Any64BitKeys, ()) { check_any_partitioning<std::uint64_t>(); }

}  // namespace
}  // namespace garuda::partition
