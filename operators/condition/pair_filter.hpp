// Which pairs of rows a condition is true of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "operators/contract/condition.hpp"

namespace garuda::condition {

/// Evaluates a condition block by block of pairs. Used by one thread at a time.
class PairFilter {
 public:
  /// Borrows the condition, whose words the host can read.
  explicit PairFilter(contract::Condition const& condition);

  /// Sets passes[i] to 1 where the condition is true of rows left[i] and right[i] of the tables, else to 0. Requires
  /// spans of one length. Row: u32 or u64.
  template <class Row>
  void test(std::span<Row const> left, std::span<Row const> right, std::span<std::uint8_t> passes);

 private:
  /// Pairs of a block: what is fetched for it stays in a core's first cache.
  static constexpr std::size_t kBlockPairs = 1'024;
  using Flags = std::array<std::uint8_t, kBlockPairs>;

  template <class Row>
  struct Rows {
    Row const* left;
    Row const* right;
    std::size_t count;
  };

  template <class Row>
  void test_block(Rows<Row> const& rows, std::uint8_t* passes);
  template <class Row>
  void compare(contract::Comparison const& comparison, Rows<Row> const& rows, std::uint8_t* flags);
  template <class Word, class Row>
  void compare_words(contract::Comparison const& comparison, Rows<Row> const& rows, std::uint8_t* flags);
  contract::OrderWords const& column(contract::Operand const& operand) const;

  contract::Condition const& condition_;
  std::vector<Flags> stack_;
};

}  // namespace garuda::condition
