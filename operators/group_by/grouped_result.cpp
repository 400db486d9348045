#include "operators/group_by/grouped_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/parallel_blocks.hpp"
#include "operators/contract/sizing.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {
namespace {

/// Rows that one task sorts, in a core's cache.
constexpr std::uint64_t kSortedRows = std::uint64_t{1} << 15;

/// The positions of `rows`, which are distinct, in ascending order of the rows: dealt out by their leading bits, then
/// sorted part by part, in parallel on the calling task arena. Errors: out_of_memory, cancelled.
Result<std::vector<std::uint64_t>> order_by_rows(std::span<std::uint64_t const> rows, Control const& control) {
  keys::EncodedKeys keys;
  keys.key_bits = 64;
  keys.num_rows = rows.size();
  keys.table_rows = rows.size();
  keys.words = rows.data();
  auto const last = rows.empty() ? 0 : *std::ranges::max_element(rows);
  auto const width = static_cast<std::uint32_t>(std::bit_width(last));
  auto const bits = std::min(contract::radix_bits_for(rows.size(), kSortedRows), width);
  partition::RadixDigit const digit{bits, bits == 0 ? 0 : width - bits, false};
  GARUDA_TRY_ASSIGN(auto const parts, partition::radix_partition(std::move(keys), digit, control));
  auto const sorted_rows = parts.keys64();
  std::vector<std::uint64_t> order(rows.size());
  GARUDA_TRY(for_each_block(parts.num_partitions(), &control, [&](std::size_t p) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> part;
    for (auto i = parts.offsets[p]; i < parts.offsets[p + 1]; ++i) part.emplace_back(sorted_rows[i], parts.row_id(i));
    std::sort(part.begin(), part.end());
    std::transform(part.begin(), part.end(), order.begin() + static_cast<std::ptrdiff_t>(parts.offsets[p]),
                   [](auto const& entry) { return entry.second; });
  }));
  return order;
}

/// Pulls partitions out of a PartitionedGroupBy and writes their groups chunk by chunk.
class GroupedResult final : public GroupByResult {
 public:
  GroupedResult(GroupWriter writer, std::unique_ptr<PartitionedGroupBy> run, bool ordered, std::uint64_t kept_limit)
      : writer_(std::move(writer)),
        run_(std::move(run)),
        plan_(run_->plan()),
        ordered_(ordered),
        kept_limit_(kept_limit) {
    if (!ordered_) run_->write_in_lanes([this](GroupChunk const& groups, auto first) { return write(groups, first); });
  }

  Schema const& schema() const noexcept override { return writer_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return run_->stats(rows_out_); }

  Result<std::optional<Batch>> next() override {
    if (ended_) return std::nullopt;
    auto batch = next_batch();
    if (!batch || !*batch) {
      ended_ = true;
      plan_ = run_->plan();
      groups_.reset();
    }
    return batch;
  }

 private:
  Result<std::optional<Batch>> next_batch() {
    while (!groups_ || position_ == groups_->size()) {
      if (ordered_ && groups_) return std::nullopt;
      groups_.reset();
      position_ = 0;
      GARUDA_TRY_ASSIGN(auto piece, run_->next_partition());
      if (!piece) return std::nullopt;
      if (piece->batch) return counted(std::move(*piece->batch));
      groups_ = std::move(piece->groups);
      if (ordered_) GARUDA_TRY(load_all());
    }
    GARUDA_TRY_ASSIGN(auto batch, run_->arena().execute([&] { return write(*groups_, position_); }));
    position_ += static_cast<std::uint64_t>(batch.num_rows);
    return counted(std::move(batch));
  }

  Batch counted(Batch batch) {
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    return batch;
  }

  Result<Batch> write(GroupChunk const& groups, std::uint64_t first) const {
    auto const rows = std::min<std::uint64_t>(groups.size() - first, run_->chunk_rows());
    resolve::GroupRange const range{first, rows, order_.empty() ? nullptr : order_.data()};
    run::PhaseTimer const timer(run_->recorder(), "gather", 0, rows);
    return writer_.write(groups, range, run_->values(), run_->control());
  }

  Result<void> load_all() {
    while (true) {
      GARUDA_TRY_ASSIGN(auto next, run_->next_partition());
      if (!next) break;
      append_groups(run_->columns().states, std::move(next->groups), *groups_);
      if (kept_limit_ != 0 && groups_->bytes() > kept_limit_)
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("groups in the order of their first rows do not fit the memory limit: {} groups so far",
                                groups_->size()));
    }
    run::PhaseTimer const timer(run_->recorder(), "sort", groups_->size() * 8, groups_->size());
    return run_->arena().execute([&]() -> Result<void> {
      try {
        GARUDA_TRY_ASSIGN(order_, order_by_rows(groups_->head_rows, run_->control()));
        return {};
      } catch (std::bad_alloc const&) {
        return fail(ErrorCode::out_of_memory, "no memory to put the groups in order");
      }
    });
  }

  GroupWriter writer_;
  std::unique_ptr<PartitionedGroupBy> run_;
  Plan plan_;
  bool ordered_;
  std::uint64_t kept_limit_;  // bytes of groups that are kept; 0: no limit
  std::optional<GroupChunk> groups_;
  std::vector<std::uint64_t> order_;  // empty: as they are
  std::uint64_t position_ = 0;
  std::uint64_t rows_out_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<GroupByResult>> grouped_result(resolve::GroupByRequest const& request,
                                                      std::unique_ptr<PartitionedGroupBy> run) {
  GARUDA_TRY_ASSIGN(auto writer, GroupWriter::create(request.table, request.columns, run->decoder()));
  return std::make_unique<GroupedResult>(std::move(writer), std::move(run), request.spec.ordered,
                                         request.options.memory_limit_bytes);
}

}  // namespace garuda::group_by
