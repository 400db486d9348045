#include "operators/query/limited/limited_join.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "keys/codes/key_types.hpp"
#include "operators/contract/join_kind.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/pipeline/rows.hpp"
#include "operators/query/bind.hpp"
#include "operators/query/limited/hash_partitions.hpp"

namespace garuda::query {
namespace {

/// The join of one query, cut into pipelines whose build side fits.
class JoinParts {
 public:
  explicit JoinParts(LimitedProbe const& request) : request_(request) {}

  /// `tried`: whether the join of these tables is known not to fit.
  Result<Table> join(TableView probe, TableView build, std::uint32_t level, bool tried) {
    if (!tried) {
      auto joined = join_once(probe, build);
      if (joined || !contract::is_shortage(joined.error())) return joined;
      if (level == kMostSplitLevels) return joined;
    }
    GARUDA_TRY_ASSIGN(auto const keys, hashed_keys(probe, build));
    constexpr std::uint64_t kRowBytes = 96;  // of its words, twice, and of its place in a table
    auto const bits = split_bits(static_cast<std::uint64_t>(build.num_rows()) * kRowBytes, request_.limit);
    GARUDA_TRY_ASSIGN(auto const builds, split(build, keys.second, level, bits));
    std::int64_t heaviest = 0;
    for (std::size_t p = 0; p < builds.size(); ++p) heaviest = std::max(heaviest, builds.num_rows(p));
    bool const is_split = heaviest < build.num_rows() / 8 * 7;
    if (!is_split && request_.probe.kind == JoinKind::inner) return join_blocks(probe, build);
    GARUDA_TRY_ASSIGN(auto const probes, split(probe, keys.first, level, bits));
    std::vector<Table> joined;
    for (std::size_t p = 0; p < builds.size(); ++p) {
      if (!joined.empty() && builds.num_rows(p) == 0 && probes.num_rows(p) == 0) continue;
      GARUDA_TRY_ASSIGN(auto rows, join(probes.table(p).view(), builds.table(p).view(), level + 1, false));
      joined.push_back(std::move(rows));
    }
    return pipeline::append_rows(joined);
  }

 private:
  Result<Table> join_once(TableView probe, TableView build) {
    auto part = request_.probe;
    part.build = build;
    return request_.run.arena.execute([&]() -> Result<Table> {
      pipeline::Pipeline joined(probe, request_.options);
      GARUDA_TRY(joined.probe(part, request_.devices));
      return joined.run(column_names(num_columns()), std::nullopt, StringForm::view);
    });
  }

  /// The pairs of an inner join are those with each block of the build side.
  Result<Table> join_blocks(TableView probe, TableView build) {
    auto const rows = static_cast<std::uint64_t>(build.num_rows());
    auto block_rows = std::min(block_rows_of(request_.limit), std::max<std::uint64_t>(rows, 1));
    std::vector<Table> joined;
    for (std::uint64_t begin = 0; begin < rows || joined.empty();) {
      auto const block = pipeline::slice_rows(build, begin, block_rows);
      auto pairs = join_once(probe, block.view());
      if (!pairs && contract::is_shortage(pairs.error()) && block_rows > 1) {
        block_rows /= 2;
        continue;
      }
      if (!pairs) return pairs;
      joined.push_back(*std::move(pairs));
      begin += static_cast<std::uint64_t>(block.num_rows());
    }
    return pipeline::append_rows(joined);
  }

  std::size_t num_columns() const {
    auto const& probe = request_.probe;
    auto const parts = contract::parts_of(probe.kind);
    bool const has_mark = parts.left == contract::SideRows::all || parts.right == contract::SideRows::all;
    return probe.left_columns.size() + probe.right_columns.size() + (has_mark ? 1 : 0);
  }

  /// The keys of both sides, as they are compared.
  Result<std::pair<std::vector<HashedKey>, std::vector<HashedKey>>> hashed_keys(TableView probe,
                                                                                TableView build) const {
    bool const builds_right = request_.probe.side == Side::right;
    std::pair<std::vector<HashedKey>, std::vector<HashedKey>> keys;
    for (auto const& [left, right] : request_.probe.keys) {
      auto const of_probe = builds_right ? left : right;
      auto const of_build = builds_right ? right : left;
      GARUDA_TRY_ASSIGN(auto const type, keys::common_key_type(probe.schema()[of_probe], build.schema()[of_build]));
      keys.first.push_back({of_probe, type.compared});
      keys.second.push_back({of_build, type.compared});
    }
    return keys;
  }

  Result<RowParts> split(TableView table, std::span<HashedKey const> keys, std::uint32_t level,
                                   std::uint32_t bits) {
    return request_.run.arena.execute([&] {
      return hash_partitions(table, keys, level, bits, StringForm::view, request_.limit, request_.options.control);
    });
  }

  LimitedProbe const& request_;
};

}  // namespace

Result<Table> join_within_limit(TableView probe, TableView build, LimitedProbe const& request) {
  return JoinParts(request).join(probe, build, 0, true);
}

}  // namespace garuda::query
