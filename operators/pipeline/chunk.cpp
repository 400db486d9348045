#include "operators/pipeline/chunk.hpp"

#include <algorithm>
#include <utility>

#include "core/positions.hpp"

namespace garuda::pipeline {
namespace {

/// Keeps the columns of a batch, which come from several places.
using Owners = std::vector<std::shared_ptr<void const>>;

OriginRows rows_at(OriginRows const& rows, std::span<std::int64_t const> positions) {
  auto ids = std::make_shared<RowNumbers>(positions.size());
  if (rows.ids == nullptr)
    std::ranges::transform(positions, ids->begin(), [&](std::int64_t position) { return rows.begin + position; });
  else
    std::ranges::transform(positions, ids->begin(),
                           [from = rows.ids->data()](std::int64_t position) { return from[position]; });
  OriginRows taken;
  taken.ids = std::move(ids);
  return taken;
}

}  // namespace

Table table_of(Chunk const& chunk, std::span<Slot const> slots) {
  Schema schema;
  Batch batch{static_cast<std::int64_t>(chunk.num_rows), {}, {}};
  auto owners = std::make_shared<Owners>();
  for (auto const slot : slots) {
    auto const& column = chunk.columns[slot];
    schema.push_back(*column.field);
    batch.columns.push_back(column.array);
    owners->push_back(column.owner);
  }
  batch.owner = std::move(owners);
  std::vector<Batch> batches;
  batches.push_back(std::move(batch));
  return {std::move(schema), std::move(batches)};
}

Result<Loader> Loader::create(Columns const& columns, std::span<Slot const> slots, std::vector<bool> const& is_range,
                              StringForm strings) {
  Loader loader;
  for (std::size_t s = 0; s < columns.sources.size(); ++s) {
    auto const& [table, origin] = columns.sources[s];
    Part part{table, origin, {}, {}, {}};
    for (auto const slot : slots)
      if (columns.slots[slot].source == s) {
        part.slots.push_back(slot);
        part.columns.push_back(columns.slots[slot].column);
      }
    if (part.slots.empty()) continue;
    if (!is_range[origin]) {
      GARUDA_TRY_ASSIGN(part.gatherer, Gatherer::create(table, part.columns, strings));
    }
    loader.parts_.push_back(std::move(part));
  }
  return loader;
}

std::vector<std::pair<Slot, Field const*>> Loader::fields() const {
  std::vector<std::pair<Slot, Field const*>> fields;
  for (auto const& part : parts_)
    for (std::size_t i = 0; i < part.slots.size(); ++i) fields.emplace_back(part.slots[i], &part.field(i));
  return fields;
}

Result<std::uint64_t> Loader::load(Chunk& chunk) const {
  auto taken = chunk.num_rows;
  for (auto const& part : parts_) {
    auto const& rows = chunk.origins[part.origin];
    if (!part.gatherer) {
      auto const& batch = part.table.batch(rows.batch);
      for (std::size_t i = 0; i < part.slots.size(); ++i)
        chunk.columns[part.slots[i]] = {
            &part.field(i),
            slice(batch.columns[part.columns[i]], rows.in_batch, static_cast<std::int64_t>(chunk.num_rows)),
            batch.owner};
      continue;
    }
    GARUDA_TRY_ASSIGN(auto gathered, part.gatherer->gather(std::span(*rows.ids)));
    taken = std::min(taken, static_cast<std::uint64_t>(gathered.rows_taken));
    for (std::size_t i = 0; i < part.slots.size(); ++i)
      chunk.columns[part.slots[i]] = {&part.field(i), gathered.batch.columns[i], gathered.batch.owner};
  }
  return taken;
}

Result<Chunk> take(Chunk const& chunk, std::span<std::int64_t const> positions, Live const& live) {
  Chunk taken{positions.size(), std::vector<OriginRows>(chunk.origins.size()),
              std::vector<ChunkColumn>(chunk.columns.size())};
  for (std::size_t origin = 0; origin < chunk.origins.size(); ++origin)
    if (live.origins[origin]) taken.origins[origin] = rows_at(chunk.origins[origin], positions);
  if (live.slots.empty()) return taken;
  auto const table = table_of(chunk, live.slots);
  GARUDA_TRY_ASSIGN(auto const gatherer, Gatherer::create(table.view(), first_positions(live.slots.size())));
  GARUDA_TRY_ASSIGN(auto gathered, gatherer.gather(positions));
  if (static_cast<std::size_t>(gathered.rows_taken) < positions.size())
    return fail(ErrorCode::limit_exceeded, "the strings that a query computes for some rows take more than 2^31 bytes");
  for (std::size_t i = 0; i < live.slots.size(); ++i) {
    auto const& field = *chunk.columns[live.slots[i]].field;
    taken.columns[live.slots[i]] = {&field, gathered.batch.columns[i], gathered.batch.owner};
  }
  return taken;
}

}  // namespace garuda::pipeline
