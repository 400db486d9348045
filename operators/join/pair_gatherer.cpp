#include "operators/join/pair_gatherer.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace garuda::join {
namespace {

std::vector<std::size_t> columns_of(resolve::ResolvedJoin const& columns, Side side) {
  std::vector<std::size_t> positions;
  for (auto const& output : columns.output)
    if (output.side == side) positions.push_back(output.column);
  return positions;
}

/// Keeps the two sides' buffers alive together.
struct BothSides {
  Batch left;
  Batch right;
};

}  // namespace

PairGatherer::PairGatherer(Gatherer left, Gatherer right, resolve::ResolvedJoin columns)
    : left_(std::move(left)), right_(std::move(right)), columns_(std::move(columns)) {
  std::size_t next_left = 0;
  std::size_t next_right = 0;
  for (std::size_t i = 0; i < columns_.output.size(); ++i) {
    auto const is_left = columns_.output[i].side == Side::left;
    schema_.push_back(is_left ? left_.schema()[next_left++] : right_.schema()[next_right++]);
    schema_.back().name = columns_.names[i];
  }
}

Result<PairGatherer> PairGatherer::create(TableView left, TableView right, resolve::ResolvedJoin const& columns) {
  GARUDA_TRY_ASSIGN(auto left_gatherer, Gatherer::create(left, columns_of(columns, Side::left)));
  GARUDA_TRY_ASSIGN(auto right_gatherer, Gatherer::create(right, columns_of(columns, Side::right)));
  return PairGatherer(std::move(left_gatherer), std::move(right_gatherer), columns);
}

Result<Batch> PairGatherer::gather(run::PairChunk const& pairs, std::size_t first) const {
  auto sides = std::make_shared<BothSides>();
  GARUDA_TRY_ASSIGN(auto left, left_.gather(std::span(pairs.left).subspan(first)));
  auto const taken = static_cast<std::size_t>(left.rows_taken);
  GARUDA_TRY_ASSIGN(auto right, right_.gather(std::span(pairs.right).subspan(first, taken)));
  sides->left = std::move(left.batch);
  sides->right = std::move(right.batch);
  Batch batch;
  batch.num_rows = std::min(left.rows_taken, right.rows_taken);
  std::size_t next_left = 0;
  std::size_t next_right = 0;
  for (auto const& output : columns_.output) {
    auto const& column =
        output.side == Side::left ? sides->left.columns[next_left++] : sides->right.columns[next_right++];
    batch.columns.push_back(slice(column, 0, batch.num_rows));
  }
  batch.owner = std::move(sides);
  return batch;
}

}  // namespace garuda::join
