#include "operators/query/limited/limited_join.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "keys/codes/key_types.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/limited/hash_partitions.hpp"

namespace garuda::query {
namespace {

std::uint64_t rows_of(TableView table) noexcept { return static_cast<std::uint64_t>(table.num_rows()); }

/// The tables that are joined, or parts of them.
struct Sides {
  TableView left;
  TableView right;

  TableView of(Side side) const noexcept { return side == Side::left ? left : right; }
};

/// The join of one query, cut into joins that fit.
class JoinParts {
 public:
  explicit JoinParts(LimitedJoin const& request) : request_(request) {}

  /// Joins what is known not to fit.
  Result<Table> split(Sides sides, std::uint32_t level) {
    constexpr std::uint64_t kRowBytes = 96;  // of its words, twice, and of its place in a table
    if (request_.keys.empty() || level == kMostSplitLevels) return request_.join(sides.left, sides.right);
    auto const larger = side_to_cut(sides);
    auto const bits = split_bits(rows_of(sides.of(larger)) * kRowBytes, request_.limit);
    GARUDA_TRY_ASSIGN(auto const first, partitions(sides, larger, level, bits));
    std::int64_t heaviest = 0;
    for (std::size_t p = 0; p < first.size(); ++p) heaviest = std::max(heaviest, first.num_rows(p));
    bool const is_split = heaviest < sides.of(larger).num_rows() / 8 * 7;
    if (!is_split && request_.kind == JoinKind::inner) return join_blocks(sides, larger);
    GARUDA_TRY_ASSIGN(auto const second, partitions(sides, other_side(larger), level, bits));
    auto const& lefts = larger == Side::left ? first : second;
    auto const& rights = larger == Side::left ? second : first;
    std::vector<Table> joined;
    for (std::size_t p = 0; p < lefts.size(); ++p) {
      if (!joined.empty() && lefts.num_rows(p) == 0 && rights.num_rows(p) == 0) continue;
      auto const left = lefts.table(p);
      auto const right = rights.table(p);
      auto rows = request_.join(left.view(), right.view());
      if (!rows && contract::is_shortage(rows.error())) rows = split({left.view(), right.view()}, level + 1);
      if (!rows) return rows;
      joined.push_back(*std::move(rows));
    }
    return pipeline::append_rows(joined);
  }

 private:
  /// The side whose rows do not fit.
  Side side_to_cut(Sides sides) const noexcept {
    if (request_.builds_alone) return request_.build;
    return sides.left.num_rows() > sides.right.num_rows() ? Side::left : Side::right;
  }

  /// The pairs of an inner join are those with each block of a side.
  Result<Table> join_blocks(Sides sides, Side cut) {
    auto const whole = sides.of(cut);
    auto block_rows = std::min(block_rows_of(request_.limit), std::max<std::uint64_t>(rows_of(whole), 1));
    std::vector<Table> joined;
    for (std::uint64_t begin = 0; begin < rows_of(whole) || joined.empty();) {
      auto const block = pipeline::slice_rows(whole, begin, block_rows);
      auto pairs =
          cut == Side::left ? request_.join(block.view(), sides.right) : request_.join(sides.left, block.view());
      if (!pairs && contract::is_shortage(pairs.error()) && block_rows > 1) {
        block_rows /= 2;
        continue;
      }
      if (!pairs) return pairs;
      joined.push_back(*std::move(pairs));
      begin += rows_of(block.view());
    }
    return pipeline::append_rows(joined);
  }

  Result<RowParts> partitions(Sides sides, Side side, std::uint32_t level, std::uint32_t bits) {
    std::vector<HashedKey> keys;
    for (auto const& [left, right] : request_.keys) {
      GARUDA_TRY_ASSIGN(auto const type, keys::common_key_type(sides.left.schema()[left], sides.right.schema()[right]));
      keys.push_back({side == Side::left ? left : right, type.compared});
    }
    return request_.run.arena.execute([&] {
      return hash_partitions(sides.of(side), keys, level, bits, StringForm::view, request_.limit, request_.control);
    });
  }

  LimitedJoin const& request_;
};

}  // namespace

Result<Table> join_within_limit(TableView left, TableView right, LimitedJoin const& request) {
  return JoinParts(request).split({left, right}, 0);
}

}  // namespace garuda::query
